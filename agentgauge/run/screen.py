"""The terminal while cases run, or what stands in its place: lines of text, and below them a few that are drawn again
and again."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

Write = Callable[[str], object]

PLAIN_SECONDS = 10.0
"""Seconds between two lines about what goes on, where none can be drawn over."""

_REST_OF_LINE, _REST_OF_SCREEN = "\x1b[K", "\x1b[J"
"""Erase what is to the right of the cursor, and that with all below it."""

DISPENSABLE = ("tokens", "tokens/s")
"""The last words of parts that a narrow terminal does without, before parts at the end of the line are cut."""


class Screen:
    """Any thread may use it."""

    def __init__(self, write: Write, *, is_live: bool, file: int | None = None) -> None:
        """``write`` puts text on the screen as it is. ``is_live``: on a terminal, whose last lines can be drawn over.
        ``file``: its descriptor."""
        self.is_live = is_live and os.environ.get("TERM") != "dumb"
        self._write = write
        self._file = file
        self._height = 0  # lines that are drawn on the terminal; the cursor is in the last one
        self._has_ended = False
        self._lock = threading.Lock()

    def draw(self, lines: Sequence[str], *, last: bool = False) -> None:
        """Show lines of parts (`` · ``): over those before on a terminal, elsewhere as one line. ``last``: nothing is
        shown after them."""
        with self._lock, suppress(OSError):  # nothing reads the screen any more
            self._has_ended = last
            if not self.is_live:
                self._write(f"{' · '.join(lines)}\n")
                return
            width = columns(self._file)
            drawn = "\n".join(f"{fitted(line, width)}{_REST_OF_LINE}" for line in lines)
            self._write(self._to_begin() + drawn + _REST_OF_SCREEN + "\n" * last)
            self._height = 0 if last else len(lines)

    def write_line(self, line: str) -> None:
        """Show a line that stays, unless the last one has been drawn."""
        with self._lock:
            if not self._has_ended:
                self._clear()
                self._write(f"{line}\n")

    def make_room(self) -> None:
        """Remove what is drawn, for other text."""
        with self._lock:
            self._clear()

    def settle(self) -> None:
        """Leave what is drawn, and draw over nothing from now on: others write on the screen, too."""
        with self._lock:
            if self._height:
                self._write("\n")
            self._height, self.is_live = 0, False

    def _clear(self) -> None:
        if self._height:
            self._write(self._to_begin() + _REST_OF_SCREEN)
            self._height = 0

    def _to_begin(self) -> str:
        return "\r" + (f"\x1b[{self._height - 1}A" if self._height > 1 else "")


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
