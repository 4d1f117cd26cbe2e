"""Two runs paired, and tests of a paired difference, for any figure that is a function of sums.

The idea: if both runs are equal, the two outcomes of every sample (or group of samples) are exchangeable. So random
sign flips of the pairs' contributions give the distribution of the difference for equal runs without further
assumptions. Contributions are linear: outcomes times the slope of the figure at the mean of both runs' sums, which does
not change when outcomes are swapped, so that the test is exact. Where every pair that differs contributes the same
amount it is McNemar's exact test.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from agentgauge.core.estimate import MetricFormula, Values, by_sample, student
from agentgauge.core.index import Row
from agentgauge.core.task import Task
from agentgauge.core.types import Score, Scoring
from agentgauge.store.jsonl import CaseOutline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Key = TypeVar("Key")

ALPHA = 0.05
_POWER_80 = 0.8416212335729143
"""The 80 % quantile of the normal distribution."""

SEED = 20240229
ENUMERATED = 12
"""Up to this number of differing pairs, all combinations of signs are tried."""

DRAWS = 20_000
"""Random combinations of signs for more pairs. The smallest p-value is 1 / DRAWS."""

MCNEMAR, NO_DIFFERENCE = "McNemar, exact", "no pair differs"
ALL_SIGNS, DRAWN_SIGNS = "sign flips, all", "sign flips, drawn"

_STEP = 1e-4
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Effect:
    """One figure in two runs, on what both of them have. Everything but p-values is in the figure's own unit."""

    a: float | None
    b: float | None
    difference: float | None  # b - a
    n: int  # samples, or groups of them, that the figure rests on
    low: float | None = None  # 95 % interval of the difference
    high: float | None = None
    p: float | None = None  # of no difference, two-sided; None for what is not tested
    p_worse: float | None = None  # of no difference, against b < a
    differing: int = 0  # pairs that contribute to the difference
    detectable: float | None = None  # true difference that is found with 80 % power at 5 %; None: none would be
    method: str = ""
    test: tuple[float, ...] = ()  # contributions up to scale: figures with the same ones are one test

    @property
    def attainable(self) -> float:
        """The smallest p that the pairs could have given, in any direction of their differences."""
        return min(1.0, 2.0 ** (1 - self.differing))

    @property
    def attainable_worse(self) -> float:
        return 2.0**-self.differing


def effects(first: Sequence[Values], second: Sequence[Values], formula: MetricFormula) -> dict[str, Effect]:
    """The difference of every figure between two runs. Counts are reported, not tested.

    ``first`` and ``second``: the values of each sample, or group of samples, in run A and in run B, in the same order.
    """
    import numpy as np

    fn = formula.compute
    names = sorted({name for one in (*first, *second) for name in one})
    a, b = (
        np.array([[one.get(name, 0.0) for name in names] for one in run]).reshape(len(run), len(names))
        for run in (first, second)
    )
    sums_a, sums_b = (np.array([math.fsum(column) for column in run.T]) for run in (a, b))
    found_a, found_b = fn(_named(names, sums_a)), fn(_named(names, sums_b))
    figures = list(found_a)
    tested = [
        name
        for name in figures
        if formula.is_rate(name) and found_a[name] is not None and found_b.get(name) is not None
    ]
    slopes = [_slopes(fn, names, at, tested) for at in (sums_a, (sums_a + sums_b) / 2, sums_b)]
    swings = (b - a) @ slopes[1]
    spread = b @ slopes[2] - a @ slopes[0]
    results: dict[str, Effect] = {}
    for name in figures:
        one, other = found_a[name], found_b.get(name)
        difference = None if one is None or other is None else other - one
        if name not in tested or difference is None:
            results[name] = Effect(one, other, difference, len(first))
            continue
        which = tested.index(name)
        part = [formula.counted(name, x) or formula.counted(name, y) for x, y in zip(first, second, strict=True)]
        whole = formula.scale.get(name, 100.0)
        results[name] = _effect(one, other, difference, swings[part, which], spread[part, which], whole)
    return results


def _named(names: Sequence[str], sums: Array) -> dict[str, float]:
    return dict(zip(names, map(float, sums), strict=True))


def _slopes(
    fn: Callable[[Values], Mapping[str, float | None]], names: Sequence[str], at: Array, figures: Sequence[str]
) -> Array:
    """How much each figure grows with each sum: sums by figures. 0 where a figure is not defined nearby."""
    import numpy as np

    slopes = np.zeros((len(names), len(figures)))
    for row, total in enumerate(at):
        step = abs(float(total)) * _STEP
        if not step:
            continue
        above, below = (
            fn(_named(names, np.where(np.arange(len(at)) == row, total + move, at))) for move in (step, -step)
        )
        for column, figure in enumerate(figures):
            high, low = above[figure], below[figure]
            if high is not None and low is not None:
                slopes[row, column] = (high - low) / (2 * step)
    return slopes


def _effect(a: float | None, b: float | None, difference: float, swings: Array, spread: Array, whole: float) -> Effect:
    """``swings``: each pair's part in the difference, for the test. ``spread``: its part in the difference's error."""
    import numpy as np

    n = len(swings)
    if n < 2:
        return Effect(a, b, difference, n)
    largest = float(np.abs(swings).max())
    differing = swings[np.abs(swings) > max(_SAME * largest, _SAME * whole / n)]
    p, worse, method = _p_values(differing)
    swing = largest * n if len(differing) else whole
    middle, error = _spread(spread, difference, swing)
    reach = student(n + 1)
    step = swing / n if method in (MCNEMAR, NO_DIFFERENCE) else 0.0  # an exact test of few pairs misses by one of them
    detectable = (reach + _POWER_80) * error + step
    # the scale of a plain mean, such as turns of a case, is no bound of it
    most = whole if max(abs(a or 0.0), abs(b or 0.0)) <= whole else math.inf
    return Effect(
        a,
        b,
        difference,
        n,
        low=max(-most, min(difference, middle - reach * error)),
        high=min(most, max(difference, middle + reach * error)),
        p=p,
        p_worse=worse,
        differing=len(differing),
        detectable=detectable if detectable <= most else None,
        method=method,
        test=_shape(swings, largest) if len(differing) else (),
    )


def _spread(spread: Array, difference: float, swing: float) -> tuple[float, float]:
    """Middle and standard error of the difference, with two further pairs that swing fully, one each way.

    These keep the interval honest where few pairs differ. For plain proportions it is the interval of Bonett and Price
    (2012, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data"), with the
    t distribution.
    """
    import numpy as np

    n = len(spread)
    pairs = np.append(n * (spread - spread.mean()) + difference, (swing, -swing))
    return float(pairs.mean()), float(pairs.std(ddof=1) / math.sqrt(n + 2))


def _shape(swings: Array, largest: float) -> tuple[float, ...]:
    import numpy as np

    scaled = np.round(swings / largest, 6) + 0.0
    lead = scaled[np.flatnonzero(scaled)[0]]
    return tuple(map(float, scaled * math.copysign(1.0, float(lead)) + 0.0))


def _p_values(differing: Array) -> tuple[float, float, str]:
    """Two-sided p, one-sided p against a fall, and how they were found."""
    import numpy as np

    k = len(differing)
    if not k:
        return 1.0, 1.0, NO_DIFFERENCE
    sizes = np.abs(differing)
    if sizes.max() - sizes.min() <= 1e-6 * sizes.max():
        ups = int((differing > 0).sum())
        return min(1.0, 2 * binomial_tail(min(ups, k - ups), k)), binomial_tail(ups, k), MCNEMAR
    seen, room = float(differing.sum()), 1e-9 * float(sizes.sum())
    if k <= ENUMERATED:
        ways = np.arange(2**k)
        signs = 1.0 - 2.0 * ((ways[:, None] >> np.arange(k)) & 1)
        sums = signs @ differing
        return float((np.abs(sums) >= abs(seen) - room).mean()), float((sums <= seen + room).mean()), ALL_SIGNS
    beyond, below = drawn(differing, seen, room)
    return (beyond + 1) / (DRAWS + 1), (below + 1) / (DRAWS + 1), DRAWN_SIGNS


def drawn(differing: Array, seen: float, room: float) -> tuple[int, int]:
    """How many sums of ``DRAWS`` random sign flips are at least as far from 0 as ``seen``, and how many at most it."""
    import numpy as np

    source = np.random.default_rng(SEED)
    beyond = below = 0
    chunk = max(1, min(DRAWS, 4_000_000 // len(differing)))
    for start in range(0, DRAWS, chunk):
        rows = min(chunk, DRAWS - start)
        bits = np.unpackbits(
            source.integers(0, 256, (rows, (len(differing) + 7) // 8), dtype=np.uint8), axis=1, count=len(differing)
        )
        sums = differing.sum() - 2.0 * (bits @ differing)
        beyond += int((np.abs(sums) >= abs(seen) - room).sum())
        below += int((sums <= seen + room).sum())
    return beyond, below


def binomial_tail(at_most: int, k: int) -> float:
    """The chance of at most so many heads in ``k`` throws."""
    ways: int = sum(math.comb(k, heads) for heads in range(at_most + 1))
    return float(ways / 2**k)


def holm(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """P-values that hold for all together (Holm 1979): a true null hypothesis is rejected at most as often as alpha."""
    adjusted: dict[Key, float] = {}
    least = 0.0
    for rank, (key, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        least = max(least, min(1.0, p * (len(p_values) - rank)))
        adjusted[key] = least
    return adjusted


# -- the samples that both runs finished, averaged over attempts

PASSED = "Passed"
"""A row that every task has: the share of cases that passed."""

_PASS_RATE = MetricFormula(lambda sums: {PASSED: 100 * sums["passed"] / sums["cases"] if sums.get("cases") else None})


@dataclass(frozen=True, slots=True)
class TaskPairs:
    """One task in two runs."""

    task: str
    common: int  # samples that both runs finished
    units: int  # of these, what varies independently: groups, and samples that stand alone
    left_out: Mapping[str, int]  # samples that are not common: reason → number
    effects: Mapping[str, Effect]
    gained: tuple[str, ...]  # samples that passed more often in B than in A
    lost: tuple[str, ...]
    whole: int | None = None  # of the groups, those of which every sample is common; None without a figure over groups
    shares: Mapping[str, tuple[float, float]] = field(
        default_factory=dict
    )  # of these, the share of attempts that passed in A and in B, 0 to 1


def pair(
    task: Task,
    first: Sequence[CaseOutline],
    second: Sequence[CaseOutline],
    scoring: Scoring,
    incomplete: Collection[str] = (),
) -> TaskPairs:
    """The differences of a task's figures, with their samples. ``first``, ``second``: its cases in A, B.
    ``incomplete``: the groups of which A or B lacks a sample of the data set."""
    runs = [samples_of(cases) for cases in (first, second)]
    finished = [{sample for sample, cases in run.items() if any(case.score for case in cases)} for run in runs]
    both = finished[0] & finished[1]
    common = [sample for sample in runs[0] if sample in both]
    scores = [
        by_sample((sample, case.score) for sample in common for case in run[sample] if case.score) for run in runs
    ]
    formula = task.metrics(scoring)
    groups = [scores[0][sample].group for sample in common]
    apart = (case for run in runs for sample, (case, *_) in run.items() if sample not in both)
    lacking = {*incomplete, *(task.data.group_of(Row(case.sample, case.tags, 0)) for case in apart)}
    shares = [[_share(run[sample]) for sample in common] for run in runs]
    values = [
        formula.units(
            [Score(one.passed, one.values, group=group) for one, group in zip(run.values(), groups, strict=True)],
            lacking,
        )
        for run in scores
    ]
    passed = [
        _PASS_RATE.units(
            [
                Score(False, {"passed": share, "cases": 1.0}, group=group)
                for share, group in zip(run, groups, strict=True)
            ]
        )
        for run in shares
    ]
    found = effects(values[0], values[1], formula) | effects(passed[0], passed[1], _PASS_RATE)
    moved = {sample: (a, b) for sample, a, b in zip(common, *shares, strict=True) if a != b}
    return TaskPairs(
        task.name,
        len(common),
        len(values[0]),
        _left_out(runs, finished),
        found,
        tuple(sample for sample, (a, b) in moved.items() if b > a),
        tuple(sample for sample, (a, b) in moved.items() if b < a),
        len({*groups} - lacking) if formula.of_groups(list(scores[0].values())) else None,
        moved,
    )


def samples_of(cases: Sequence[CaseOutline]) -> dict[str, list[CaseOutline]]:
    """Sample → its attempts."""
    found: dict[str, list[CaseOutline]] = defaultdict(list)
    for case in cases:
        found[case.sample].append(case)
    return found


def _share(cases: Sequence[CaseOutline]) -> float:
    """The share of a sample's finished attempts that passed."""
    finished = [case.score.passed for case in cases if case.score]
    return math.fsum(finished) / len(finished)


def _left_out(runs: Sequence[Mapping[str, Sequence[CaseOutline]]], finished: Sequence[set[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for letter, run, other, done in zip("AB", runs, reversed(runs), finished, strict=True):
        for reason, meets in _REASONS.items():
            counts[f"{reason} {letter}"] = sum(sample not in done and meets(run[sample]) for sample in run)
        counts[f"only in {letter}"] = len(run.keys() - other.keys())
    return {reason: count for reason, count in counts.items() if count}


_REASONS: Mapping[str, Callable[[Sequence[CaseOutline]], bool]] = {
    "broken in": lambda cases: any(case.status == "broken" for case in cases),
    "missing in": lambda cases: all(case.status == "missing" for case in cases),
}
