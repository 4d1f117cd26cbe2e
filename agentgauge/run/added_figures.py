"""Figures that a project adds to those of the benchmarks, by the hook ``pytest_agentgauge_figures``."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from numbers import Real
from typing import Any

from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.estimate import NO_SPREAD, freedom_of, symmetric
from agentgauge.core.types import Metric


class AddedFigures:
    """``of``: task → name → figure, as in summary.json."""

    def __init__(self, benchmarks: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Mapping[str, str]]) -> None:
        """``benchmarks``: task → the figures that it has itself. ``groups``: task → sample → its group; samples of one
        group are not independent."""
        self.of: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self._own = benchmarks
        self._groups = groups

    def add(self, task: str, name: str, value: float | Metric | Mapping[str, float]) -> None:
        """Show a figure beside those of a task of the run; without cases of that task, nothing.

        ``value``: a number; a ``Metric`` with an interval of its own; or a number for each sample, by its id: then the
        figure is their mean, with its 95 % interval. Raises UsageProblem for a name that the benchmark has, and for
        what is no number.
        """
        if task not in self._own:
            if close := did_you_mean(task, self._own):
                raise UsageProblem(f"the run has no task {task!r}{close}")
            return
        if name in self._own[task]:
            raise UsageProblem(f"{name} is a figure of {task} itself; give yours another name")
        if isinstance(value, Mapping):
            for sample, number in value.items():
                _check(number, f"{name} of {task}, sample {sample}")
            metric = self._mean(task, value)
        elif isinstance(value, Metric):
            metric = value
        else:
            _check(value, f"{name} of {task}")
            metric = Metric(float(value), None, None, 0)
        figure = {"value": metric.value, "low": metric.low, "high": metric.high, "n": metric.n}
        self.of[task][name] = {**figure, "broken": 0, "added": True}

    def _mean(self, task: str, values: Mapping[str, float]) -> Metric:
        """Groups count as wholes: see docs/comparing.md."""
        n = len(values)
        if not n:
            return Metric(None, None, None, 0)
        mean = math.fsum(values.values()) / n
        groups: dict[str, float] = defaultdict(float)
        for sample, value in values.items():
            groups[self._groups.get(task, {}).get(sample) or sample] += value - mean
        deviations, count = [*groups.values()], len(groups)
        error = math.sqrt(count / max(1, count - 1) * math.fsum(each * each for each in deviations)) / n
        if count < 2 or error <= NO_SPREAD * abs(mean):
            return Metric(mean, None, None, n)
        low, high = symmetric(mean, error, freedom_of(deviations))
        return Metric(mean, low, high, n)


def _check(value: object, what: str) -> None:
    if isinstance(value, bool):
        raise UsageProblem(f"the figure {what} is {value}; give a number: for a share in per cent, 100 or 0")
    if not isinstance(value, Real) or not math.isfinite(value):
        raise UsageProblem(f"the figure {what} is {value!r}; give a finite number")
