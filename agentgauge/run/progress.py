"""Live progress: one line that is redrawn on a terminal, plain lines now and then elsewhere; and the time left."""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from agentgauge.core.types import Usage
from agentgauge.model.batch.counts import NONE
from agentgauge.run.coordination.waiting_requests import OLD, Waiting

Write = Callable[[str], object]

REDRAW_SECONDS = 0.1
PLAIN_SECONDS = 10.0

FEWEST_CASES = 5
"""Finished cases below which there is no estimate."""


class Progress:
    """Counts finished cases and shows the progress of the run.

    ``write`` puts text on the screen as it is; ``live`` is True on a terminal. Without ``write`` nothing is shown.
    ``planned``: task → its cases. ``waiting`` returns how many requests have waited long for an answer, and where those
    of batches are.
    """

    def __init__(
        self,
        write: Write | None,
        *,
        live: bool,
        planned: Mapping[str, int],
        waiting: Callable[[], Waiting] = Waiting,
    ) -> None:
        self.total = sum(planned.values())
        self.usage = Usage()
        self.counts: Counter[str] = Counter()
        self._write = write
        self._live = live
        self._waiting = waiting
        self._time_left = TimeLeft(planned)
        self._drawn = self._looked = time.monotonic()
        self._shown = 0
        self._batched = NONE
        self._drawing = threading.Lock()
        self._ended = threading.Event()

    def add(self, status: str, task: str, seconds: float | None, used: Usage) -> None:
        """Count a case. ``seconds``: None where an earlier run has finished it."""
        now = time.monotonic()
        self.counts[status] += 1
        self.usage += used
        self._time_left.add(task, seconds, now)
        if now - self._drawn >= (REDRAW_SECONDS if self._live else PLAIN_SECONDS):
            self.draw()

    def finish(self) -> None:
        self._ended.set()
        if self._write and self.done:
            self.draw()
            if self._live:
                self._write("\n")

    def is_late(self) -> bool:
        """Whether ``draw`` is due though no case has ended: the line is PLAIN_SECONDS old, and requests have waited
        long, wait for an endpoint that is away, or have been moved to another batch."""
        now = time.monotonic()
        if self._write is None or now - max(self._drawn, self._looked) < PLAIN_SECONDS:
            return False
        self._looked = now
        late, batched, outages = self._waiting()
        is_news, self._batched = batched != self._batched, batched  # a batch may take hours
        return late > 0 or is_news or bool(outages)

    def watch(self) -> None:
        """Call ``draw`` from a thread whenever it is due, until ``finish``. Only where pytest captures no output."""
        threading.Thread(target=self._watch, name="agentgauge-progress", daemon=True).start()

    @property
    def done(self) -> int:
        return self.counts.total()

    def line(self) -> str:
        left = self._time_left.estimate(time.monotonic())
        about = f" · {short_time(left)} left" if left else ""
        tokens = self.usage.prompt_tokens + self.usage.completion_tokens
        waiting = self._waiting()
        cost = f" · ${self.usage.usd:.2f}" if self.usage.usd else ""
        return (
            f"{self.done}/{self.total}{waiting.outages}{late_requests(waiting.late)}{waiting.batched}"
            f" · passed {self.counts['passed']} · wrong {self.counts['wrong']} · broken {self.counts['broken']}"
            f" · {short_count(tokens)} tokens{cost}{about}"
        )

    def _watch(self) -> None:
        while not self._ended.wait(PLAIN_SECONDS / 2):
            if self.is_late():
                self.draw()

    def draw(self) -> None:
        if self._write is None:
            return
        with self._drawing:
            self._drawn = time.monotonic()
            line = self.line()
            if self._live:
                line = fitted(line)
                self._write("\r" + line.ljust(self._shown))
                self._shown = len(line)
            else:
                self._write(f"{line}\n")


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
        if self._first is None or count < FEWEST_CASES or now <= self._first[0] or total <= self._first[1]:
            return None
        means = {task: seconds / self._finished[task] for task, seconds in self._seconds.items()}
        work = sum(cases * means.get(task, total / count) for task, cases in left.items())
        return work * (now - self._first[0]) / (total - self._first[1])


def fitted(line: str) -> str:
    """The parts of a line that fit the terminal: one that wraps could not be drawn over."""
    width = shutil.get_terminal_size().columns - 1
    return line if len(line) <= width else line[: width + 3].rpartition(" · ")[0] or line[:width]


def late_requests(count: int) -> str:
    """`` · 3 requests wait for more than 2 min``; nothing where none do."""
    if not count:
        return ""
    return f" · {count} {'request waits' if count == 1 else 'requests wait'} for more than {OLD / 60:g} min"


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
