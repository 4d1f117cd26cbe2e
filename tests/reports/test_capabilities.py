"""Capabilities over all benchmarks: what they are made of, their means and intervals."""

from __future__ import annotations

import random

import pytest
from agentgauge_reports.grouping import (
    CAPABILITIES,
    CapabilityPart,
    _averaged,
    capabilities,
    effective_number,
    known_capabilities,
)
from agentgauge_reports.load import load_run

from agentgauge.core.task_registry import known_tasks
from tests.reports.folders import made


def test_every_part_names_a_task_that_there_is_and_every_task_has_a_capability():
    named = {part.task for name in CAPABILITIES for part in known_capabilities()[name]}
    announced = {name for name in known_tasks() if name.startswith(("gta", "wild", "mmau"))}
    assert named >= announced


def test_keywords_are_those_of_the_bundled_samples():
    for parts in known_capabilities().values():
        for part in parts:
            task = known_tasks()[part.task]
            known = {tag for row in task.data.index(task.data.bundled).rows for tag in row.tags}
            assert part.keywords <= known, part


def test_a_figure_is_the_mean_of_tasks_and_attempts_are_averaged_by_sample(tmp_path):
    ends = {"a": "pw", "b": "pp", "c": "bb", "d": "ww"}
    tags = {"a": ["single"], "b": ["single"], "c": ["single"], "d": ["clarify"]}
    found = capabilities(load_run(made(tmp_path / "run", ends, task="wild", tags=tags)))
    assert list(found) == ["tool use", "understanding"]
    assert found["tool use"]["value"] == pytest.approx(75)
    assert found["tool use"]["n"] == 2
    assert found["tool use"]["made_of"] == ["wild (mixed, parallel, sequential, single)"]
    assert found["tool use"]["low"] < 75 < found["tool use"]["high"]
    assert found["understanding"]["value"] == 0 and found["understanding"]["high"] > 20


def test_a_capability_without_a_finished_case_has_no_value(tmp_path):
    found = capabilities(load_run(made(tmp_path / "run", {"a": "b"}, task="mmau.ds_retry")))
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
