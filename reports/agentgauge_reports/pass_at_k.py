"""pass@k and pass^k of a task that was tried several times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from agentgauge.core.estimate import MetricFormula, Values, estimate
from agentgauge.core.types import Metric, Score

Try = tuple[str, Score]
"""A sample, and how one attempt at it ended."""


def by_name(part: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """``pass@1`` and so on → figure, of a task's part of ``summary.json``; empty for one attempt."""
    return {f"{kind[:-1]}{k}": one for kind, by_k in part.get("pass", {}).items() for k, one in by_k.items()}


def pass_at(k: int, tried: int, right: int) -> float:
    """pass@k: the chance, 0 to 1, that ``k`` of the attempts, drawn without replacement, include a right one. 1 <= k <=
    tried.

    The unbiased estimate 1 - C(n-c, k) / C(n, k) of Chen et al. 2021, equation 1. Raises ValueError for another k.
    """
    return 1 - pass_all(k, tried, tried - right)


def pass_all(k: int, tried: int, right: int) -> float:
    """pass^k: the chance, 0 to 1, that ``k`` of the attempts, drawn without replacement, are all right. 1 <= k <=
    tried.

    The unbiased estimate C(c, k) / C(n, k) of Yao et al. 2024. Raises ValueError for another k.
    """
    if not 1 <= k <= tried:
        raise ValueError(f"k must be 1 to the {tried} attempts, not {k}")
    return math.comb(right, k) / math.comb(tried, k)


def pass_at_k(tries: Iterable[Try], most: int) -> dict[str, dict[str, dict[str, Any]]]:
    """``{"pass@k": {"1": {"value", "low", "high", "n"}, ...}, "pass^k": ...}``, in percent, for every k up to ``most``.

    A sample counts for a k if it was tried at least k times; ``n`` is the number of these samples.
    """
    by_sample: dict[str, list[Score]] = {}
    for sample, score in tries:
        by_sample.setdefault(sample, []).append(score)
    scores = [
        Score(False, _values(len(tried), sum(one.passed for one in tried)), group=tried[0].group)
        for tried in by_sample.values()
    ]
    found = estimate(scores, _formula(most))
    return {kind: {str(k): ends(found[f"{kind} {k}"]) for k in range(1, most + 1)} for kind in ("pass@k", "pass^k")}


def ends(metric: Metric) -> dict[str, Any]:
    return {"value": metric.value, "low": metric.low, "high": metric.high, "n": metric.n}


def _values(tried: int, right: int) -> Values:
    values: dict[str, float] = {}
    for k in range(1, tried + 1):
        values |= {f"of {k}": 1.0, f"pass@k {k}": pass_at(k, tried, right), f"pass^k {k}": pass_all(k, tried, right)}
    return values


def _formula(most: int) -> MetricFormula:
    rests_on = {f"{kind} {k}": (f"of {k}",) for kind in ("pass@k", "pass^k") for k in range(1, most + 1)}

    def rates(sums: Values) -> dict[str, float | None]:
        return {name: 100 * sums[name] / sums[of] if sums.get(of) else None for name, (of,) in rests_on.items()}

    return MetricFormula(rates, rests_on)
