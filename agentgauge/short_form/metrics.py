"""Metrics of a benchmark in words: ``mean right``, ``average turns``, ``sum calls``, or a function of sums."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula, Values
from agentgauge.core.types import Score

Metric = str | Callable[[Mapping[str, float]], float | None]
"""``mean VALUE``: per cent, of values from 0 to 1; ``average VALUE``: their plain mean; ``sum VALUE``: their sum; or a
function of the sums of all values, where a value that no sample has is 0, in per cent."""

DEFAULT: Mapping[str, Metric] = {"Accuracy": "mean passed"}

_WORDS = re.compile(r"(mean|average|sum) (\w+)")
_SAMPLES = "samples"  # a value of every score: 1


class Metrics:
    """A benchmark's metrics by name."""

    def __init__(self, task: str, metrics: Mapping[str, Metric]) -> None:
        """Raises UsageProblem."""
        if not metrics:
            raise UsageProblem(f"the benchmark {task} has no metric; leave metrics out for the share of passed samples")
        self.names = tuple(metrics)
        self._parsed: dict[str, tuple[str, str] | Callable[[Mapping[str, float]], float | None]] = {}
        for name, metric in metrics.items():
            found = _WORDS.fullmatch(metric) if isinstance(metric, str) else None
            if not found and not callable(metric):
                raise UsageProblem(
                    f"the metric {name} of {task} is {metric!r}; accepted are 'mean VALUE', 'average VALUE',"
                    " 'sum VALUE' and a function of the sums"
                )
            self._parsed[name] = (found[1], found[2]) if found else metric  # type: ignore[assignment]
        kinds = {name: "" if callable(one) else one[0] for name, one in self._parsed.items()}
        self.counts = frozenset(name for name, kind in kinds.items() if kind == "sum")
        self._scale = {name: 1.0 for name, kind in kinds.items() if kind == "average"}
        shares = tuple(name for name, kind in kinds.items() if kind in ("mean", ""))
        self.shares = shares or self.names  # in per cent; for an average or a sum, more need not be better
        self._means = {one[1] for one in self._parsed.values() if not callable(one) and one[0] != "sum"}

    def formula(self) -> MetricFormula:
        below = {
            name: (_SAMPLES,) if callable(one) else (_count(one[1]),)
            for name, one in self._parsed.items()
            if callable(one) or one[0] != "sum"
        }
        return MetricFormula(self._compute, below, scale=self._scale)

    def scored(self, score: Score) -> Score:
        """The score with the counters of the metrics: ``passed``, and for each mean whether the sample has its value.

        Raises TypeError for a value that is no number.
        """
        values = {"passed": float(score.passed), **{name: _number(name, one) for name, one in score.values.items()}}
        counted = {_count(name): 1.0 for name in self._means if name in values}
        return replace(score, values={**values, **counted, _SAMPLES: 1.0})

    def broken(self) -> Score:
        """A case without an answer counts as a wrong one: as 0 in every mean."""
        return self.scored(Score(False, dict.fromkeys(self._means, 0.0)))

    def _compute(self, sums: Values) -> dict[str, float | None]:
        return {name: self._figure(one, sums) for name, one in self._parsed.items()}

    def _figure(
        self, metric: tuple[str, str] | Callable[[Mapping[str, float]], float | None], sums: Values
    ) -> float | None:
        if callable(metric):
            if not sums.get(_SAMPLES):
                return None
            try:
                return metric(defaultdict(float, sums))
            except ZeroDivisionError:
                return None  # no denominator
        kind, value = metric
        if kind == "sum":
            return sums.get(value, 0.0)
        number = sums.get(_count(value))
        return (100.0 if kind == "mean" else 1.0) * sums.get(value, 0.0) / number if number else None


def _count(value: str) -> str:
    """The name of the value that counts the samples with a value."""
    return f"samples with {value}"


def _number(name: str, value: object) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"score gives {name} the value {value!r}; values are finite numbers, or True and False")
    return float(value)
