"""What the launcher shows while runs go on: one line for each, redrawn on a terminal, plain lines now and then
elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TextIO

from agentgauge.core.text import clean
from agentgauge.run.screen import PLAIN_SECONDS, fitted

LIVE_SECONDS = 0.5


class Screen:
    """Lines on ``stream``, which are drawn over one another where it is a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_live = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = time.monotonic()
        self._height = 0  # lines that the next drawing replaces

    @property
    def is_late(self) -> bool:
        """Whether the lines should be drawn again."""
        return time.monotonic() - self._drawn >= (LIVE_SECONDS if self.is_live else PLAIN_SECONDS)

    def draw(self, lines: Sequence[str]) -> None:
        self._drawn = time.monotonic()
        self._erase()
        self._write([fitted(line) if self.is_live else line for line in lines])
        self._height = len(lines)

    def write_line(self, line: str) -> None:
        """A line that stays."""
        self._erase()
        self._write([line])

    def _erase(self) -> None:
        if self.is_live and self._height:
            self._stream.write(f"\x1b[{self._height}F\x1b[J")
        self._height = 0

    def _write(self, lines: Sequence[str]) -> None:
        self._stream.write("".join(f"{clean(line)}\n" for line in lines))
        self._stream.flush()
