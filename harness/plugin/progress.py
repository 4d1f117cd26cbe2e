"""Live progress: one line that is redrawn on a terminal, plain lines now and then elsewhere."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable

from harness.types import Usage

REDRAW_SECONDS = 0.1
PLAIN_SECONDS = 10.0


class Progress:
    """Counts finished cases and says how far the run is.

    ``write`` puts text on the screen as it is; ``live`` is True on a terminal. Without ``write`` nothing is shown.
    """

    def __init__(self, write: Callable[[str], object] | None, *, live: bool, total: int) -> None:
        self.total = total
        self.usage = Usage()
        self.counts: Counter[str] = Counter()
        self._write = write
        self._live = live
        self._begin = self._drawn = time.monotonic()
        self._shown = 0

    def add(self, status: str, tokens: int, usd: float) -> None:
        self.counts[status] += 1
        self.usage += Usage(prompt_tokens=tokens, usd=usd)
        now = time.monotonic()
        if self._write and now - self._drawn >= (REDRAW_SECONDS if self._live else PLAIN_SECONDS):
            self._drawn = now
            self._draw(self._write)

    def finish(self) -> None:
        """Leave the last state on the screen."""
        if self._write and self.done:
            self._draw(self._write)
            if self._live:
                self._write("\n")

    @property
    def done(self) -> int:
        return self.counts.total()

    def line(self) -> str:
        seconds = time.monotonic() - self._begin
        left = seconds / self.done * (self.total - self.done) if self.done else 0.0
        tokens = self.usage.prompt_tokens
        cost = f" · ${self.usage.usd:.2f}" if self.usage.usd else ""
        return (
            f"{self.done}/{self.total} · passed {self.counts['passed']} · wrong {self.counts['wrong']} · broken {self.counts['broken']}"
            f" · {short_count(tokens)} tokens{cost} · {short_time(left)} left"
        )

    def _draw(self, write: Callable[[str], object]) -> None:
        line = self.line()
        if self._live:
            line = line[: shutil.get_terminal_size().columns - 1]  # a line that wraps could not be drawn over
            write("\r" + line.ljust(self._shown))
            self._shown = len(line)
        else:
            write(f"{line}\n")


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
