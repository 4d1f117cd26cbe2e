"""Ctrl-C and SIGTERM: the first ends the run, and further ones do not disturb its end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

MESSAGE = b"\nagentgauge: the run is ending, and its results are being written (kill -9 ends it at once)\n"


class Interrupts:
    """The first signal raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.is_ending = False  # signals have no effect any more
        self._received = False

    def handle(self, *numbers: int, add_cleanup: Callable[[Callable[[], None]], None]) -> None:
        """From now on; the earlier handlers come back by what is given to ``add_cleanup``. Where a signal has ended the
        run, the process ignores them until it exits."""
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
