"""Several attempts: pass@k and pass^k, what broken ones count, and figures made of several tasks."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.leaderboard import task_notes
from agentgauge_reports.run import _combine, pass_all, pass_at, pass_at_k, summarise

from agentgauge.core.index import Index, Row
from agentgauge.core.intervals import wilson
from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Score, Usage
from agentgauge.store.outline import CaseOutline
from tests.plugin.toy import Toy, ToyData


@pytest.mark.parametrize(("tried", "right"), [(1, 0), (1, 1), (4, 0), (4, 1), (5, 3), (6, 6), (7, 2)])
def test_passes_are_the_share_of_all_draws(tried: int, right: int) -> None:
    outcomes = [True] * right + [False] * (tried - right)
    for k in range(1, tried + 1):
        draws = list(itertools.combinations(outcomes, k))
        assert pass_at(k, tried, right) == pytest.approx(sum(map(any, draws)) / len(draws))
        assert pass_all(k, tried, right) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize(("tried", "right", "k"), [(10, 3, 1), (10, 3, 5), (200, 13, 100), (20, 20, 7), (5, 0, 3)])
def test_pass_at_k_is_the_closed_formula(tried: int, right: int, k: int) -> None:
    """As the product of Chen et al. 2021, figure 3."""
    product = 1.0 if tried - right < k else 1.0 - math.prod(1.0 - k / of for of in range(tried - right + 1, tried + 1))
    assert pass_at(k, tried, right) == pytest.approx(product, abs=1e-12)


@pytest.mark.parametrize("k", [0, -1, 4])
def test_more_draws_than_attempts_are_refused(k: int) -> None:
    for chance in (pass_at, pass_all):
        with pytest.raises(ValueError, match="3 attempts"):
            chance(k, 3, 1)


def tries(**outcomes: str) -> list[tuple[str, Score]]:
    return [(sample, Score(letter == "+", {})) for sample, letters in outcomes.items() for letter in letters]


def test_passes_by_k_with_samples_that_were_tried_often_enough() -> None:
    found = pass_at_k(tries(a="++-", b="---", c="+-"), 3)
    values = {kind: [found[kind][k]["value"] for k in "123"] for kind in found}
    assert values["pass@k"] == pytest.approx([100 * (2 / 3 + 0 + 1 / 2) / 3, 100 * (1 + 0 + 1) / 3, 50])
    assert values["pass^k"] == pytest.approx([100 * (2 / 3 + 0 + 1 / 2) / 3, 100 * (1 / 3 + 0 + 0) / 3, 0])
    assert [found["pass@k"][k]["n"] for k in "123"] == [3, 3, 2]
    assert all(one["low"] <= one["value"] <= one["high"] for by_k in found.values() for one in by_k.values())


def test_passes_without_enough_attempts_have_no_value() -> None:
    assert pass_at_k(tries(a="+"), 2)["pass@k"]["2"] == {"value": None, "low": None, "high": None, "n": 0}


# -- a task's part of the summary


class _NoData(ToyData):  # type: ignore[no-untyped-call, misc]
    def load(self, index: Any, row: Row, task: str) -> Any:
        return None


class _Say(Toy):  # type: ignore[no-untyped-call, misc]
    data = _NoData()

    def score(self, sample: Any, output: Any, scoring: str, similarity: str) -> Score:
        return Score(False, {"right": 0.0, "all": 1.0})


def summary(**outcomes: str) -> dict[str, Any]:
    """Of the toy task; a letter for each attempt at a sample: ``+`` passed, ``-`` wrong, ``!`` broken, ``.``
    missing."""
    records = {}
    plan = [("toy.say", sample, attempt) for sample in outcomes for attempt in range(1, len(outcomes[sample]) + 1)]
    for sample, letters in outcomes.items():
        for attempt, letter in enumerate(letters, 1):
            if letter == ".":
                continue
            right = letter == "+"
            status: Any = {"+": "passed", "-": "wrong", "!": "broken"}[letter]
            score = None if letter == "!" else Score(right, {"right": float(right), "all": 1.0})
            records["toy.say", sample, attempt] = CaseOutline(
                "toy.say", sample, attempt, status, (), score, Usage(), 0.0, 0.0, cause="endpoint"
            )
    index = Index(Path(), Path(), "", tuple(Row(sample, (), 0, 0, place) for place, sample in enumerate(outcomes)))
    return summarise(_Say(), plan, records, index, "parity", "")


def test_one_attempt_gives_no_passes_and_a_figure_with_samples_and_broken_cases() -> None:
    part = summary(a="+", b="-", c="!", d="+")
    assert "pass" not in part
    figure = part["metrics"]["Acc"]
    assert (figure["value"], figure["n"], figure["broken"]) == (50, 4, 1)
    assert (figure["value_clean"], figure["n_clean"]) == (pytest.approx(200 / 3), 3)


def test_without_a_clean_sample_there_is_no_clean_figure() -> None:
    figure = summary(a="!", b="!")["metrics"]["Acc"]
    assert (figure["value"], figure["n"], figure["value_clean"], figure["n_clean"]) == (0, 2, None, 0)


def test_a_broken_attempt_is_one_that_failed_unless_it_is_left_out() -> None:
    part = summary(a="+!", b="++")
    assert (part["metrics"]["Acc"]["value"], part["metrics"]["Acc"]["n"], part["metrics"]["Acc"]["broken"]) == (
        75,
        2,
        1,
    )
    both = part["pass"]["pass^k"]["2"]
    assert (both["value"], both["n"], both["broken"], both["value_clean"], both["n_clean"]) == (50, 2, 1, 100, 1)
    assert part["pass"]["pass@k"]["1"]["value"] == 75


def test_without_a_sample_that_was_tried_so_often_there_is_no_value_and_a_reason() -> None:
    part = summary(a="++.", b="+..")
    assert (part["pass"]["pass^k"]["2"]["value"], part["pass"]["pass^k"]["2"]["n"]) == (100, 1)
    for kind in ("pass@k", "pass^k"):
        assert (part["pass"][kind]["3"]["value"], part["pass"][kind]["3"]["n"]) == (None, 0)
        assert part["pass"][kind]["3"]["why"] == "no sample was tried 3 times"
    assert "toy.say: pass@3 and pass^3 have no value: no sample was tried 3 times" in task_notes(_Say(), part)


def test_nothing_is_said_of_broken_cases_where_there_are_none() -> None:
    part = summary(a="+-", b="--")
    assert part["metrics"]["Acc"]["broken"] == 0 and "value_clean" not in part["metrics"]["Acc"]
    low, high = (100 * end for end in wilson(0.5, 2))
    expected = {"value": 50, "low": pytest.approx(low), "high": pytest.approx(high), "n": 2, "broken": 0}
    assert part["pass"]["pass@k"]["2"] == expected


def test_a_figure_of_several_tasks_has_an_interval_of_their_intervals() -> None:
    task = known_tasks()["mmau.dag_reasoning"]
    headlines = {
        "mmau.dag_planning": {"value": 40.0, "low": 30.0, "high": 55.0},
        "mmau.contest_planner": {"value": 20.0, "low": 12.0, "high": 26.0},
        "mmau.math_planner": {"value": 70.0, "low": 66.0, "high": 73.0},
    }
    planning = _combine(task, headlines, headlines, [])["capabilities"]["planning"]
    weights = {"mmau.dag_planning": 451 / 1712, "mmau.contest_planner": 261 / 1712, "mmau.math_planner": 1000 / 1712}
    value = sum(weights[name] * one["value"] for name, one in headlines.items())
    below = math.hypot(*(weights[name] * (one["value"] - one["low"]) for name, one in headlines.items()))
    above = math.hypot(*(weights[name] * (one["high"] - one["value"]) for name, one in headlines.items()))
    assert (planning["value"], planning["low"], planning["high"]) == pytest.approx(
        (value, value - below, value + above)
    )
    without: Any = {**headlines, "mmau.math_planner": {"value": 70.0, "low": None, "high": None}}
    assert _combine(task, without, without, [])["capabilities"]["planning"]["low"] is None
    assert _combine(task, headlines, headlines, [])["capabilities"]["understanding"]["low"] is None


def test_a_task_without_an_attempted_case_is_not_said_to_have_run() -> None:
    task = known_tasks()["mmau.dag_reasoning"]
    nothing = {"value": None, "low": None, "high": None}
    headlines = {"mmau.dag_planning": nothing, "mmau.contest_planner": nothing, "mmau.math_planner": nothing}
    planning = _combine(task, headlines, ["mmau.dag_planning"], [])["capabilities"]["planning"]
    assert len(planning["missing"]) == 3
    assert planning["without_figure"] == ["dag_planning"]
