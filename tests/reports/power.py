"""How often a comparison finds a difference: simulated runs of known models. Run it to print the tables of
docs/comparing.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agentgauge_reports.comparison.paired import ALPHA, effects

from agentgauge.core.estimate import MetricFormula, Values

SAMPLES = (50, 100, 200, 500, 1000)
DIFFERENCES = (2, 5, 10, 15, 20)
ATTEMPTS = (1, 2, 4, 8)

SHARE = MetricFormula(lambda sums: {"Acc": 100 * sums["right"] / sums["all"] if sums.get("all") else None})
F1 = MetricFormula(
    lambda sums: {"F1": 200 * sums["hit"] / (sums["gold"] + sums["said"]) if sums["gold"] + sums["said"] else None},
    {"F1": ("gold", "said")},
)

Pair = tuple[Sequence[Values], Sequence[Values]]
"""What both models contribute. Made from a random source, the number of pairs, and how much better the second model is
(0 to 1)."""


def chances(source: Any, n: int, better: float) -> tuple[Any, Any]:
    """Each sample's chance to be solved by both models: most samples are easy or hard, and ``better`` is the mean
    difference.

    The second model turns the same share of every sample's failures into successes.
    """
    base = source.beta(0.6, 0.6, n)
    return base, base + (1 - base) * better / 0.5


def plain(source: Any, n: int, better: float, attempts: int = 1) -> Pair:
    """Right or wrong, or the share of several attempts."""
    return tuple(  # type: ignore[return-value]
        [{"right": float(hits) / attempts, "all": 1.0} for hits in source.binomial(attempts, chance)]
        for chance in chances(source, n, better)
    )


def sessions(source: Any, n: int, better: float) -> Pair:
    """Four tasks that hang together."""
    return tuple(  # type: ignore[return-value]
        [{"right": float(hits), "all": 4.0} for hits in source.binomial(4, chance)]
        for chance in chances(source, n, better)
    )


def weighted(source: Any, n: int, better: float) -> Pair:
    """Samples of unlike weight; some have none."""
    weights = source.poisson(1.5, n)
    return tuple(  # type: ignore[return-value]
        [
            {"right": float(hits), "all": float(weight)}
            for hits, weight in zip(source.binomial(weights, chance), weights, strict=True)
        ]
        for chance in chances(source, n, better)
    )


def searches(source: Any, n: int, better: float) -> Pair:
    """F1 of sums: what was to be found, what was said, what of it was right."""
    gold = source.integers(0, 4, n)
    runs = []
    for chance in chances(source, n, better):
        hits = source.binomial(gold, chance)
        runs.append(
            [
                {"gold": float(g), "hit": float(h), "said": float(h + x)}
                for g, h, x in zip(gold, hits, source.poisson(0.5, n), strict=True)
            ]
        )
    return tuple(runs)  # type: ignore[return-value]


def found(make: Callable[[Any], Pair], formula: MetricFormula, runs: int, seed: int) -> float:
    """The share of pairs of runs, 0 to 1, with a difference that is significant at 5 %, two-sided."""
    import numpy as np

    source = np.random.default_rng(seed)
    hits = 0
    for _ in range(runs):
        (effect,) = effects(*make(source), formula).values()
        hits += effect.p is not None and effect.p <= ALPHA
    return hits / runs


def power(samples: int, difference: float, attempts: int = 1, runs: int = 400) -> int:
    """In percent, for right or wrong samples and a true difference in points."""
    return round(
        100
        * found(lambda source: plain(source, samples, difference / 100, attempts), SHARE, runs, seed=samples + attempts)
    )


def rows() -> Iterator[str]:
    """The tables of the page."""
    yield "| difference | " + " | ".join(f"{n} samples" for n in SAMPLES) + " |"
    yield "|--:|" + "--:|" * len(SAMPLES)
    for difference in (0, *DIFFERENCES):
        yield f"| {difference} | " + " | ".join(f"{power(n, difference)} %" for n in SAMPLES) + " |"
    yield ""
    yield "| difference | " + " | ".join(f"{k} attempt{'s' if k > 1 else ''}" for k in ATTEMPTS) + " |"
    yield "|--:|" + "--:|" * len(ATTEMPTS)
    for difference in (0, *DIFFERENCES):
        yield f"| {difference} | " + " | ".join(f"{power(100, difference, k)} %" for k in ATTEMPTS) + " |"


if __name__ == "__main__":
    print("\n".join(rows()))
