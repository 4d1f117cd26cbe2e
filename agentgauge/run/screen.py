"""The terminal while cases run, or what stands in its place: lines of text, and below them one that is drawn again and
again."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress

Write = Callable[[str], object]

PLAIN_SECONDS = 10.0
"""Seconds between two lines about what goes on, where none can be drawn over."""

DISPENSABLE = ("tokens", "tokens/s")
"""The last words of parts that a narrow terminal does without, before parts at the end of the line are cut."""


class Screen:
    """Any thread may use it."""

    def __init__(self, write: Write, *, is_live: bool, file: int | None = None) -> None:
        """``write`` puts text on the screen as it is. ``is_live``: on a terminal, whose last line can be drawn over.
        ``file``: its descriptor."""
        self.is_live = is_live
        self._write = write
        self._file = file
        self._drawn = 0  # characters of the line on the terminal
        self._has_ended = False
        self._lock = threading.Lock()

    def draw(self, line: str, *, last: bool = False) -> None:
        """Show a line of parts (`` · ``), over the one before on a terminal. ``last``: nothing is shown after it."""
        with self._lock, suppress(OSError):  # nothing reads the screen any more
            self._has_ended = last
            if self.is_live:
                line = fitted(line, columns(self._file))
                self._write("\r" + line.ljust(self._drawn) + "\n" * last)
                self._drawn = 0 if last else len(line)
            else:
                self._write(f"{line}\n")

    def write_line(self, line: str) -> None:
        """Show a line that stays, unless the last one has been drawn."""
        with self._lock:
            if not self._has_ended:
                self._clear()
                self._write(f"{line}\n")

    def make_room(self) -> None:
        """Remove the line that is drawn, for other text."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._drawn:
            self._write(f"\r{' ' * self._drawn}\r")
            self._drawn = 0


def columns(file: int | None = None) -> int:
    """The width of a terminal: COLUMNS, or that of a file descriptor, because pytest captures standard output while
    tests run."""
    if file is not None and not os.environ.get("COLUMNS"):
        with suppress(OSError):
            if known := os.get_terminal_size(file).columns:
                return known
    return shutil.get_terminal_size().columns


def fitted(line: str, width: int | None = None) -> str:
    """The parts of a line that fit the terminal: one that wraps could not be drawn over."""
    room = (width or columns()) - 1
    for words in DISPENSABLE:
        if len(line) > room:
            line = " · ".join(part for part in line.split(" · ") if not part.endswith(f" {words}"))
    return line if len(line) <= room else line[: room + 3].rpartition(" · ")[0] or line[:room]
