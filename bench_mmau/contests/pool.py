"""Where programs run: as many at a time as there are processors, however many requests are in flight.

One pool serves a process, and its programs share the places of the machine with those of other processes. A program that
ran out of time beside others can be run again alone: then no other program of ours runs, so that a full machine does not
turn a right answer into a wrong one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from bench_mmau.contests.machine import Machine
from harness.data.index import cache_folder

_T = TypeVar("_T")


class Place:
    """A running job's own note: whether any other job ran at some time while it did, or other work kept the machine busy."""

    def __init__(self) -> None:
        self.crowded = False


class Pool:
    """Jobs in threads, ``size`` at a time. Safe in any thread; do not wait for a job inside a job."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._machine = Machine(cache_folder().parent / "places", size)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="contest")
        self._changed = threading.Condition()
        self._running: set[Place] = set()
        self._waiting_alone = 0
        self._alone = False

    def submit(self, job: Callable[[], _T]) -> Future[_T]:
        """Run a job as soon as there is room. The job opens ``beside`` or ``alone`` around what it measures."""
        return self._threads.submit(job)

    @contextmanager
    def beside(self) -> Iterator[Place]:
        """Run beside others. Waits while a job runs alone or wants to."""
        place = Place()
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting_alone)
            if self._running:
                for other in (place, *self._running):
                    other.crowded = True
            self._running.add(place)
        try:
            with self._machine.place() as mine:
                place.crowded |= self._machine.crowded(mine)
                yield place
                place.crowded |= self._machine.crowded(mine) or os.getloadavg()[0] > self.size
        finally:
            with self._changed:
                self._running.remove(place)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run alone. Call it outside of ``beside``; those who want to be alone go first."""
        with self._changed:
            self._waiting_alone += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._running)
                self._alone = True
            finally:
                self._waiting_alone -= 1
        try:
            with self._machine.alone():
                yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()

    def close(self) -> None:
        """Wait for running jobs and drop the others."""
        self._threads.shutdown(cancel_futures=True)


def processors() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


_making = threading.Lock()
_made: list[Pool] = []


def shared() -> Pool:
    """The pool of this process, made when first asked for."""
    with _making:
        if not _made:
            _made.append(Pool(processors()))
        return _made[0]
