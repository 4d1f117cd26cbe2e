"""The progress of a download: a bar on a terminal, elsewhere a line every 15 seconds."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

_EVERY = 15.0
"""Seconds between lines where there is no terminal."""


def size(count: float) -> str:
    """``1.2 GB``, in powers of 1000 as publishers count."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


class Progress:
    def __init__(self, title: str, total: int | None, stream: TextIO | None = None) -> None:
        self.title, self.total, self.done = title, total, 0
        self._stream = stream or sys.stderr
        self._printed = time.monotonic()
        self._bar: Any = None
        if self._stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, desc=title, unit="B", unit_scale=True, file=self._stream, leave=False)

    def found(self, count: int) -> None:
        """Bytes that an earlier process downloaded; negative: they were discarded."""
        self.done += count
        if self._bar is not None:
            self._bar.initial += count
            self._bar.update(count)

    def add(self, count: int) -> None:
        self.done += count
        if self._bar is not None:
            self._bar.update(count)
        elif time.monotonic() - self._printed >= _EVERY:
            self._printed = time.monotonic()
            share = f" of {size(self.total)} ({self.done / self.total:.0%})" if self.total else ""
            print(f"{self.title}: {size(self.done)}{share}", file=self._stream, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
