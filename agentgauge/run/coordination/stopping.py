"""How a run is stopped: by signals, and by a file that stops every worker."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

MESSAGE = b"\nagentgauge: the run is ending, and its results are being written (kill -9 ends it at once)\n"

FILE = "stop"
"""In the run folder; holds the reason."""

STALE_SECONDS = 0.005
"""How long a worker reuses the result of its last check."""


class Interrupts:
    """Ctrl-C and SIGTERM: the first raises KeyboardInterrupt, and further ones do not disturb the end of the run."""

    def __init__(self) -> None:
        self.is_ending = False  # signals have no effect any more
        self._received = False

    def handle(self, *numbers: int, add_cleanup: Callable[[Callable[[], None]], None]) -> None:
        """Handle signals from now on. ``add_cleanup`` gets a function that restores the earlier handlers. If a signal
        has ended the run, the process ignores further signals until it exits."""
        if threading.current_thread() is threading.main_thread():
            for number in numbers:
                add_cleanup(partial(self._restore, number, signal.signal(number, self._handle)))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._received = True
        if self.is_ending:
            os.write(2, MESSAGE)
        else:
            self.is_ending = True
            raise KeyboardInterrupt

    def _restore(self, number: int, handler: Any) -> None:
        signal.signal(number, signal.SIG_IGN if self._received else handler)


class StopFile:
    """A file that stops all workers. Two threads look for it at every start and every end of a case."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._exists = False
        self._looked = 0.0  # time.monotonic()

    def write(self, reason: str) -> None:
        """Raises OSError where the disk is full."""
        self._path.write_text(reason, encoding="utf-8")

    def exists(self) -> bool:
        now = time.monotonic()
        if not self._exists and now - self._looked > STALE_SECONDS:
            self._looked = now
            self._exists = self._path.exists()
        return self._exists

    def reason(self) -> str:
        return self._path.read_text(encoding="utf-8")
