"""Live progress: one line that is redrawn on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping

from agentgauge.core.types import Usage
from agentgauge.run.time_left import TimeLeft
from agentgauge.run.waiting_requests import OLD

Write = Callable[[str], object]

REDRAW_SECONDS = 0.1
PLAIN_SECONDS = 10.0


class Progress:
    """Counts finished cases and says how far the run is.

    ``write`` puts text on the screen as it is; ``live`` is True on a terminal. Without ``write`` nothing is shown.
    ``planned``: task → its cases. ``waiting`` returns how many requests have waited long for an answer.
    """

    def __init__(
        self,
        write: Write | None,
        *,
        live: bool,
        planned: Mapping[str, int],
        waiting: Callable[[], int] = lambda: 0,
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
        """Whether ``draw`` is to be called though no case has ended: the line is PLAIN_SECONDS old, and requests have
        waited long."""
        now = time.monotonic()
        if self._write is None or now - max(self._drawn, self._looked) < PLAIN_SECONDS:
            return False
        self._looked = now
        return self._waiting() > 0

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
        cost = f" · ${self.usage.usd:.2f}" if self.usage.usd else ""
        return (
            f"{self.done}/{self.total}{late_requests(self._waiting())}"
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
                line = line[: shutil.get_terminal_size().columns - 1]  # a line that wraps could not be drawn over
                self._write("\r" + line.ljust(self._shown))
                self._shown = len(line)
            else:
                self._write(f"{line}\n")


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
