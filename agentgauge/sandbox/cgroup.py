"""A control group with a memory limit for one run in the sandbox, if this process may create one. Linux counts all
memory of the group."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_PREFIX = "agentgauge-"
_OWN = 24 << 20
"""Bytes beyond the program's memory: for the two Python processes that hold it, and for the kernel's namespaces."""
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class GroupPlace:
    folder: Path
    version: int  # of the control groups: 1 or 2


class MemoryGroup:
    """One group. ``close`` removes it; no process may be left in it then."""

    def __init__(self, place: GroupPlace, memory_bytes: int) -> None:
        """Raises OSError where it cannot be made."""
        self._folder = place.folder / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        self.events = self._folder / ("memory.oom_control" if place.version == 1 else "memory.events")
        """A file with a line ``oom_kill N``: so many processes were ended because the limit was reached."""
        self._folder.mkdir()
        limit = str(memory_bytes + _OWN)
        try:
            (self._folder / ("memory.limit_in_bytes" if place.version == 1 else "memory.max")).write_text(limit)
        except OSError:
            self.close()
            raise
        swap = ("memory.memsw.limit_in_bytes", limit) if place.version == 1 else ("memory.swap.max", "0")
        with contextlib.suppress(OSError):  # no swap is counted, or there is none
            (self._folder / swap[0]).write_text(swap[1])

    def add(self, pid: int) -> bool:
        """Put a process into the group; its later child processes are in the group, too. Takes 10 to 25 ms. False if
        the kernel refuses.
        """
        try:
            (self._folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            return False
        return True

    def close(self) -> None:
        for _ in range(20):  # its last process may be about to end
            with contextlib.suppress(OSError):
                self._folder.rmdir()
                return
            time.sleep(0.005)


def memory_group(memory_bytes: int) -> MemoryGroup | None:
    place = _place()
    if place is None:
        return None
    try:
        return MemoryGroup(place, memory_bytes)
    except OSError:
        return None


@lru_cache(maxsize=1)
def _place() -> GroupPlace | None:
    """Found by trying, once a process. Groups of processes that were killed are removed."""
    for place in places():
        try:
            group = MemoryGroup(place, 1 << 30)
        except OSError:
            continue
        group.close()
        for left in place.folder.glob(f"{_PREFIX}*-*"):
            if not Path("/proc", left.name.split("-")[1]).exists():
                with contextlib.suppress(OSError):
                    left.rmdir()
        return place
    return None


def places(proc: Path = Path("/proc/self")) -> Iterator[GroupPlace]:
    """Folders in which a group may be created: below our own group, and in version 2 beside it, because there a group
    with processes cannot have subgroups."""
    try:
        groups = [line.split(":", 2) for line in (proc / "cgroup").read_text().splitlines()]
        mounts = [line.split(" - ", 1) for line in (proc / "mountinfo").read_text().splitlines()]
    except OSError:
        return
    for before, behind in mounts:
        (root, point), (kind, _, options) = before.split()[3:5], behind.split(" ", 2)
        for number, controllers, path in groups:
            if kind == "cgroup" and "memory" in controllers.split(",") and "memory" in options.split(","):
                yield GroupPlace(_below(point, root, path), 1)
            elif kind == "cgroup2" and number == "0":
                own = _below(point, root, path)
                for folder in (own, *own.parents):
                    if not folder.is_relative_to(point):
                        break
                    with contextlib.suppress(OSError):
                        if "memory" in (folder / "cgroup.subtree_control").read_text().split():
                            yield GroupPlace(folder, 2)


def _below(point: str, root: str, path: str) -> Path:
    """The folder of a group in a mount that shows the groups from ``root`` on."""
    return Path(point) / os.path.relpath(path, root) if Path(path).is_relative_to(root) else Path(point)
