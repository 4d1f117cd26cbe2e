"""Intervals against other libraries and by simulation: coverage of every kind of metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

from agentgauge.core.estimate import MetricFormula, Values, estimate, freedom_of, from_totals, student, wilson
from agentgauge.core.types import Score

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


@pytest.mark.parametrize(("right", "n"), [(0, 20), (7, 20), (1000, 1024)])
def test_wilsons_interval_is_that_of_statsmodels(right: int, n: int) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    assert wilson(right / n, n) == pytest.approx(proportion.proportion_confint(right, n, method="wilson"), abs=1e-12)


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
