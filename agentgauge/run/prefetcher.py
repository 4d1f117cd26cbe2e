"""Look-ahead: a worker solves the coming cases of its queue while pytest walks through them one by one.

An event loop in a background thread keeps as many solves in flight as there are places, in queue order. That is a cap
on solves in flight and no distance: each that ends makes room for the next, so one slow case holds up nothing but
itself. Records are written the moment a solve ends, on the loop's thread; until pytest comes to the case, only the
place of its record is in memory, however many have ended before a slow one.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping

from agentgauge.core.types import Record
from agentgauge.run.slots import Places
from agentgauge.run.solve import Planned
from agentgauge.store import Line
from agentgauge.store.jsonl import CaseId

HELD = "not started: the run was stopped"
"""What is said of a case that pytest comes to after that."""

AT_ONCE = 4
"""Cases that are started before the loop sends what those before them have written."""

ASK_AGAIN_SECONDS = 0.05
"""Others may run dry while nothing lands here."""

WATCH_SECONDS = 5.0
"""Between two calls of ``watch``."""


class LookAhead:
    """Owned by one worker; ``result`` is called from pytest's thread, everything else runs on the loop's."""

    def __init__(
        self,
        solve: Callable[[Planned], Awaitable[Record]],
        keep: Callable[[Record], Line],
        close: Callable[[], Awaitable[None]],
        *,
        places: Places,
        at_rest: Callable[[], int] = lambda: 0,
        ready: Callable[[Planned], bool] = lambda case: True,
        widened: Callable[[int], None] = lambda room: None,
        held: Callable[[], bool] = lambda: False,
        idle: Callable[[], None] = lambda: None,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        """``at_rest`` says how many solves only wait for a next try of a request, so that others may take their places
        (at most as many again as there are places); ``ready`` says whether a case can be started, or others go before
        it; ``rested`` is to be called when either changes. ``widened`` is told, on the loop's thread, of each change of
        the number of solves that may be in flight; ``held`` says, before each start, whether nothing new may be
        started. ``idle`` is called now and then on pytest's thread while it waits, ``watch`` on the loop's.
        """
        self._solve = solve
        self._keep = keep
        self._close = close
        self._places = places
        self._at_rest = at_rest
        self._ready = ready
        self._widened = widened
        self._held = held
        self._idle = idle
        self._watch = watch
        self._room = places.share
        self._goes_on = False  # whether more will be started as soon as the loop has been round
        self._asks_again = False  # whether others will be asked again for places
        self._queue: deque[Planned] = deque()
        self._put_off: list[Planned] = []  # from its front, until they are ready
        self._known: set[CaseId] = set()  # planned, and not asked for yet; belongs to pytest's thread
        self._ended: dict[CaseId, Line | Record | Exception] = {}  # and not asked for yet
        self._news = threading.Condition()  # of ``_ended``
        self._flying: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agentgauge-lookahead", daemon=True)
        self._thread.start()
        self._loop.call_soon_threadsafe(self._look)

    def plan(self, cases: Iterable[Planned]) -> None:
        """Add cases to the end of the queue; those already there are left where they are."""
        fresh = [case for case in cases if case.id not in self._known]
        self._known.update(case.id for case in fresh)
        self._loop.call_soon_threadsafe(self._extend, fresh)

    def result(self, case: Planned) -> Line | Record:
        """Wait for a case. Returns where its record is, or the record itself where there was nothing to keep: its
        status is "missing" where nothing new is started any more.

        One that nobody planned is the next to start. Raises what kept a case from being run or kept.
        """
        if case.id not in self._known:
            self._loop.call_soon_threadsafe(self._put_first, case)
        ended = self._await(case)
        self._known.discard(case.id)  # pytest asks once
        if isinstance(ended, Exception):
            raise ended
        return ended

    def _await(self, case: Planned) -> Line | Record | Exception:
        while True:
            with self._news:
                if case.id in self._ended:
                    return self._ended.pop(case.id)
                if self._news.wait(WATCH_SECONDS):
                    continue
            self._idle()

    def stop(self) -> None:
        """Start nothing new and give up what is in flight. What is finished has been kept already."""
        if not self._stopped:
            self._stopped = True
            asyncio.run_coroutine_threadsafe(self._wind_up(), self._loop).result(timeout=30)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=30)
            self._loop.close()

    def hold(self) -> None:
        """Start nothing new; what is in flight may end."""
        self._loop.call_soon_threadsafe(self._give_up)

    # -- on the loop's thread

    def rested(self) -> None:
        """A solve has begun or ended to wait, for a next try of a request or for what cases need."""
        if back := [case for case in self._put_off if self._ready(case)]:
            self._queue.extendleft(reversed(back))
            self._put_off = [case for case in self._put_off if not self._ready(case)]
        self._top_up()

    def _look(self) -> None:
        if not self._stopped:
            self._watch()
            self._loop.call_later(WATCH_SECONDS, self._look)

    def _extend(self, cases: list[Planned]) -> None:
        self._queue.extend(cases)
        self._top_up()

    def _put_first(self, case: Planned) -> None:
        self._queue.appendleft(case)
        self._top_up()

    def _top_up(self) -> None:
        if self._goes_on:
            return
        if self._waiting() and self._held():
            self._give_up()
        try:
            self._fill()
        except Exception as error:  # the run folder is gone, say: pytest must not wait for cases that nobody starts
            self._give_up(error)

    def _give_up(self, error: Exception | None = None) -> None:
        """Nothing that waits is started. pytest may be waiting for one of them."""
        waiting = [*self._put_off, *self._queue]
        self._put_off.clear()
        self._queue.clear()
        self._tell({case.id: error or Record(*case.id, config="", status="missing", error=HELD) for case in waiting})

    def _tell(self, ended: Mapping[CaseId, Line | Record | Exception]) -> None:
        with self._news:
            self._ended.update(ended)
            self._news.notify()

    def _fill(self) -> None:
        """Start as many as there is room for."""
        self._look_for_room()
        started = 0
        while self._queue and self._busy() < self._room and not self._stopped:
            if started == AT_ONCE:  # each reads its sample and writes its request before the first of them is sent
                self._goes_on = True
                self._loop.call_soon(self._go_on)
                return
            case = self._queue.popleft()
            if self._ready(case):
                self._start(case)
                started += 1
            else:
                self._put_off.append(case)
        if not self._waiting():
            self._look_for_room()  # tells the others that this worker has run dry
        elif self._places.shared and not self._asks_again and not self._stopped:
            self._asks_again = True
            self._loop.call_later(ASK_AGAIN_SECONDS, self._ask_again)

    def _go_on(self) -> None:
        self._goes_on = False
        self._top_up()

    def _look_for_room(self) -> None:
        waiting = self._waiting()
        # one that waits for a next try is not lent away: its next request would come on top of the total
        room = self._places.room(self._busy() if waiting else len(self._flying), waiting=waiting)
        if room != self._room:
            self._room = room
            self._widened(room)

    def _waiting(self) -> bool:
        """Whether there are cases that have not been started."""
        return bool(self._queue or self._put_off)

    def _busy(self) -> int:
        """Places taken."""
        return len(self._flying) - min(self._at_rest(), self._room)

    def _ask_again(self) -> None:
        self._asks_again = False
        self._top_up()

    def _start(self, case: Planned) -> None:
        task = self._loop.create_task(self._fly(case))
        self._flying.add(task)
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._flying.discard(task)
        self._top_up()

    async def _fly(self, case: Planned) -> None:
        ended: Line | Record | Exception
        try:
            record = await self._solve(case)
            ended = record if record.status == "missing" else self._keep(record)
        except Exception as error:  # keeping failed (disk full): tell the case that waits for it
            ended = error
        self._tell({case.id: ended})

    async def _wind_up(self) -> None:
        self._queue.clear()
        self._put_off.clear()
        for task in self._flying:
            task.cancel()
        await asyncio.gather(*self._flying, return_exceptions=True)
        await self._close()
        self._places.close()
