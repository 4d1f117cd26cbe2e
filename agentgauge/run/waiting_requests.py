"""How many requests have waited long for their answer, from the workers to the progress line.

Each worker keeps its number in a file of the run folder, which is made when a request first waits so long.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

FILE = "waiting"
OLD = 120.0
"""Seconds from which a request has waited long. It is named in the progress line, and may still be answered."""

_ENTRY = struct.Struct("<i")


class WaitingRequests:
    """The entry of one worker, whose number counts from 0."""

    def __init__(self, folder: Path, number: int) -> None:
        self._path = folder / FILE
        self._number = number
        self._written = -1 if self._path.exists() else 0  # a worker that died may have left its entry

    def write(self, count: int) -> None:
        if count == self._written:
            return
        self._written = count
        with suppress(OSError):  # a full disk, say, which records will name; this is for the screen alone
            self._put(count)

    def _put(self, count: int) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(file, _ENTRY.pack(count), _ENTRY.size * self._number)
        finally:
            os.close(file)


def waiting_requests(folder: Path) -> int:
    """The sum over all workers."""
    try:
        content = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return 0
    whole = len(content) // _ENTRY.size * _ENTRY.size
    return sum(count for (count,) in _ENTRY.iter_unpack(content[:whole]))
