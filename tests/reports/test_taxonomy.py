"""Why cases are wrong or broken, in words that all benchmarks share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from agentgauge_reports.grouping import CAUSES, TITLES, kind_of, kind_of_cause, kind_of_labels
from agentgauge_reports.load import load_run

from agentgauge.core.capabilities import presentation_of
from agentgauge.core.task_registry import known_tasks
from tests.reports.folders import made

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
    assert kind_of_labels(task, labels) == kind


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
    assert kind_of_cause(task, cause, error) == kind


def test_only_wrong_and_broken_cases_have_a_kind(tmp_path):
    run = load_run(made(tmp_path / "run", {"a": "p", "b": "w", "c": "b", "d": "-"}, labels={"b": ["wrong_tool"]}))
    assert [kind_of(case) for case in run.cases] == ["", "wrong_tool", "endpoint", ""]


def test_every_cause_that_the_code_names_has_a_kind_of_its_own_or_is_shared_by_servers():
    """Causes of endpoints and tool servers are told apart by the error's text; all others must be listed."""
    shared = {"timeout", "connection", "protocol", "server parsed", "budget"}
    named = set()
    for folder in ("agentgauge", "bench_gta", "bench_wild", "bench_mmau", "tool_impls"):
        for file in (ROOT / folder).rglob("*.py"):
            named |= set(re.findall(r'\b(?:cause=|CAUSE = )"([^"]+)"', file.read_text(encoding="utf-8")))
    known = {cause for task in known_tasks().values() for cause in presentation_of(task).kinds} | {*CAUSES, *TITLES}
    assert {cause for cause in named - known if not cause.startswith("http ")} <= shared
    assert "worker died" in named
