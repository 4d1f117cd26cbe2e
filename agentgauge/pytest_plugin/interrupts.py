"""Ctrl-C and SIGTERM: the first ends the run, and further ones do not disturb the end."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial
from types import FrameType
from typing import Any

import pytest

MESSAGE = b"\nagentgauge: the run is ending, and its results are being written\n"


class Interrupts:
    """The first signal raises KeyboardInterrupt."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.is_ending = False  # signals have no effect any more

    def handle(self, *numbers: int) -> None:
        """Until pytest ends. Only the main thread can."""
        if threading.current_thread() is threading.main_thread():
            for number in numbers:
                self._config.add_cleanup(partial(_restore, number, signal.signal(number, self._handle)))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.is_ending:
            os.write(2, MESSAGE)
        else:
            self.is_ending = True
            raise KeyboardInterrupt


def _restore(number: int, handler: Any) -> None:
    signal.signal(number, handler)
