"""Slots for running programs that all processes of a machine share, so that many workers do not overload it.

A slot is a lock on a file in the user's cache folder. The kernel releases the lock when its process ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PAUSE = 0.005  # seconds between two looks for a free slot; one process at a time looks


class CpuSlots:
    """``size`` slots. Safe in any thread."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder = folder
        self._size = size
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def slot(self) -> Iterator[int]:
        """Hold a slot; yields its number. Waits for a free one, and for a process in ``alone``."""
        with self._locked("turn", fcntl.LOCK_SH):
            pass  # held only by ``alone``: without it a stream of others would never let that process in
        with self._locked("gate", fcntl.LOCK_SH), ExitStack() as held:
            # the others wait in the kernel, which costs nothing however many they are
            with self._locked("queue", fcntl.LOCK_EX):
                number = self._find(held)
            yield number

    def _find(self, held: ExitStack) -> int:
        while True:
            for number in range(self._size):
                try:
                    held.enter_context(self._locked(f"place-{number}", fcntl.LOCK_EX | fcntl.LOCK_NB))
                except BlockingIOError:
                    continue
                return number
            time.sleep(PAUSE)

    def crowded(self, mine: int) -> bool:
        for number in range(self._size):
            if number != mine:
                try:
                    with self._locked(f"place-{number}", fcntl.LOCK_EX | fcntl.LOCK_NB):
                        pass
                except BlockingIOError:
                    return True
        return False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the whole machine: wait until every slot is free, and keep others out."""
        with self._locked("turn", fcntl.LOCK_EX), self._locked("gate", fcntl.LOCK_EX):
            yield

    @contextmanager
    def _locked(self, name: str, how: int) -> Iterator[None]:
        """Raises BlockingIOError where it would have to wait and must not."""
        file = os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, how)
            yield
        finally:
            os.close(file)  # which unlocks
