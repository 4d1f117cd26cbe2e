"""The headline figures of the cases that have ended, while a run goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.estimate import Values, totals
from agentgauge.core.task import Task, leading
from agentgauge.core.types import Scoring

AT_THE_END = "at the end"
"""Stands for a figure that cannot be given before."""

MOST = 4
"""Figures that are shown."""


class FiguresSoFar:
    """One figure for each benchmark, or for each task if the run has a single benchmark.

    They are folded case by case with the formulas of the tasks, so that a case costs the same however many have ended
    before. Broken cases are left out: how they count is known at the end.
    """

    def __init__(self, tasks: Sequence[Task], scoring: Scoring, *, attempts: int = 1) -> None:
        """``attempts``: at each sample. With several, a sample counts by the mean of all, so there are no figures
        before the end."""
        self._attempts = attempts
        benchmarks: dict[str, list[Task]] = {}
        for task in tasks:
            benchmarks.setdefault(task.shown.benchmark, []).append(task)
        self._late: list[str] = []  # figures over several tasks
        self._folds: dict[str, _Fold] = {}
        for benchmark, members in benchmarks.items():
            title = f"{benchmark} " if len(benchmarks) > 1 else ""
            combined = members[0].combined.headline if members[0].combined and len(members) > 1 else ""
            if combined:
                self._late.append(f"{title}{combined}")
            if combined and title:
                continue
            for task in [leading(members)] if title else members:
                part = "" if title or len(members) == 1 else f"{task.name.rpartition('.')[2]} "
                self._folds[task.name] = _Fold(task, scoring, f"{title}{part}{task.shown.headline}")

    def add(self, task: str, score: Mapping[str, Any]) -> None:
        """A case is right or wrong. ``score``: of its record."""
        if self._attempts == 1 and (fold := self._folds.get(task)):
            fold.add(score["values"], score.get("group", ""))

    def texts(self, tasks: Sequence[Mapping[str, Any]]) -> list[str]:
        """``Task 41.2 (n 85)`` and so on. ``tasks``: name and numbers of cases of each, see ``LiveRun.state``."""
        if self._attempts > 1:
            return [f"{fold.title} {AT_THE_END}" for fold in self._folds.values()][:MOST]
        broken = {task["name"]: task["broken"] for task in tasks}
        found = [fold.text(broken.get(name, 0)) for name, fold in self._folds.items()]
        shown = [*filter(None, found)][: MOST - len(self._late)]
        return [*shown, *(f"{title} {AT_THE_END}" for title in self._late)]


class _Fold:
    """The headline of a task."""

    def __init__(self, task: Task, scoring: Scoring, title: str) -> None:
        self.title = title
        self._name = task.shown.headline
        self._formula = task.metrics(scoring)
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._samples = 0
        self._ended = 0
        self._groups: defaultdict[str, list[Values]] = defaultdict(list)
        self._known: set[str] = set()  # the values that samples have, before ``join`` makes others of them

    def add(self, values: Values, group: str) -> None:
        self._ended += 1
        self._known.update(values)
        self._samples += self._formula.counted(self._name, values)
        if group and self._formula.join is not totals:  # what a group counts is not the sum of its samples
            members = self._groups[group]
            self._sum(self._formula.join(members) if members else {}, -1)
            members.append(values)
            values = self._formula.join(members)
        self._sum(values, 1)

    def text(self, broken: int) -> str:
        """Empty while there is no figure, and while more cases are broken than not, as at the end."""
        if not self._ended or broken > self._ended:
            return ""
        below = (self._formula.rests_on or {}).get(self._name)
        if below is not None and self._groups and self._known.isdisjoint(below):
            return f"{self.title} {AT_THE_END}"  # over groups, of which a part has ended
        value = self._formula.compute(self._sums).get(self._name)
        left_out = f", {broken} broken left out" if broken else ""
        return "" if value is None else f"{self.title} {value:.1f} (n {self._samples}{left_out})"

    def _sum(self, values: Values, times: int) -> None:
        for name, value in values.items():
            self._sums[name] += times * value
