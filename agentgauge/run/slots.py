"""How many solves a worker may have in flight: its share of ``--in-flight``, and what workers that run dry have left.

Each worker owns a share. One whose queue is empty lends the places that it does not fill to those that still have cases
waiting, in equal parts, so that the total stays used until the last case has started, whichever worker it lies with.
Workers tell each other by a few bytes each in a file of the run folder; nobody waits for anybody.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

FILE = "places"
"""In the run folder, while cases run. The controller removes what an earlier session left."""

_ENTRY = struct.Struct("<ii")  # 1 where the queue is empty; of this worker's share, how many places it does not fill


class Places:
    """Belongs to one worker. ``total`` is ``--in-flight``, shared by ``count`` workers with the numbers 0 to count -
    1."""

    def __init__(self, path: Path | None, *, number: int, count: int, total: int) -> None:
        self.share = max(1, total // count + (number < total % count))
        self._number = number
        self._count = count
        self._granted = self.share  # the room while cases waited
        self._told: tuple[int, int] | None = None
        shared = path is not None and count > 1
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644) if path and shared else None
        if self._file is not None:
            self._tell(0, 0)  # a replacement takes up the entry of the worker that died

    @property
    def shared(self) -> bool:
        """Whether there are others to borrow from."""
        return self._file is not None

    def room(self, flying: int, waiting: bool) -> int:
        """How many solves may be in flight now. ``flying``: how many are; ``waiting``: whether more cases wait here.

        What is borrowed stays borrowed until it lands: a lender's count of free places then falls below zero and the
        others get less. More may be flying than there was room for, where some only wait for a next try; they share the
        room. The sum over all workers never exceeds the total, save for a moment while a dead one is replaced.
        """
        if self._file is None:
            return self.share
        if not waiting:
            used = min(flying, self._granted)
            self._tell(1, self.share - used)
            return max(self.share, used)
        self._tell(0, 0)
        size = _ENTRY.size * self._count
        entries: list[tuple[int, int]] = list(_ENTRY.iter_unpack(os.pread(self._file, size, 0).ljust(size, b"\0")))
        lent = {number: free for number, (dry, free) in enumerate(entries) if dry and number != self._number}
        needy = [number for number in range(self._count) if number not in lent]
        spare = max(0, sum(lent.values()))
        each, rest = divmod(spare, len(needy))
        self._granted = self.share + each + (needy.index(self._number) < rest)
        return self._granted

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _tell(self, dry: int, free: int) -> None:
        if self._file is not None and (dry, free) != self._told:
            self._told = (dry, free)
            os.pwrite(self._file, _ENTRY.pack(dry, free), _ENTRY.size * self._number)
