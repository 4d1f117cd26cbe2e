"""The progress of a run, read from its folder while it runs."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import clipped, one_line
from agentgauge.core.types import Status
from agentgauge.run.figures_so_far import FiguresSoFar
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId, Line
from agentgauge.store.records import RecordTail, worker_files

FOREVER = 1e9
"""Seconds."""

FEWEST_CASES = 5
"""Finished cases below which there is no estimate."""

FAILURES = 20
"""Wrong and broken cases that are shown, the latest first."""

RATE_SECONDS = 60.0
"""Cases that ended in the last so many seconds make the rate; fewer seconds if the run has just begun."""

WORDS = 300
"""Characters of an explanation that are shown."""


class LiveRun:
    """The state of a running run. ``read`` reads the new records in its folder, and does not affect the run."""

    def __init__(self, path: Path, figures: FiguresSoFar | None = None) -> None:
        """``figures`` are kept up to date."""
        self._folder = RunFolder(path)
        self._figures = figures
        self._tail = RecordTail()
        self._finished: set[int] = set()  # hashes of cases, which take a fifth of their memory
        self._broken: dict[CaseId, Line] = {}
        self._unfinished: dict[CaseId, Line] = {}  # in an earlier session: the next record has their usage, too
        self._recent: deque[float] = deque()  # when the cases of the last RATE_SECONDS ended
        self._planned: Counter[str] = Counter()
        self._time_left: TimeLeft | None = None
        self._started = 0.0
        self._failures: list[tuple[float, dict[str, Any]]] = []  # the latest first, with the times of their ends
        # sums over all cases, because the state is asked for several times a second
        self._counts: Counter[tuple[str, Status]] = Counter()
        self._tokens, self._usd = 0, 0.0

    def read(self, started: float) -> None:
        """Read new records. ``started``: seconds since the epoch; what ended before is of an earlier run."""
        if self._time_left is None:
            try:
                self._planned = Counter(task for task, _, _ in self._folder.plan())
            except UsageProblem:  # its workers still collect
                return
            self._time_left = TimeLeft(self._planned)
        self._started = started
        path = self._folder.path
        workers = [] if (path / "records").is_symlink() else worker_files(path)
        files = [file for file in (path / "records.jsonl", *workers) if file.is_file() and not file.is_symlink()]
        new = self._tail.new(files)
        for line, case, why, score in map(_parsed, new):  # not in the order of their ends: all at once take much memory
            is_new, earlier = line.at >= started, self._broken.get(case)
            if hash(case) in self._finished or (earlier and line.rank < earlier.rank):
                continue
            if before := self._unfinished.pop(case, None):
                self._pay(before, -1)
            if not (is_new or line.finished):  # in an earlier session: it runs again
                if line.status == "missing":
                    self._unfinished[case] = line
                    self._pay(line, 1)
                continue
            self._add(case[0], line, 1)
            self._recent.append(line.at)
            if earlier:
                self._add(case[0], self._broken.pop(case), -1)
                with suppress(ValueError):
                    self._recent.remove(earlier.at)
            else:
                self._time_left.add(case[0], line.seconds if is_new else None, line.at)
            if line.finished:
                self._finished.add(hash(case))
                if self._figures and score:
                    self._figures.add(case[0], score)
            else:
                self._broken[case] = line
            if line.status != "passed" and is_new:
                self._failures.append((line.at, {"case": list(case), "status": line.status, "why": why}))
                self._failures.sort(key=lambda failure: -failure[0])
                del self._failures[FAILURES:]

    def _add(self, task: str, line: Line, times: int) -> None:
        self._counts[task, line.status] += times
        self._pay(line, times)

    def _pay(self, line: Line, times: int) -> None:
        self._tokens += times * line.tokens
        self._usd += times * line.usd

    def state(self, now: float | None = None) -> dict[str, Any]:
        """The state for the page, as JSON. ``left``: seconds, None while unknown. ``per_minute``: cases."""
        now = time.time() if now is None else now
        statuses: tuple[Status, ...] = ("passed", "wrong", "broken")
        span = min(RATE_SECONDS, max(1.0, now - self._started))
        while self._recent and self._recent[0] <= now - RATE_SECONDS:
            self._recent.popleft()
        return {
            "planned": self._planned.total(),
            "counts": {status: sum(self._counts[task, status] for task in self._planned) for status in statuses},
            "tasks": [
                {"name": task, "planned": planned, **{status: self._counts[task, status] for status in statuses}}
                for task, planned in self._planned.items()
            ],
            "tokens": self._tokens,
            "usd": round(max(0.0, self._usd), 6),
            "per_minute": sum(at > now - span for at in self._recent) * 60 / span,
            "left": self._left(now),
            "failures": [shown for _, shown in self._failures],
        }

    def _left(self, now: float) -> float | None:
        """Seconds; None while unknown, and for what no clock shows."""
        left = self._time_left.estimate(now) if self._time_left else None
        return left if left is not None and left < FOREVER else None


def _parsed(found: tuple[dict[str, Any], Path, int, int]) -> tuple[Line, CaseId, str, dict[str, Any] | None]:
    """Where a record is, its case, why it did not pass, in one line, and its score. ``found``: of RecordTail.new."""
    record, file, start, size = found
    why = record["score"]["explanation"] if record["score"] else record["error"] or ""
    case = (record["task"], record["sample"], record["attempt"])
    return Line.of(record, file, start, size), case, clipped(one_line(why[: 4 * WORDS]), WORDS), record["score"]


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
        self._first = min(self._first or (now, seconds), (now, seconds))

    def estimate(self, now: float) -> float | None:
        """Seconds until the last case ends; None while too little is known: also where no case has ended of the tasks
        of most cases that are left, which may take ten times as long."""
        total, count = sum(self._seconds.values()), self._finished.total()
        left = +self._left  # no task below zero: a case may run twice
        if not left:
            return 0.0
        if self._first is None or count < FEWEST_CASES or now <= self._first[0] or total <= self._first[1]:
            return None
        if 2 * sum(cases for task, cases in left.items() if not self._finished[task]) > left.total():
            return None
        means = {task: seconds / self._finished[task] for task, seconds in self._seconds.items()}
        work = sum(cases * means.get(task, total / count) for task, cases in left.items())
        return work * (now - self._first[0]) / (total - self._first[1])
