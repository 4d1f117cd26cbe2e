"""Numbers of each process, in a file of the run folder, which the first process sums up while the run goes on."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path


class Numbers:
    """The entry of one process, which counts from 0. The file is made when a number is not 0."""

    def __init__(self, file: Path, form: str, process: int) -> None:
        """``form``: of the entry, such as ``iq``, as ``struct`` has it."""
        self._file = file
        self._entry = struct.Struct(f"<{form}")
        self._place = self._entry.size * process
        self._written: tuple[int, ...] | None = None  # a process that died may have left its entry
        if not file.exists():
            self._written = self._entry.unpack(bytes(self._entry.size))

    def write(self, *numbers: int) -> None:
        if numbers == self._written:
            return
        self._written = numbers
        with suppress(OSError):  # a full disk, say, which records will name; this is for the screen alone
            file = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(file, self._entry.pack(*numbers), self._place)
            finally:
                os.close(file)


def summed(file: Path, form: str) -> tuple[int, ...]:
    """The sums over all processes."""
    entry = struct.Struct(f"<{form}")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        content = b""
    whole = len(content) // entry.size * entry.size
    entries = entry.iter_unpack(bytes(entry.size) + content[:whole])  # of no process, and of each
    return tuple(map(sum, zip(*entries, strict=True)))
