"""The progress of a run, as its records say: one line that is redrawn on a terminal, plain lines now and then
elsewhere; and the time left."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from agentgauge.run.coordination.stopping import FILE as STOP
from agentgauge.run.coordination.waiting_requests import OLD, Waiting, waiting_requests
from agentgauge.run.hooks import ask_installed

Write = Callable[[str], object]

LIVE_SECONDS = 1.0
PLAIN_SECONDS = 10.0
RATE_SECONDS = 60.0
"""Tokens of the last so many seconds make the rate."""

FEWEST_CASES = 5
"""Finished cases below which there is no estimate."""

STATUSES = ("passed", "wrong", "broken")

DISPENSABLE = ("tokens", "tokens/s")
"""The last words of parts that a narrow terminal does without, before parts at the end of the line are cut."""


class Live(Protocol):
    """The state of a run, read from its folder: agentgauge_reports.view.live.LiveRun."""

    def read(self, started: float) -> None: ...

    def state(self) -> dict[str, Any]: ...


class RunLine:
    """The line about a run that goes on."""

    def __init__(self, folder: Path, live: Live) -> None:
        self._folder = folder
        self._live = live
        self._rate = Rate(time.monotonic())

    def text(self, tasks: Mapping[str, int] | None = None, *, ended: bool = False) -> str:
        """``tasks``: task → planned cases of those that count (default: all). ``ended``: nothing runs any more."""
        state = self._live.state()
        counted = [task for task in state["tasks"] if tasks is None or task["name"] in tasks]
        planned = sum(task["planned"] for task in counted) if tasks is None else sum(tasks.values())
        if not planned:
            return "starts"
        counts = {status: sum(task[status] for task in counted) for status in STATUSES}
        waiting = Waiting() if ended else waiting_requests(self._folder)
        left = None if ended or (self._folder / STOP).exists() else state["left"]  # of a run that stops: not known
        speed = 0 if ended else self._rate.per_second(waiting.tokens, time.monotonic())
        parts = [
            f"{sum(counts.values())}/{planned}{waiting.outages}",
            f"{waiting.running} {'request' if waiting.running == 1 else 'requests'} running" if waiting.running else "",
            f"{short_count(round(speed))} tokens/s" if speed >= 0.5 else "",
            late_requests(waiting.late),
            *([] if ended else self._said()),
            *(f"{status} {count}" for status, count in counts.items()),
            f"{short_count(state['tokens'])} tokens",
            f"${state['usd']:.2f}" if state["usd"] else "",
            f"{short_time(left)} left" if left else "",
        ]
        return " · ".join(filter(None, parts))

    def _said(self) -> list[str]:
        """What plugins say, which only look on."""
        try:
            return ask_installed("pytest_agentgauge_progress", folder=self._folder)
        except Exception:
            return []


class Progress:
    """Shows the line of a run, from a thread of its own: on a terminal every second, elsewhere every ten.

    ``write`` puts text on the screen as it is, in any thread; without it nothing is shown. ``live`` is True on a
    terminal. ``screen``: its file descriptor. ``planned``: task → its cases. ``started``: seconds since the epoch.
    ``patient``: a line that says nothing new is not shown.
    """

    def __init__(
        self,
        write: Write | None,
        *,
        live: bool,
        screen: int | None = None,
        planned: Mapping[str, int],
        folder: Path,
        run: Live,
        started: float,
        patient: bool = False,
    ) -> None:
        self._write = write
        self._live = live
        self._screen = screen
        self._planned = planned
        self._run = run
        self._line = RunLine(folder, run)
        self._started = started
        self._patient = patient
        self._shown = 0  # characters of the line on the terminal
        self._last = ""  # the latest line elsewhere
        self._drawing = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="agentgauge-progress", daemon=True)
        if write:
            self._thread.start()

    def finish(self) -> None:
        """Show the counts of all records. Called when the workers have ended; a second call changes nothing."""
        if self._write is None or self._ended.is_set():
            return
        self._ended.set()
        self._thread.join()
        self._run.read(self._started)
        self._draw(ended=True)
        del self._run, self._line  # which hold each case, and the summary will, too

    def make_room(self) -> None:
        """Remove the line from the terminal, for other text."""
        with self._drawing:
            self._clear()

    def write_line(self, line: str) -> None:
        """Show a line of text, unless the last line has been shown. Called in any thread."""
        with self._drawing:
            if self._write and not self._ended.is_set():
                self._clear()
                self._write(f"{line}\n")

    def _clear(self) -> None:
        if self._write and self._shown:
            self._write(f"\r{' ' * self._shown}\r")
            self._shown = 0

    def _watch(self) -> None:
        drawn = time.monotonic()
        while not self._ended.wait(min(LIVE_SECONDS, PLAIN_SECONDS)):
            self._run.read(self._started)  # often, so that few records are in memory at once
            if self._live or time.monotonic() - drawn >= PLAIN_SECONDS:
                drawn = time.monotonic()
                self._draw()

    def _draw(self, *, ended: bool = False) -> None:
        assert self._write is not None
        with self._drawing, suppress(OSError):  # nothing reads the screen any more
            line = self._line.text(self._planned, ended=ended)
            if self._live:
                line = fitted(line, columns(self._screen))
                self._write("\r" + line.ljust(self._shown) + "\n" * ended)
                self._shown = 0 if ended else len(line)
            elif ended or line != self._last or not self._patient:
                self._write(f"{line}\n")
                self._last = line


class Rate:
    """How fast a count grows, of the latest seconds."""

    def __init__(self, now: float) -> None:
        self._seen: deque[tuple[float, int]] = deque([(now, 0)])

    def per_second(self, count: int, now: float) -> float:
        self._seen.append((now, count))
        while now - self._seen[0][0] > RATE_SECONDS:
            self._seen.popleft()
        then, before = self._seen[0]
        return max(0, count - before) / max(now - then, 1e-9)


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
        """Seconds until the last case ends; None while too little is known."""
        total, count = sum(self._seconds.values()), self._finished.total()
        left = +self._left  # no task below zero: a case may run twice
        if not left:
            return 0.0
        if self._first is None or count < FEWEST_CASES or now <= self._first[0] or total <= self._first[1]:
            return None
        means = {task: seconds / self._finished[task] for task, seconds in self._seconds.items()}
        work = sum(cases * means.get(task, total / count) for task, cases in left.items())
        return work * (now - self._first[0]) / (total - self._first[1])


def columns(screen: int | None = None) -> int:
    """The width of a terminal: COLUMNS, or that of a file descriptor, because pytest captures standard output while
    tests run."""
    if screen is not None and not os.environ.get("COLUMNS"):
        with suppress(OSError):
            if known := os.get_terminal_size(screen).columns:
                return known
    return shutil.get_terminal_size().columns


def fitted(line: str, width: int | None = None) -> str:
    """The parts of a line that fit the terminal: one that wraps could not be drawn over."""
    room = (width or columns()) - 1
    for words in DISPENSABLE:
        if len(line) > room:
            line = " · ".join(part for part in line.split(" · ") if not part.endswith(f" {words}"))
    return line if len(line) <= room else line[: room + 3].rpartition(" · ")[0] or line[:room]


def late_requests(count: int) -> str:
    """``3 requests wait for more than 2 min``; nothing where none do."""
    if not count:
        return ""
    return f"{count} {'request waits' if count == 1 else 'requests wait'} for more than {OLD / 60:g} min"


def short_count(number: int) -> str:
    """1234567 → ``1.2M``."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f}{letter}"
    return str(number)


def short_time(seconds: float) -> str:
    """3725 → ``1h02``, 125 → ``2m05``, 9.3 → ``9s``."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02}"
    return f"{whole // 60}m{whole % 60:02}" if whole >= 60 else f"{whole}s"
