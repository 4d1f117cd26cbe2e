"""Runs programs: as many at a time as there are processors, for any number of concurrent requests.

Each process has one pool, and its programs share the machine's CPU slots with programs of other processes. A program
that ran out of time beside others can be run again alone: then no other program of ours runs, so that a full machine
does not turn a right answer into a wrong one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from agentgauge.run.thread_pools import cpu_slots, processors, threads

_T = TypeVar("_T")


class Place:
    """A running job's note on whether another job ran at the same time, or other work kept the machine busy."""

    def __init__(self) -> None:
        self.crowded = False


class Pool:
    """Jobs in threads, ``size`` at a time. Safe in any thread; do not wait for a job inside a job."""

    def __init__(self, size: int, executor: Callable[[], ThreadPoolExecutor] | None = None) -> None:
        """``executor`` is called for each job; without it the pool has threads of its own."""
        self.size = size
        self._cpu_slots = cpu_slots(size)
        self._executor = executor or cache(lambda: ThreadPoolExecutor(size, thread_name_prefix="contest"))
        self._changed = threading.Condition()
        self._running: set[Place] = set()
        self._waiting_alone = 0
        self._alone = False

    def submit(self, job: Callable[[], _T]) -> Future[_T]:
        """Run a job as soon as a thread is free. The job opens ``beside`` or ``alone`` around what it measures."""
        return self._executor().submit(job)

    def in_turn(self, jobs: Sequence[Callable[[], _T]], until: Callable[[_T], bool]) -> Future[list[_T]]:
        """Run jobs one after the other, up to the first result that ``until`` accepts; jobs of other callers may run in
        between. When the executor has changed, jobs that have not begun are cancelled."""
        executor, found, whole = self._executor(), list[_T](), Future[list[_T]]()

        def go_on(last: Future[_T] | None = None) -> None:
            try:
                if last is not None:
                    found.append(last.result())
                if len(found) == len(jobs) or (found and until(found[-1])):
                    whole.set_result(found)
                elif self._executor() is executor:
                    self.submit(jobs[len(found)]).add_done_callback(go_on)
                else:
                    whole.set_exception(CancelledError())
            except BaseException as error:
                whole.set_exception(error)

        go_on()
        return whole

    @contextmanager
    def beside(self) -> Iterator[Place]:
        """Run beside other jobs. Waits while a job runs alone or waits to do so."""
        place = Place()
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting_alone)
            if self._running:
                for other in (place, *self._running):
                    other.crowded = True
            self._running.add(place)
        try:
            with self._cpu_slots.slot() as mine:
                place.crowded |= self._cpu_slots.crowded(mine)
                yield place
                place.crowded |= self._cpu_slots.crowded(mine) or os.getloadavg()[0] > self.size
        finally:
            with self._changed:
                self._running.remove(place)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run alone. Call it outside of ``beside``; jobs that wait for it go before other jobs."""
        with self._changed:
            self._waiting_alone += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._running)
                self._alone = True
            finally:
                self._waiting_alone -= 1
        try:
            with self._cpu_slots.alone():
                yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()

    def close(self) -> None:
        """Wait for running jobs and drop the others."""
        self._executor().shutdown(cancel_futures=True)


_making = threading.Lock()
_made: list[Pool] = []


def shared() -> Pool:
    """The pool of this process, made when first asked for."""
    with _making:
        if not _made:
            size = processors()
            _made.append(Pool(size, lambda: threads("programs", size)))  # which the end of a run cut short knows of
        return _made[0]
