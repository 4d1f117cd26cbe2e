"""Headline figures while a run goes on, against those of the end."""

from __future__ import annotations

import random

import pytest

from agentgauge.core.estimate import estimate
from agentgauge.core.registry import Registry
from agentgauge.core.types import Score
from agentgauge.run.figures_so_far import FiguresSoFar

KNOWN = Registry.installed()
RIGHT, WRONG = {"task": 1.0, "task done": 1.0}, {"task": 1.0, "task done": 0.0}


def so_far(names, scores, broken=0, attempts=1):
    figures = FiguresSoFar([KNOWN[name] for name in names], "parity", attempts=attempts)
    for task, score in scores:
        figures.add(task, {"values": score.values, "group": score.group})
    return figures.texts([{"name": name, "broken": broken} for name in names])


def wild(*values):
    return [("wild", Score(False, one, group=f"session {number // 4}")) for number, one in enumerate(values)]


@pytest.mark.parametrize("name", ["wild", "gta_atomic.step", "gta_atomic.e2e", "gta_workflow", "mmau.tool_single"])
def test_a_figure_is_the_one_that_the_end_makes_of_the_same_cases(name):
    """With any values that the formula knows; samples of a group are joined."""
    task = KNOWN[name]
    formula, chance = task.metrics("parity"), random.Random(1)
    names = {value for values in (formula.rests_on or {}).values() for value in values} - {"session"}
    known = sorted(names | {f"{value} done" for value in names})
    scores = []
    for number in range(12):
        values = {value: float(chance.randrange(3)) for value in known}
        scores.append((name, Score(False, values, group=f"session {number // 4}" if name == "wild" else "")))
        end = estimate([score for _, score in scores], formula)[task.shown.headline]
        shown = [] if end.value is None else [f"{task.shown.headline} {end.value:.1f} (n {end.n})"]
        assert so_far([name], scores) == shown


@pytest.mark.parametrize(
    ("names", "scores", "broken", "attempts", "shown"),
    [
        (["wild"], [], 0, 1, []),
        (["wild"], wild(RIGHT, WRONG, WRONG), 0, 1, ["Task 33.3 (n 3)"]),
        (["wild"], wild(RIGHT, WRONG, WRONG), 2, 1, ["Task 33.3 (n 3, 2 broken left out)"]),
        (["wild"], wild(RIGHT), 2, 1, []),  # most are broken
        (["wild"], wild(RIGHT), 0, 4, ["Task at the end"]),  # a sample counts by the mean of its attempts
        (["wild", "gta_atomic.e2e"], wild(RIGHT), 0, 1, ["WildToolBench Task 100.0 (n 1)"]),
        (["mmau.tool_single", "mmau.ds_e2e"], [], 0, 1, ["Accuracy at the end"]),  # over several tasks
        (
            ["mmau.tool_single", "mmau.ds_e2e", "wild"],
            wild(RIGHT),
            0,
            1,
            ["WildToolBench Task 100.0 (n 1)", "Apple MMAU Accuracy at the end"],
        ),
    ],
)
def test_figures_of_a_run(names, scores, broken, attempts, shown):
    assert so_far(names, scores, broken, attempts) == shown
