"""Metrics with their uncertainty, from what each sample contributes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from harness.types import Metric

Values = Mapping[str, float]
Z = 1.959963984540054
"""Half width of a 95 % interval of the normal distribution, in standard errors."""


NO_SPREAD = 1e-3
"""Standard errors below this, in percentage points, mean that all samples agree. GTA's F1 is why it is not smaller: two
epsilons in it make samples that agree differ in the fifth decimal."""


def by_sample(values: Iterable[tuple[str, Values]]) -> list[dict[str, float]]:
    """Attempts of one sample averaged, so that a sample counts once however often it was tried.

    Takes pairs of sample id and values; the result is in the order in which samples first come.
    """
    attempts: dict[str, list[Values]] = defaultdict(list)
    for sample, contributed in values:
        attempts[sample].append(contributed)
    return [{name: math.fsum(one.get(name, 0) for one in tries) / len(tries) for name in tries[0]} for tries in attempts.values()]


def totals(values: Iterable[Values]) -> dict[str, float]:
    """The sum of each value; exact, so that the order of the samples does not matter."""
    columns: dict[str, list[float]] = defaultdict(list)
    for contributed in values:
        for name, value in contributed.items():
            columns[name].append(value)
    return {name: math.fsum(column) for name, column in columns.items()}


def from_totals(
    values_per_sample: Sequence[Values],
    fn: Callable[[Values], Mapping[str, float | None]],
    *,
    rests_on: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Metric]:
    """Metrics that are functions of sums over samples, with 95 % intervals.

    ``fn`` computes the metrics, percentages, from the sums. ``rests_on`` names for each metric the values that make up
    its denominator: a sample without any of them has no part in that metric and does not count in its ``n``. A metric
    that is not in it is a plain count and gets no interval. Without ``rests_on`` every metric rests on every sample.

    The interval is the delete-one jackknife's, ± 1.96 standard errors, which fits ratios of sums. Where all samples
    agree it has no width; then it is Wilson's, for ``n`` samples. It is cut off at 0, and at 100 where the value does
    not exceed that. With fewer than two samples there is none.
    """
    sums = totals(values_per_sample)
    results = fn(sums)
    left_out = [fn({name: total - one.get(name, 0) for name, total in sums.items()}) for one in values_per_sample]
    metrics: dict[str, Metric] = {}
    for name, value in results.items():
        if rests_on is not None and name not in rests_on:
            metrics[name] = Metric(value, n=len(values_per_sample))
            continue
        part = [rests_on is None or any(one.get(each) for each in rests_on[name]) for one in values_per_sample]
        n = sum(part)
        if value is None or n < 2:
            metrics[name] = Metric(value, n=n)
            continue
        low, high = _interval(value, [one[name] for one, counts in zip(left_out, part, strict=True) if counts], n)
        metrics[name] = Metric(value, low, high, n)
    return metrics


def _interval(value: float, left_out: Sequence[float | None], n: int) -> tuple[float | None, float | None]:
    known = [one for one in left_out if one is not None]
    if len(known) < n:
        return None, None  # one sample alone makes the metric: nothing is known of its spread
    mean = math.fsum(known) / n
    error = math.sqrt((n - 1) / n * math.fsum((one - mean) ** 2 for one in known))
    if error < NO_SPREAD:
        return _wilson(value, n)
    high = value + Z * error
    return max(0.0, value - Z * error), min(100.0, high) if value <= 100 else high


def _wilson(value: float, n: int) -> tuple[float | None, float | None]:
    """Wilson's interval of a share given in percent; none for values that are no share."""
    if not -1e-9 <= value <= 100 + 1e-9:
        return None, None
    share = min(max(value / 100, 0.0), 1.0)
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, 100 * (middle - half)), min(100.0, 100 * (middle + half))
