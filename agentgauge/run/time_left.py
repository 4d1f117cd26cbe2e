"""How long the remaining cases of a run will take, learnt task by task."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

FEWEST = 5
"""Finished cases below which there is no estimate."""


class TimeLeft:
    """Weighs each remaining case by the mean seconds of its task's finished cases.

    A task without a finished case has the mean of all. Cases run concurrently: the weights are divided by the work that
    has been finished each second since the first case ended, because the time before that is start-up.
    """

    def __init__(self, planned: Mapping[str, int]) -> None:
        """``planned``: task → how many of its cases are to be run."""
        self._left = Counter(planned)
        self._seconds: defaultdict[str, float] = defaultdict(float)  # task → sum over its finished cases
        self._finished: Counter[str] = Counter()
        self._first: tuple[float, float] | None = None  # when the first case ended, and its seconds

    def add(self, task: str, seconds: float | None, now: float) -> None:
        """Count a case that has ended. ``seconds``: None for a case that an earlier run has finished."""
        self._left[task] -= 1
        if seconds is None:
            return
        self._seconds[task] += seconds
        self._finished[task] += 1
        self._first = self._first or (now, seconds)

    def estimate(self, now: float) -> float | None:
        """Seconds until the last case ends; None while too little is known."""
        total, count = sum(self._seconds.values()), self._finished.total()
        left = +self._left  # no task below zero: a case may run twice
        if not left:
            return 0.0
        if self._first is None or count < FEWEST or now <= self._first[0] or total <= self._first[1]:
            return None
        means = {task: seconds / self._finished[task] for task, seconds in self._seconds.items()}
        work = sum(cases * means.get(task, total / count) for task, cases in left.items())
        return work * (now - self._first[0]) / (total - self._first[1])
