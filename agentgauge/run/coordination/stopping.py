"""How a run is stopped: by signals, and by a file that stops every worker."""

from __future__ import annotations

import os
import signal
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from agentgauge.core.files import write_whole

MESSAGE = b"\nagentgauge: the run is ending and writes its results; kill -9 ends it at once\n"

FILE = "stop"
"""In the run folder; holds the reason."""

RUNNING = "stopping"
"""In the run folder, while a run that was stopped waits for requests."""

AWAIT = "await"

LONGEST_WAIT = 600.0
"""Seconds that a run which stops waits for requests that endpoints work on, and for cases that need no further one:
as long as a request may take by default."""

_WORK = struct.Struct("<2i")

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
                add_cleanup(partial(self.restore, number, signal.signal(number, self._handle)))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._received = True
        if self.is_ending:
            os.write(2, MESSAGE)
        else:
            self.is_ending = True
            raise KeyboardInterrupt

    def restore(self, number: int, handler: Any) -> None:
        """Handle a signal by ``handler`` again, or ignore it: see ``handle``."""
        signal.signal(number, signal.SIG_IGN if self._received else handler)


class StopFile:
    """A file that stops all workers. Two threads look for it at every start and every end of a case.

    Its first line is the reason. With a second line, AWAIT, requests that endpoints work on are awaited; otherwise
    running cases are abandoned.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._exists = False
        self._looked = 0.0  # time.monotonic()

    def write(self, reason: str, *, awaits: bool = False) -> None:
        """``awaits``: see above. Raises OSError where the disk is full."""
        write_whole(self._path, (f"{reason}\n{AWAIT}" if awaits else reason).encode())

    def exists(self) -> bool:
        now = time.monotonic()
        if not self._exists and now - self._looked > STALE_SECONDS:
            self._looked = now
            self._exists = self._path.exists()
        return self._exists

    def reason(self) -> str:
        return self._path.read_text(encoding="utf-8").removesuffix(f"\n{AWAIT}")

    def awaits(self) -> bool:
        return self.exists() and self._path.read_text(encoding="utf-8").endswith(f"\n{AWAIT}")


class RunningWork(NamedTuple):
    cases: int = 0
    requests: int = 0  # that endpoints work on


class RunningFile:
    """What still runs in a worker after the run was stopped, for the other workers and the screen. ``number``: of
    the worker, from 0."""

    def __init__(self, folder: Path, number: int) -> None:
        self._path = folder / RUNNING
        self._number = number

    def write(self, work: RunningWork) -> None:
        with suppress(OSError):  # a full disk, say: then no one waits for this worker
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(file, _WORK.pack(*work), _WORK.size * self._number)
            finally:
                os.close(file)


def running_work(folder: Path) -> RunningWork:
    """The sum over all workers."""
    try:
        content = (folder / RUNNING).read_bytes()
    except FileNotFoundError:
        return RunningWork()
    entries = [*_WORK.iter_unpack(content[: len(content) // _WORK.size * _WORK.size])]
    return RunningWork(sum(cases for cases, _ in entries), sum(requests for _, requests in entries))
