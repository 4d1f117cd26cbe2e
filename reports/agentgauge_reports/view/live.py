"""The progress of a run, read from its folder while it runs."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Status
from agentgauge.run.progress import TimeLeft
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import UNREADABLE, CaseId, Line
from agentgauge.store.record_merge import worker_files
from agentgauge.store.record_tail import RecordTail
from agentgauge_reports.page.one_line import one_line

FAILURES = 20
"""Wrong and broken cases that are shown, the latest first."""

RATE_SECONDS = 60.0
"""Cases that ended in so many seconds make the rate."""

WORDS = 300
"""Characters of an explanation that are shown."""


class LiveRun:
    """The state of a running run. ``read`` reads the new records in its folder; the run itself does not notice."""

    def __init__(self, path: Path) -> None:
        self._folder = RunFolder(path)
        self._tail = RecordTail()
        self._lines: dict[CaseId, Line] = {}
        self._planned: Counter[str] = Counter()
        self._time_left: TimeLeft | None = None
        self._failures: deque[dict[str, Any]] = deque(maxlen=FAILURES)

    def read(self, started: float) -> None:
        """Read new records. ``started``: seconds since the epoch; what ended before is of an earlier run."""
        if self._time_left is None:
            try:
                self._planned = Counter(task for task, _, _ in self._folder.plan())
            except UsageProblem:  # its workers still collect
                return
            self._time_left = TimeLeft(self._planned)
        path = self._folder.path
        files = [
            file for file in (path / "records.jsonl", *worker_files(path)) if file.is_file() and not file.is_symlink()
        ]
        new = self._tail.new(files)
        for line, case, why in sorted(_readable(new), key=lambda found: found[0].at):
            is_new, earlier = line.at >= started, self._lines.get(case)
            if not (is_new or line.finished):
                continue  # broken in an earlier run: it runs again
            if earlier is None or line.rank >= earlier.rank:
                self._lines[case] = line
            if earlier is None:
                self._time_left.add(case[0], line.seconds if is_new else None, line.at)
            if line.status != "passed" and is_new:
                self._failures.appendleft({"case": list(case), "status": line.status, "why": why})

    def state(self, now: float | None = None) -> dict[str, Any]:
        """What the page shows of it, as JSON. ``left``: seconds, None while unknown. ``per_minute``: cases."""
        now = time.time() if now is None else now
        counts = Counter((case[0], line.status) for case, line in self._lines.items())
        statuses: tuple[Status, ...] = ("passed", "wrong", "broken")
        recent = [line for line in self._lines.values() if line.at > now - RATE_SECONDS]
        return {
            "planned": self._planned.total(),
            "counts": {status: sum(counts[task, status] for task in self._planned) for status in statuses},
            "tasks": [
                {"name": task, "planned": planned, **{status: counts[task, status] for status in statuses}}
                for task, planned in self._planned.items()
            ],
            "tokens": sum(line.tokens for line in self._lines.values()),
            "usd": round(sum(line.usd for line in self._lines.values()), 6),
            "per_minute": len(recent) * 60 / RATE_SECONDS,
            "left": self._time_left.estimate(now) if self._time_left else None,
            "failures": list(self._failures),
        }


def _readable(found: Iterable[tuple[dict[str, Any], Path, int, int]]) -> Iterator[tuple[Line, CaseId, str]]:
    """Where each record is, its case, and why it did not pass, in one line. A damaged record is passed over: the
    end of the run reports it."""
    for record, file, start, size in found:
        try:
            line = Line.of(record, file, start, size)
            case = (str(record["task"]), record["sample"], record["attempt"])
            if not all(math.isfinite(number) for number in (line.at, line.tokens, line.usd, line.seconds)):
                continue
            why = str((record["score"] or {}).get("explanation") or record["error"] or "")
        except UNREADABLE:
            continue
        yield line, case, one_line(why[: 4 * WORDS])[:WORDS]
