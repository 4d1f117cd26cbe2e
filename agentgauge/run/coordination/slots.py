"""How many cases a worker may run at once: its part of the run's slots, and the slots that idle workers give up.

Each worker owns slots. A worker with an empty queue gives its unused slots, in equal parts, to the workers with waiting
cases. So all slots are used until every case has started. Workers exchange their numbers, a few bytes each, in a file
of the run folder; the file is lock-free.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

FILE = "places"
"""In the run folder, while cases run. The controller removes what an earlier session left."""

_ENTRY = struct.Struct("<ii")  # 1 where the queue is empty; how many of its own slots the worker does not use


class SlotPool:
    """The slots of one worker. ``total``: of the run, shared by ``count`` workers with the numbers 0 to count - 1."""

    def __init__(self, path: Path | None, *, number: int, count: int, total: int) -> None:
        self.own = max(1, total // count + (number < total % count))
        self._number = number
        self._count = count
        self._granted = self.own  # the limit while cases waited
        self._written: tuple[int, int] | None = None
        shared = path is not None and count > 1
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644) if path and shared else None
        if self._file is not None:
            self._write(0, 0)  # a replacement takes up the entry of the worker that died

    @property
    def is_shared(self) -> bool:
        """Whether other workers may give up slots."""
        return self._file is not None

    def limit(self, running: int, waiting: bool) -> int:
        """How many cases may run now. ``running``: how many do; ``waiting``: whether more cases wait here.

        A borrowed slot stays borrowed until its case ends. If the lender needs it meanwhile, the lender's count of free
        slots is negative, and other workers get less. More cases than slots may run if some are resting. The sum over
        all workers exceeds the total only while a dead worker is replaced.
        """
        if self._file is None:
            return self.own
        if not waiting:
            used = min(running, self._granted)
            self._write(1, self.own - used)
            return max(self.own, used)
        self._write(0, 0)
        size = _ENTRY.size * self._count
        entries: list[tuple[int, int]] = list(_ENTRY.iter_unpack(os.pread(self._file, size, 0).ljust(size, b"\0")))
        given_up = {number: free for number, (idle, free) in enumerate(entries) if idle and number != self._number}
        busy = [number for number in range(self._count) if number not in given_up]
        each, rest = divmod(max(0, sum(given_up.values())), len(busy))
        self._granted = self.own + each + (busy.index(self._number) < rest)
        return self._granted

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, idle: int, free: int) -> None:
        if self._file is not None and (idle, free) != self._written:
            self._written = (idle, free)
            os.pwrite(self._file, _ENTRY.pack(idle, free), _ENTRY.size * self._number)
