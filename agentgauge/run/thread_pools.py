"""Threads for long work, separate from those for quick work. asyncio has one pool for everything: while a few scores
take minutes there, every file read and every host name look-up waits. Here each kind of long work has its own threads,
as many as there are processors, made on demand. A job that keeps a processor busy also holds one of the machine's CPU
slots (``in_cpu_slot``), so that many workers do not overload it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeVar

from agentgauge.core.index import cache_folder
from agentgauge.run.cpu_slots import CpuSlots

_T = TypeVar("_T")

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""A container's limit: microseconds of processor time in so many microseconds of wall time; ``max`` means no limit."""

_making = threading.Lock()
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
    return CpuSlots(cache_folder().parent / "places", size or processors())


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


def drop_waiting() -> None:
    """Cancel the jobs that have not begun, when a run ends early. Running jobs go on to their end."""
    with _making:
        for pool in _made.values():
            pool.shutdown(wait=False, cancel_futures=True)
        _made.clear()
