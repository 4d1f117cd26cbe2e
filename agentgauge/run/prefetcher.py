"""Look-ahead: a worker runs the coming cases of its queue while pytest walks through them one by one.

An event loop in a background thread keeps as many cases running as there are slots, in queue order. The limit is the
number of concurrent cases, not the distance from pytest's position: each case that ends frees its slot, so a slow case
delays no other. Records are written when a case ends, on the loop's thread; until pytest reaches the case, only the
location of its record is in memory.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from agentgauge.core.types import Record
from agentgauge.run.case_runner import CaseRunner
from agentgauge.run.coordination.stopping import LONGEST_WAIT
from agentgauge.run.solve import Planned
from agentgauge.store import Line
from agentgauge.store.jsonl import CaseId

Result = TypeVar("Result")

STOPPED = "not started: the run was stopped"
"""The error of a case that pytest reaches after the run was stopped."""

AT_ONCE = 4
"""Cases that are started before the loop sends what the cases before them have written."""

RECHECK_SECONDS = 0.05
"""Seconds between two checks for slots that other workers have given up, and for budget that they have left, while no
case ends here."""

WATCH_SECONDS = 0.25
"""Seconds between two calls of ``watch``."""

STOP_SECONDS = 0.2
"""Seconds between two looks whether the run is to stop, and then whether running cases have ended."""


class Prefetcher:
    """Owns the cases of one worker: ``submit``, ``result``, ``hold`` and ``close`` are called from pytest's thread."""

    def __init__(self, runner: CaseRunner) -> None:
        """``runner``: its methods are called on the loop's thread."""
        self._runner = runner
        self._slots = runner.slots.own
        self._fill_is_scheduled = False
        self._recheck_is_scheduled = False
        self._queue: deque[Planned] = deque()
        self._unready: list[Planned] = []  # from the front of the queue
        self._known: set[CaseId] = set()  # submitted, and not asked for yet; belongs to pytest's thread
        self._done: dict[CaseId, Line | Record | Exception] = {}  # and not asked for yet
        self._case_done = threading.Condition()  # guards ``_done``
        self._running: set[asyncio.Task[None]] = set()
        self._abandoned: set[asyncio.Task[None]] = set()  # cancelled because they took too long to end
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="agentgauge-prefetcher", daemon=True)
        self._thread.start()
        self._stops_at: float | None = None  # when running cases are abandoned, once the run stops; loop time
        self._loop.call_soon_threadsafe(self._watch)
        self._loop.call_soon_threadsafe(self._watch_stop)

    def submit(self, cases: Iterable[Planned]) -> None:
        """Add cases to the end of the queue; those already in it stay where they are."""
        fresh = [case for case in cases if case.id not in self._known]
        self._known.update(case.id for case in fresh)
        self._loop.call_soon_threadsafe(self._extend, fresh)

    def result(self, case: Planned) -> Line | Record:
        """Wait for a case. Returns where its record is, or the record itself where nothing was stored: its status is
        "missing" where no new case is started any more.

        A case that was not submitted is the next to start. Raises the error that kept the case from being run or
        stored.
        """
        if case.id not in self._known:
            self._loop.call_soon_threadsafe(self._put_first, case)
        result = self._await(case)
        self._known.discard(case.id)  # pytest asks once
        if isinstance(result, Exception):
            raise result
        return result

    def call(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Call a function on the loop's thread, outside of the queue of cases."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def hold(self) -> None:
        """Start no new case; running cases may end."""
        self._loop.call_soon_threadsafe(self._give_up)

    def is_idle(self) -> bool:
        """Whether no case runs, once ``hold`` was called."""
        return not self._running

    def close(self) -> None:
        """Start no new case and cancel the running ones. What is finished has been stored already."""
        if not self._closed:
            self._closed = True
            try:
                asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result(timeout=30)
            except TimeoutError:
                return  # code of a benchmark does not return; its thread ends with the process
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=30)
            self._loop.close()

    def _await(self, case: Planned) -> Line | Record | Exception:
        with self._case_done:
            self._case_done.wait_for(lambda: case.id in self._done)
            return self._done.pop(case.id)

    # -- on the loop's thread

    def _run_loop(self) -> None:
        while True:
            try:
                self._loop.run_forever()
                return
            except (SystemExit, KeyboardInterrupt):
                pass  # raised by a benchmark's code in a task, which keeps it; asyncio ends the loop as well

    def recheck(self) -> None:
        """Start cases, because the number of resting cases, or which cases are ready, has changed."""
        if ready := [case for case in self._unready if self._runner.is_ready(case)]:
            self._queue.extendleft(reversed(ready))
            self._unready = [case for case in self._unready if not self._runner.is_ready(case)]
        self._top_up()

    def _watch(self) -> None:
        if not self._closed:
            self._runner.watch()
            self._loop.call_later(WATCH_SECONDS, self._watch)

    def _watch_stop(self) -> None:
        """Where the run stops and awaits requests: start no case, send no request, and abandon what takes too long."""
        if self._closed:
            return
        if self._stops_at is None and self._runner.stop_file.awaits():
            self._stops_at = self._loop.time() + LONGEST_WAIT
            self._give_up()
            self._runner.end_requests()
        if self._stops_at is not None:
            self._runner.note_running(len(self._running))
            if self._loop.time() > self._stops_at:
                for task in self._running - self._abandoned:  # once: they may have something to clean up
                    task.cancel()
                self._abandoned |= self._running
        self._loop.call_later(STOP_SECONDS, self._watch_stop)

    def _extend(self, cases: list[Planned]) -> None:
        self._queue.extend(cases)
        self._top_up()

    def _put_first(self, case: Planned) -> None:
        self._queue.appendleft(case)
        self._top_up()

    def _top_up(self) -> None:
        if self._fill_is_scheduled:
            return
        if self._waiting() and self._runner.is_stopped():
            self._give_up()
        try:
            self._fill()
        except Exception as error:  # the run folder is gone, say: pytest must not wait for cases that never start
            self._give_up(error)

    def _give_up(self, error: Exception | None = None) -> None:
        """Answer all waiting cases. pytest may be waiting for one of them."""
        waiting = [*self._unready, *self._queue]
        self._unready.clear()
        self._queue.clear()
        self._set_done(
            {case.id: error or Record(*case.id, config="", status="missing", error=STOPPED) for case in waiting}
        )

    def _set_done(self, done: Mapping[CaseId, Line | Record | Exception]) -> None:
        with self._case_done:
            self._done.update(done)
            self._case_done.notify()

    def _fill(self) -> None:
        self._update_slots()
        started, held = 0, False  # held: the budget may not cover another case
        while self._queue and self._used() < self._slots and not self._closed:
            if started == AT_ONCE:  # each reads its sample and writes its request before the first of them is sent
                self._fill_is_scheduled = True
                self._loop.call_soon(self._fill_again)
                return
            case = self._queue.popleft()
            if not self._runner.is_ready(case):
                self._unready.append(case)
            elif self._runner.reserve(case):
                self._start(case)
                started += 1
            else:
                self._queue.appendleft(case)
                held = True
                break
        if not self._waiting():
            self._update_slots()  # the other workers can see that this one is idle
        elif (held or self._runner.slots.is_shared) and not self._recheck_is_scheduled and not self._closed:
            self._recheck_is_scheduled = True
            self._loop.call_later(RECHECK_SECONDS, self._recheck_slots)

    def _fill_again(self) -> None:
        self._fill_is_scheduled = False
        self._top_up()

    def _recheck_slots(self) -> None:
        self._recheck_is_scheduled = False
        self._top_up()

    def _update_slots(self) -> None:
        waiting = self._waiting()
        # an idle worker keeps the slots of resting cases: their next requests would come on top of the total
        slots = self._runner.slots.limit(self._used() if waiting else len(self._running), waiting=waiting)
        if slots != self._slots:
            self._slots = slots
            self._runner.resize(slots)

    def _waiting(self) -> bool:
        """Whether there are cases that have not been started."""
        return bool(self._queue or self._unready)

    def _used(self) -> int:
        return len(self._running) - min(self._runner.resting(), self._slots)

    def _start(self, case: Planned) -> None:
        task = self._loop.create_task(self._run(case))
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._top_up()

    async def _run(self, case: Planned) -> None:
        result: Line | Record | Exception
        try:
            result = await self._runner.run(case)
        except asyncio.CancelledError:  # the run ends
            result = Record(*case.id, config="", status="missing", error=STOPPED)
        except Exception as error:  # storing failed (disk full): ``result`` raises it
            result = error
        self._set_done({case.id: result})

    async def _cancel(self) -> None:
        self._queue.clear()
        self._unready.clear()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._runner.close()
        self._runner.slots.close()
