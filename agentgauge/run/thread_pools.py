"""Work in threads: the processors that it may use, and the pools."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

from agentgauge.core.files import cache_folder

# -- Slots for running programs that all processes of a machine share, so that many workers do not overload it.
#
# A slot is a lock on a file in the user's cache folder. The kernel releases the lock when its process ends.


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


# -- Threads for long work, separate from those for quick work. asyncio has one pool for everything: while a few scores
# take minutes there, every file read and every host name look-up waits. Here each kind of long work has its own
# threads, as many as there are processors, made on demand. A job that keeps a processor busy also holds one of the
# machine's CPU slots (``in_cpu_slot``), so that many workers do not overload it.


_T = TypeVar("_T")

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""A container's limit: microseconds of processor time in so many microseconds of wall time; ``max`` means no limit."""

_making = threading.RLock()
_made: dict[str, ThreadPoolExecutor] = {}


@cache
def processors(quota: Path = QUOTA) -> int:
    """Processors that this process may use, at least 1: those it may run on, or fewer by a container's quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        granted, period = quota.read_text(encoding="ascii").split()
        return max(1, min(usable, -(-int(granted) // int(period))))
    except (OSError, ValueError):  # no container, or none with a quota
        return usable


def cpu_slots(size: int | None = None) -> CpuSlots:
    """The slots for programs that all processes of this user share: ``size``, or one for each processor."""
    return CpuSlots(cache_folder() / "places", size or processors())


async def in_thread_pool(kind: str, job: Callable[[], _T]) -> _T:
    """Run a blocking job in a thread that only work of this kind uses. For jobs that mostly wait."""
    # one thread more than there are slots: it gets its next job ready, or waits with nothing to compute
    return await asyncio.get_running_loop().run_in_executor(threads(kind, processors() + 1), job)


async def in_cpu_slot(kind: str, job: Callable[[], _T]) -> _T:
    """As ``in_thread_pool``, in one of the machine's CPU slots. The job must not ask for another."""

    def with_slot() -> _T:
        with cpu_slots().slot():
            return job()

    return await in_thread_pool(kind, with_slot)


def threads(kind: str, size: int) -> ThreadPoolExecutor:
    """The threads of this kind of work, made with ``size`` threads if there are none yet. Call this for each job,
    because ``drop_waiting`` ends them."""
    with _making:
        if kind not in _made:
            _made[kind] = ThreadPoolExecutor(size, thread_name_prefix=f"agentgauge-{kind}")
        return _made[kind]


_holders = 0  # runs of this process that may have jobs


def hold_threads() -> None:
    """Keep the pools until ``release_threads``, for a run that begins."""
    global _holders
    with _making:
        _holders += 1


def release_threads() -> None:
    """The last run of the process that ends drops what waits; the others may wait for it."""
    global _holders
    with _making:
        _holders -= 1
        if not _holders:
            drop_waiting()


def drop_waiting() -> None:
    """Cancel the jobs that have not begun. Running jobs go on to their end."""
    with _making:
        for pool in _made.values():
            pool.shutdown(wait=False, cancel_futures=True)
        _made.clear()
