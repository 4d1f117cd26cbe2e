"""Capabilities, and the kinds of wrong and broken cases."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from agentgauge_reports.grouping import (
    CAPABILITIES,
    TITLES,
    CapabilityPart,
    _averaged,
    capabilities,
    effective_number,
    kind_of,
    kind_of_cause,
    kind_of_labels,
    known_capabilities,
)
from agentgauge_reports.load import load_run

from agentgauge.core.causes import CAUSES
from tests.reports.runs import INSTALLED, TASKS, made


def test_every_part_names_a_task_that_there_is_and_every_task_has_a_capability():
    named = {part.task for name in CAPABILITIES for part in known_capabilities(INSTALLED)[name]}
    announced = {name for name in INSTALLED.names if name.startswith(("gta", "wild", "mmau"))}
    assert named >= announced


def test_keywords_are_those_of_the_bundled_samples():
    for parts in known_capabilities(INSTALLED).values():
        for part in parts:
            task = INSTALLED[part.task]
            known = {tag for row in task.data.index(task.data.bundled).rows for tag in row.tags}
            assert part.keywords <= known, part


def test_a_figure_is_the_mean_of_tasks_and_attempts_are_averaged_by_sample(tmp_path):
    ends = {"a": "pw", "b": "pp", "c": "bb", "d": "ww"}
    tags = {"a": ["single"], "b": ["single"], "c": ["single"], "d": ["clarify"]}
    found = capabilities(load_run(made(tmp_path / "run", ends, task="wild", tags=tags), tasks=TASKS))
    assert list(found) == ["tool use", "understanding"]
    assert found["tool use"]["value"] == pytest.approx(75)
    assert found["tool use"]["n"] == 2
    assert found["tool use"]["made_of"] == ["wild (mixed, parallel, sequential, single)"]
    assert found["tool use"]["low"] < 75 < found["tool use"]["high"]
    assert found["understanding"]["value"] == 0 and found["understanding"]["high"] > 20


def test_a_capability_without_a_finished_case_has_no_value(tmp_path):
    found = capabilities(load_run(made(tmp_path / "run", {"a": "b"}, task="mmau.ds_retry"), tasks=TASKS))
    assert found == {"self-correction": {"value": None, "low": None, "high": None, "n": 0, "made_of": []}}


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([("a", 1.0), ("b", 0.0), ("c", 1.0), ("d", 0.0)], 4),
        ([("a", 1.0), ("a", 1.0), ("b", 0.0), ("b", 0.0)], 2),
        ([("a", 1.0), ("a", 0.0), ("b", 1.0), ("b", 0.0)], 4),
        ([("a", 1.0), ("b", 1.0)], 2),
    ],
    ids=["alone", "agree", "opposed", "all the same"],
)
def test_samples_that_agree_within_their_group_count_less(shares, expected):
    assert effective_number(shares) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rates", "sizes", "size_of_group"),
    [
        ((0.5, 0.3), (60, 40), 1),
        ((0.05, 0.1), (60, 60), 1),
        ((0.97, 0.9, 0.95), (40, 60, 80), 1),
        ((0.4, 0.4), (160, 40), 4),
    ],
    ids=["middle", "near 0", "near 1", "groups of four"],
)
def test_the_interval_covers_the_truth_19_times_in_20(rates, sizes, size_of_group):
    """Of the mean of tasks; in groups half of the samples repeat the group's verdict."""
    draw = random.Random(7)
    truth, covered, rounds = 100 * sum(rates) / len(rates), 0, 1500
    for _ in range(rounds):
        samples = {}
        for number, (rate, size) in enumerate(zip(rates, sizes, strict=True)):
            shares = []
            for group in range(size // size_of_group):
                common = draw.random() < rate
                shares += [
                    (str(group), float(common if size_of_group > 1 and draw.random() < 0.5 else draw.random() < rate))
                    for _ in range(size_of_group)
                ]
            samples[CapabilityPart(str(number))] = shares
        found = _averaged(samples)
        covered += found["low"] <= truth <= found["high"]
    assert 0.93 <= covered / rounds <= 0.975


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("task", "labels", "kind"),
    [
        ("gta_atomic.step", ("wrong_tool", "argument_error"), "wrong_tool"),
        ("gta_atomic.step", ("argument_error",), "wrong_argument"),
        ("gta_atomic.e2e", ("missing_drawing", "missing_tool"), "missing_call"),
        ("gta_atomic.e2e", ("no_answer",), "stopped_early"),
        ("gta_workflow", ("tool_errors", "partial"), "failed_code"),
        ("gta_workflow", ("partial",), "partial"),
        ("wild", ("needless_call",), "extra_call"),
        ("wild", ("reject_tool_calling",), "refused"),
        ("wild", ("stopped_early", "wrong_value"), "stopped_early"),
        ("mmau.math_standard", ("no_answer",), "format"),
        ("mmau.contest_standard", ("runtime_error", "wrong_output"), "failed_code"),
        ("mmau.tool_parallel", ("parsing_error",), "format"),
        ("anything", ("never heard of", "wrong_answer"), "wrong_answer"),
        ("anything", ("never heard of",), "other"),
        ("anything", (), "other"),
    ],
)
def test_the_first_label_that_is_known_decides(task, labels, kind):
    assert kind_of_labels(INSTALLED.get(task), labels) == kind


@pytest.mark.parametrize(
    ("task", "cause", "error", "kind"),
    [
        ("wild", "http 500", "model m: HTTP 500 from the endpoint", "endpoint"),
        ("gta_atomic.e2e", "http 500", "the tool server answered HTTP 500 for OCR", "tool"),
        ("wild", "server parsed", "the server itself parsed the calls in the reply", "endpoint"),
        ("gta_workflow", "judge", "judge j: no readable score", "judge"),
        ("mmau.ds_e2e", "no shell", "the notebook's shell did not start", "sandbox"),
        ("gta_atomic.step", "missing file", "the file 'a.png' is missing", "data"),
        ("mmau.contest_standard", "timeout", "the tool server did not answer", "tool"),
        ("wild", "ReplayMiss", "the cassette lacks it", "data"),
        ("wild", "worker died", "crashed", "internal"),
        ("anything", "", "", "tool"),
    ],
)
def test_a_broken_case_is_sorted_by_its_cause_and_what_failed(task, cause, error, kind):
    assert kind_of_cause(INSTALLED.get(task), cause, error) == kind


def test_only_wrong_and_broken_cases_have_a_kind(tmp_path):
    ends = {"a": "p", "b": "w", "c": "b", "d": "-"}
    run = load_run(made(tmp_path / "run", ends, labels={"b": ["wrong_tool"]}), tasks=TASKS)
    assert [kind_of(case, TASKS) for case in run.cases] == ["", "wrong_tool", "endpoint", ""]


def test_every_cause_that_the_code_names_has_a_kind_of_its_own_or_is_shared_by_servers():
    """Causes of endpoints and tool servers are told apart by the error's text; all others must be listed."""
    shared = {"timeout", "connection", "budget"}
    calls = re.compile(r'\b(?:cause=|CAUSE = |Failure\(\s*|_failure\(|lost\()"([^"]+)"')
    named = set()
    for folder in ("agentgauge", "bench_gta", "bench_wild", "bench_mmau", "tool_impls"):
        for file in (ROOT / folder).rglob("*.py"):
            named |= set(calls.findall(file.read_text(encoding="utf-8")))
    known = {cause for task in INSTALLED for cause in task.shown.kinds} | {*CAUSES, *TITLES}
    assert {cause for cause in named - known if not cause.startswith("http ")} <= shared
    assert {"worker died", "invalid json", "truncated body"} <= named
