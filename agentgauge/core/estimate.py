"""Metrics with their uncertainty."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from agentgauge.core.types import Json, Metric, Score

# -- 95 % intervals of a share, from counts or from a standard error. Standard library only: every run computes them.


Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: half the width of a 95 % interval, in standard errors."""

_SERIES_TO = 30
"""Degrees of freedom up to which Student's t is computed exactly; beyond, the expansion is right to 1e-7."""


def wilson(share: float, n: float, quantile: float = Z) -> tuple[float, float]:
    """Wilson's score interval for a share (0 to 1) of ``n`` > 0 independent samples (Wilson 1927). Within 0 to 1.

    ``n`` may be an effective number that is not whole. Raises ValueError outside these ranges.
    """
    if not 0 <= share <= 1 or n <= 0:
        raise ValueError(f"a share must be 0 to 1 and n more than 0, not {share} and {n}")
    square = quantile * quantile
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = quantile / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return (0.0 if share == 0 else max(0.0, middle - half)), (1.0 if share == 1 else min(1.0, middle + half))


def by_error(share: float, error: float, freedom: int) -> tuple[float, float]:
    """The interval of a share between 0 and 1 from a standard error > 0 with ``freedom`` degrees of freedom. Within 0
    to 1.

    It is Wilson's for the effective number of samples, ``share * (1 - share) / error**2``, with Student's t (Dean and
    Pagano 2015; Franco et al. 2019). Near 0 and 1 it is asymmetric.
    """
    return wilson(share, share * (1 - share) / (error * error), student(freedom))


def symmetric(value: float, error: float, freedom: int) -> tuple[float, float]:
    """``value`` ± Student's t with ``freedom`` degrees of freedom times the standard error, in the unit of both."""
    half = student(freedom) * error
    return value - half, value + half


def freedom_of(deviations: Sequence[float]) -> int:
    """Degrees of freedom of a variance that is estimated from these deviations from their mean, not all 0: 1 to their
    number less 1.

    Satterthwaite's formula, 2 n / (kurtosis - 1): if few units dominate the variance, its estimate is no better than
    one from these units alone.
    """
    n = len(deviations)
    squares = math.fsum(one * one for one in deviations)
    kurtosis = n * math.fsum(one**4 for one in deviations) / (squares * squares)
    return max(1, min(n - 1, int(2 * n / (kurtosis - 1)))) if kurtosis > 1 + 1e-9 else n - 1


@cache
def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t with ``freedom`` >= 1 degrees of freedom, to 1e-7. Raises ValueError below
    1."""
    if freedom < 1:
        raise ValueError(f"degrees of freedom must be 1 or more, not {freedom}")
    if freedom > _SERIES_TO:
        return _expansion(freedom)
    low, high = 0.0, math.pi / 2  # of the angle, whose tangent is t / sqrt(freedom)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < 0.95 else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """The probability between -t and t (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = (cosine if freedom % 2 else 1.0) if freedom > 1 else 0.0
    for step in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total


def _expansion(freedom: int) -> float:
    """The quantile as a series in 1 / freedom (Abramowitz and Stegun 26.7.5)."""
    z = Z
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))


# -- Metrics with their uncertainty, from the values of each sample.
#
# ``docs/comparing.md`` describes the choice of the interval.


Values = Mapping[str, float]
Figures = Mapping[str, float | None]

NO_SPREAD = 1e-5
"""Standard errors below this share of a metric's scale mean that all samples agree. It is not smaller, because two
epsilons in GTA's F1 make equal samples differ in the seventh decimal."""

_SAME = 1e-9


def totals(values: Iterable[Values]) -> dict[str, float]:
    """The sum of each value; exact, so that the order of the samples does not matter."""
    columns: dict[str, list[float]] = defaultdict(list)
    for contributed in values:
        for name, value in contributed.items():
            columns[name].append(value)
    return {name: math.fsum(column) for name, column in columns.items()}


@dataclass(frozen=True, slots=True)
class MetricFormula:
    """How a task's figures are computed from its samples.

    ``compute`` makes all figures from the sums of the samples' values. ``rests_on`` names for each figure the values
    that make up its denominator: a sample without any of them does not contribute to the figure. A figure without an
    entry is a plain count and gets no interval. Without ``rests_on`` every figure rests on every sample. ``scale`` is
    the figure for a perfect run where that is not 100. ``join`` puts the values of the samples of a group into one; by
    default it adds them up. Values that only ``join`` makes, such as whether all samples of a group are right, count
    only for groups of which every sample is there. ``details`` makes further facts about figures from the scores, for
    ``Metric.extra``.
    """

    compute: Callable[[Values], Figures]
    rests_on: Mapping[str, Sequence[str]] | None = None
    scale: Mapping[str, float] = field(default_factory=dict)
    join: Callable[[Sequence[Values]], Values] = totals
    details: Callable[[Sequence[Score]], Mapping[str, Mapping[str, Json]]] = lambda scores: {}

    def units(self, scores: Iterable[Score], incomplete: Container[str] = ()) -> list[Values]:
        """The independent units: the joined values of each group, and the values of each sample without a group.

        ``incomplete``: groups of which a sample is not there.
        """
        groups: dict[str | int, list[Values]] = {}
        for place, score in enumerate(scores):
            groups.setdefault(score.group or place, []).append(score.values)
        alone: dict[int, Values] = {}  # joined values by identity: thousands of samples that stand alone share theirs
        found: list[Values] = []
        for group, values in groups.items():
            joined = self.join(values)
            if group in incomplete:
                found.append({name: value for name, value in joined.items() if any(name in one for one in values)})
            else:
                found.append(alone.setdefault(id(values[0]), joined) if len(values) == 1 else joined)
        return found

    def of_groups(self, scores: Sequence[Score]) -> list[str]:
        """The figures over groups: those whose denominator consists of values that only ``join`` makes."""
        if self.rests_on is None or not any(score.group for score in scores):
            return []
        made = {name for unit in self.units(scores) for name in unit}
        made -= {name for score in scores for name in score.values}
        return [name for name, below in self.rests_on.items() if made.issuperset(below)]

    def counted(self, name: str, values: Values) -> bool:
        """Whether the sample or group with these values is part of a figure."""
        return (
            self.rests_on is None or name not in self.rests_on or any(values.get(each) for each in self.rests_on[name])
        )

    def weight(self, name: str, values: Values) -> float:
        """The amount that these values add to a figure's denominator."""
        return 1.0 if self.rests_on is None else math.fsum(values.get(each, 0.0) for each in self.rests_on[name])

    def is_rate(self, name: str) -> bool:
        """Whether a figure has a denominator, and so an interval; otherwise it is a count."""
        return self.rests_on is None or name in self.rests_on


def by_sample(attempts: Iterable[tuple[str, Score]]) -> dict[str, Score]:
    """One score per sample: its attempts' values averaged, so that a sample counts once however often it was tried.

    Takes pairs of sample id and score; samples are in the order in which they first come. It has passed if all attempts
    have.
    """
    found: dict[str, Score] = {}
    several: dict[str, list[Score]] = {}
    for sample, score in attempts:
        if sample in found:
            several.setdefault(sample, [found[sample]]).append(score)
        else:
            found[sample] = score
    return found | {sample: _mean(scores) for sample, scores in several.items()}


def _mean(scores: Sequence[Score]) -> Score:
    names = dict.fromkeys(name for score in scores for name in score.values)
    values = {name: math.fsum(score.values.get(name, 0.0) for score in scores) / len(scores) for name in names}
    return Score(passed=all(score.passed for score in scores), values=values, group=scores[0].group)


def estimate(scores: Sequence[Score], formula: MetricFormula, incomplete: Container[str] = ()) -> dict[str, Metric]:
    """A formula's figures for a run, one score per sample, with 95 % intervals. ``n`` counts samples, not groups.

    A figure whose denominator exists only after joining, such as a session's success, counts groups; of these not the
    ``incomplete`` ones, of which a sample is not there.
    """
    distinct, which = kinds(score.values for score in scores)
    known = {each for values in distinct for each in values}
    found = from_totals(formula.units(scores, incomplete), formula)
    samples = {name: part_in(name, distinct, which, formula, known) for name in found}
    details = formula.details(scores)
    return {
        name: replace(metric, n=metric.n if (n := samples[name]) is None else n, extra=details.get(name, {}))
        for name, metric in found.items()
    }


def kinds(contributed: Iterable[Values]) -> tuple[list[Values], list[int]]:
    """The distinct contributions of the samples, and which of them each sample has. Thousands of samples have only a
    few distinct contributions."""
    places: dict[tuple[tuple[str, float], ...], int] = {}
    distinct: list[Values] = []
    which = []
    for values in contributed:
        place = places.setdefault(tuple(values.items()), len(distinct))
        if place == len(distinct):
            distinct.append(values)
        which.append(place)
    return distinct, which


def part_in(
    name: str, distinct: Sequence[Values], which: Sequence[int], formula: MetricFormula, known: Container[str]
) -> int | None:
    """How many samples are part of a figure; None if its denominator exists only after joining.

    ``distinct``, ``which``: see ``kinds``. ``known``: the names of all values that samples of the task have.
    """
    if (
        formula.rests_on is not None
        and formula.is_rate(name)
        and not any(each in known for each in formula.rests_on[name])
    ):
        return None
    counted = [formula.counted(name, values) for values in distinct]
    return sum(counted[kind] for kind in which)


def from_totals(units: Sequence[Values], formula: MetricFormula) -> dict[str, Metric]:
    """The figures with 95 % intervals, from the values of independent units; ``n`` counts the units that are part of a
    figure.

    Wilson's interval where every unit is one right or wrong; otherwise one from the standard error of the delete-one
    jackknife. A figure has no interval if it is a count, if there are fewer than two units, or if one unit alone
    determines it.
    """
    sums = totals(units)
    distinct, which = kinds(units)
    alone = [formula.compute({name: one.get(name, 0.0) for name in sums}) for one in distinct]
    left_out = [formula.compute({name: total - one.get(name, 0.0) for name, total in sums.items()}) for one in distinct]
    metrics: dict[str, Metric] = {}
    for name, value in formula.compute(sums).items():
        counted = [formula.counted(name, one) for one in distinct]
        part = [kind for kind in which if counted[kind]]
        low = high = None
        if value is not None and len(part) > 1 and formula.is_rate(name):
            scale = formula.scale.get(name, 100.0)
            own, others = ({kind: _share(each[kind][name], scale) for kind in set(part)} for each in (alone, left_out))
            single = all(formula.weight(name, distinct[kind]) == 1 for kind in own)
            ends = _interval(
                value / scale, [own[kind] for kind in part], [others[kind] for kind in part], single=single
            )
            low, high = (None, None) if ends is None else (scale * ends[0], scale * ends[1])
        metrics[name] = Metric(value, low, high, len(part))
    return metrics


def _share(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def _interval(
    share: float, alone: Sequence[float | None], left_out: Sequence[float | None], *, single: bool
) -> tuple[float, float] | None:
    """``share`` is the figure, 1 for a perfect run; of each unit by itself (``alone``), and without it (``left_out``).

    ``single``: every unit counts one in the denominator.
    """
    known = [one for one in left_out if one is not None]
    own = [one for one in alone if one is not None]
    n = len(left_out)
    if len(known) < n:
        return None  # one unit alone makes the figure: nothing is known of its spread
    bounded = all(-_SAME <= one <= 1 + _SAME for one in (share, *own))
    if bounded:
        share = min(max(share, 0.0), 1.0)
        if (
            single
            and all(min(abs(one), abs(one - 1)) < _SAME for one in own)
            and abs(share - math.fsum(own) / n) < _SAME
        ):
            return wilson(share, n)
    mean = math.fsum(known) / n
    deviations = [one - mean for one in known]
    error = math.sqrt((n - 1) / n * math.fsum(one * one for one in deviations))
    if error < NO_SPREAD:
        return wilson(share, n) if bounded else None
    if bounded and error * error < share * (1 - share):
        return by_error(share, error, freedom_of(deviations))
    low, high = symmetric(share, error, freedom_of(deviations))
    return max(0.0, low), min(1.0, high) if share <= 1 else high
