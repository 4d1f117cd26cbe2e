"""Intervals against reference implementations and simulated truth; pass@k and pass^k over attempts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.leaderboard import task_notes
from agentgauge_reports.run import _combine, pass_all, pass_at, pass_at_k, summarise

from agentgauge.core.estimate import MetricFormula, Values, estimate, freedom_of, from_totals, student, wilson
from agentgauge.core.index import Index, Row
from agentgauge.core.types import Score, Usage
from agentgauge.store.jsonl import CaseOutline
from tests.plugin.toy import ToyData, toy
from tests.reports.runs import INSTALLED

pytestmark = pytest.mark.slow

RATE = MetricFormula(
    lambda sums: {"rate": 100 * sums["part"] / sums["whole"] if sums.get("whole") else None}, {"rate": ("whole",)}
)
F1 = MetricFormula(
    lambda sums: {"rate": 200 * sums["found"] / (sums["gold"] + sums["told"]) if sums.get("gold") else None},
    {"rate": ("gold", "told")},
)


# -- agreement with other libraries


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 15, 30, 31, 60, 255, 7999])
def test_students_quantile_is_scipys(freedom: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-7)


@pytest.mark.parametrize(("right", "n"), [(0, 1), (0, 20), (1, 20), (7, 20), (20, 20), (3, 229), (1000, 1024)])
def test_wilsons_interval_is_scipys(right: int, n: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.binomtest(right, n).proportion_ci(method="wilson")
    assert wilson(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_groups_have_the_cluster_robust_error_of_statsmodels() -> None:
    """For groups of one size; the interval is taken back to its standard error."""
    models = pytest.importorskip("statsmodels.api")
    right = [1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0]
    groups = [place // 4 for place in range(len(right))]
    fit = models.OLS(right, [1.0] * len(right)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert _error(right, groups) == pytest.approx(float(fit.bse[0]), rel=1e-9)


def test_groups_have_the_error_of_the_groups_means() -> None:
    right = [1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0]
    means = [sum(right[at : at + 4]) / 4 for at in range(0, 20, 4)]
    mean = sum(means) / 5
    expected = math.sqrt(sum((one - mean) ** 2 for one in means) / 4 / 5)
    assert _error(right, [place // 4 for place in range(20)]) == pytest.approx(expected, rel=1e-9)


def _error(right: list[int], groups: list[int]) -> float:
    """The standard error behind an interval: the ends of Wilson's solve ``(end - share)**2 = t**2 * end * (1 - end)
    / n``."""
    metric = estimate(
        [
            Score(False, {"part": one, "whole": 1.0}, group=f"g{group}")
            for one, group in zip(right, groups, strict=True)
        ],
        RATE,
    )
    share, low = _share(metric["rate"].value), _share(metric["rate"].low)
    size = len(right) // len(set(groups))
    sums = [sum(right[at : at + size]) / size - share for at in range(0, len(right), size)]
    effective = student(freedom_of(sums)) ** 2 * low * (1 - low) / (low - share) ** 2
    return math.sqrt(share * (1 - share) / effective)


def _share(value: float | None) -> float:
    assert value is not None
    return value / 100


@pytest.mark.parametrize(
    ("deviations", "freedom"),
    [
        ([1.0, -1.0] * 10, 19),  # all as far off: nothing is known better
        ([9.0] + [-1.0] * 9, 2),  # one unit is all the variance
        ([1.0, -1.0], 1),
    ],
)
def test_the_variance_of_a_few_has_few_degrees_of_freedom(deviations: list[float], freedom: int) -> None:
    assert freedom_of(deviations) == freedom


# -- coverage: how often the interval holds the true value

BAND = (0.93, 0.97)


@pytest.mark.parametrize("n", [30, 50, 132, 229])
@pytest.mark.parametrize(("low", "high"), [(0.005, 0.05), (0.05, 0.2), (0.2, 0.8), (0.8, 0.95), (0.95, 0.995)])
def test_proportions_are_covered(n: int, low: float, high: float) -> None:
    """Exactly, as the mean over a small range of proportions: for a single one the coverage of any such interval
    goes up and down."""
    np = pytest.importorskip("numpy")
    ends, right = np.array(_ends(n)), np.arange(n + 1)
    ways = np.array([math.log(math.comb(n, k)) for k in range(n + 1)])
    held = []
    for truth in np.linspace(low, high, 200):
        chance = np.exp(ways + right * math.log(truth) + (n - right) * math.log1p(-truth))
        held.append(chance[(ends[:, 0] <= truth) & (truth <= ends[:, 1])].sum())
    assert BAND[0] <= np.mean(held) <= BAND[1]


@cache
def _ends(n: int) -> list[tuple[float, float]]:
    """The interval for each number of right ones among ``n``."""
    found = [from_totals(_units([1] * right + [0] * (n - right), [1] * n), RATE)["rate"] for right in range(n + 1)]
    return [(_share(rate.low), _share(rate.high)) for rate in found]


Draw = Callable[[Any, float], tuple[list[Values], float]]
"""A run of a generator, for a model that is right with some chance: what the units contribute, and the true figure,
0 to 1."""


def _units(part: Sequence[float], whole: Sequence[float]) -> list[Values]:
    return [{"part": float(top), "whole": float(below)} for top, below in zip(part, whole, strict=True)]


def _own_chance(rng: Any, chance: float, alike: float, n: int) -> Any:
    """Samples differ in how hard they are: a chance each, so that two tries at one have the correlation ``alike``."""
    return rng.beta(chance * (1 - alike) / alike, (1 - chance) * (1 - alike) / alike, n)


def sessions(rng: Any, chance: float) -> tuple[list[Values], float]:
    """64 sessions of four tasks."""
    return _units(rng.binomial(4, _own_chance(rng, chance, 0.3, 64)), [4] * 64), chance


def attempts(rng: Any, chance: float) -> tuple[list[Values], float]:
    """100 samples, the mean of four attempts at each."""
    return _units(rng.binomial(4, _own_chance(rng, chance, 0.5, 100)) / 4, [1] * 100), chance


def calls(rng: Any, chance: float) -> tuple[list[Values], float]:
    """80 samples of one to five calls: a ratio of sums."""
    count = rng.integers(1, 6, 80)
    return _units(rng.binomial(count, _own_chance(rng, chance, 0.3, 80)), count), chance


def images(rng: Any, chance: float) -> tuple[list[Values], float]:
    """132 samples: an answer that is right or wrong, a text's similarity, or the mean of one to three drawings."""
    n = 132
    drawings = rng.integers(1, 4, n)
    right, similar = rng.random(n) < chance, rng.beta(10 * chance, 10 * (1 - chance), n)
    by_kind = zip(
        right, similar, rng.binomial(drawings, chance) / drawings, rng.choice(3, n, p=(0.45, 0.15, 0.4)), strict=True
    )
    return _units([found[kind] for *found, kind in by_kind], [1] * n), chance


def tool_choice(rng: Any, chance: float) -> tuple[list[Values], float]:
    """F1 of 100 samples of up to three gold calls, and of calls that were not wanted."""
    gold = rng.binomial(3, 0.5, 100)
    found = rng.binomial(gold, chance)
    told = found + rng.binomial(2, 0.2, 100)
    units = [{"gold": float(g), "found": float(f), "told": float(t)} for g, f, t in zip(gold, found, told, strict=True)]
    return units, 2 * 1.5 * chance / (1.5 + 1.5 * chance + 0.4)


@pytest.mark.parametrize(
    ("draw", "formula", "low", "high"),
    [
        (sessions, RATE, 0.03, 0.15),
        (sessions, RATE, 0.3, 0.7),
        (sessions, RATE, 0.85, 0.97),
        (attempts, RATE, 0.03, 0.15),
        (attempts, RATE, 0.3, 0.7),
        (calls, RATE, 0.05, 0.2),
        (calls, RATE, 0.8, 0.95),
        (images, RATE, 0.05, 0.2),
        (images, RATE, 0.3, 0.7),
        (images, RATE, 0.8, 0.95),
        (tool_choice, F1, 0.05, 0.2),
        (tool_choice, F1, 0.4, 0.95),
    ],
)
def test_sums_are_covered(draw: Draw, formula: MetricFormula, low: float, high: float) -> None:
    np = pytest.importorskip("numpy")
    rng = np.random.default_rng(20260105)
    held = 0
    for chance in np.linspace(low, high, 1000):
        units, truth = draw(rng, chance)
        rate = from_totals(units, formula)["rate"]
        held += _share(rate.low) <= truth <= _share(rate.high)
    assert BAND[0] <= held / 1000 <= BAND[1], held


# -- attempts


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


def _all_wrong(sample: Any, output: Any, scoring: str, similarity: str) -> Score:
    return Score(False, {"right": 0.0, "all": 1.0})


SAY = toy(data=_NoData(), score=_all_wrong)


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
    index = Index(Path(), Path(), "", tuple(Row(sample, (), place) for place, sample in enumerate(outcomes)))
    return summarise(SAY, plan, records, index, "parity", "")


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
    assert "toy.say: pass@3 and pass^3 have no value: no sample was tried 3 times" in task_notes(SAY, part)


def test_nothing_is_said_of_broken_cases_where_there_are_none() -> None:
    part = summary(a="+-", b="--")
    assert part["metrics"]["Acc"]["broken"] == 0 and "value_clean" not in part["metrics"]["Acc"]
    low, high = (100 * end for end in wilson(0.5, 2))
    expected = {"value": 50, "low": pytest.approx(low), "high": pytest.approx(high), "n": 2, "broken": 0}
    assert part["pass"]["pass@k"]["2"] == expected


def test_a_figure_of_several_tasks_has_an_interval_of_their_intervals() -> None:
    scores = INSTALLED["mmau.dag_reasoning"].combined
    assert scores
    headlines = {
        "mmau.dag_planning": {"value": 40.0, "low": 30.0, "high": 55.0},
        "mmau.contest_planner": {"value": 20.0, "low": 12.0, "high": 26.0},
        "mmau.math_planner": {"value": 70.0, "low": 66.0, "high": 73.0},
    }
    planning = _combine(scores, headlines, headlines, [])["capabilities"]["planning"]
    weights = {"mmau.dag_planning": 451 / 1712, "mmau.contest_planner": 261 / 1712, "mmau.math_planner": 1000 / 1712}
    value = sum(weights[name] * one["value"] for name, one in headlines.items())
    below = math.hypot(*(weights[name] * (one["value"] - one["low"]) for name, one in headlines.items()))
    above = math.hypot(*(weights[name] * (one["high"] - one["value"]) for name, one in headlines.items()))
    assert (planning["value"], planning["low"], planning["high"]) == pytest.approx(
        (value, value - below, value + above)
    )
    without: Any = {**headlines, "mmau.math_planner": {"value": 70.0, "low": None, "high": None}}
    assert _combine(scores, without, without, [])["capabilities"]["planning"]["low"] is None
    assert _combine(scores, headlines, headlines, [])["capabilities"]["understanding"]["low"] is None


def test_a_task_without_an_attempted_case_is_not_said_to_have_run() -> None:
    scores = INSTALLED["mmau.dag_reasoning"].combined
    assert scores
    nothing = {"value": None, "low": None, "high": None}
    headlines = {"mmau.dag_planning": nothing, "mmau.contest_planner": nothing, "mmau.math_planner": nothing}
    planning = _combine(scores, headlines, ["mmau.dag_planning"], [])["capabilities"]["planning"]
    assert len(planning["missing"]) == 3
    assert planning["without_figure"] == ["dag_planning"]
