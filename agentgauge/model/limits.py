"""Limits the concurrent requests of a worker to one endpoint: a semaphore whose size is that of a Window, a state
machine over time in seconds.

As TCP does, the window begins small, grows, and halves when requests are refused or time out. A queue at the endpoint
does harm where it makes answers miss the time-out: an endpoint that answers one request at a time answers the 32nd
after 32 times the first. So the window grows freely while latency is far below the time-out. Near the time-out it grows
only if latency is close to the lowest one seen, or throughput rose with the last step. Latency alone does not indicate
a queue, since long answers take long.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from agentgauge.core.case import waiting_for_slot
from agentgauge.model.spec import DEFAULT_TIMEOUT

START = 8
"""Concurrent requests that a run begins with, over all its workers."""
TOLERATED = 0.1
"""Share of refusals, and of time-outs, of the latest requests that changes nothing. Halving for each costs half the
speed."""
_ANSWERS = 4
"""Answers that are remembered for that, as a multiple of the window."""
_FEWEST = 16
"""Answers that are remembered at least."""
_FAR = 1 / 4
"""Share of the time-out up to which the window grows freely: as if the endpoint answered one request at a time."""
_NEAR = 1 / 2
"""Share of the time-out from which it does not grow by itself any more."""
_ALIKE = 2.0
"""Mean latency, as a multiple of the smallest one seen, up to which no request has waited for another."""
_GAIN = 1.5
"""Answers per second, as a multiple of those before a doubling, from which the doubling was worth it."""
_ALONE = 3
"""Time-outs of requests that were sent to a window of 1, after which no queue is the cause of any."""


@dataclass(slots=True, eq=False)
class Ticket:
    sent: float  # seconds
    decreases: int  # of the window, up to then
    alone: bool  # it was the only one


class Window:
    """The number of concurrent requests, which adapts to the endpoint. ``limit`` moves between 1 and ``largest``.
    ``timeout``: seconds for one request.

    A request enters, is sent (``ticket``), ends as ``answered``, ``refused`` or ``timed_out`` (or as none of them,
    which changes nothing), and leaves. A round is as many answers as the window is wide. After each the window may
    grow: by a multiple until a doubling gains nothing or the window is halved, later by one.
    """

    def __init__(self, largest: int, *, start: int = START, timeout: float, clock: Callable[[], float]) -> None:
        if largest < 1:
            raise ValueError(f"max_in_flight must be 1 or more, not {largest}")
        self._now = clock
        self.largest = largest
        self.limit = max(1, min(start, largest))
        self.in_flight = 0
        self._timeout = timeout
        self._starting = self.limit < largest  # and growth has not stopped yet
        self._goal = 0  # up to here every answer adds one
        self._fastest = float("inf")  # seconds, of all answers
        self._rate: float | None = None  # answers per second of the round before
        self._decreases = 0
        self._alone = 0  # time-outs of requests that were the only ones
        self._recent = self._refusals = self._timeouts = 0.0  # latest requests, and of these refusals and time-outs
        self._latest = self._began = 0.0  # the latest event; the begin of the round
        self._count = 0  # answers of the round
        self._busy = 0.0  # request-seconds of the round

    def enter(self) -> None:
        """A request takes a slot."""
        self._advance()
        if self.in_flight == self._count == 0:
            self._began = self._now()  # rounds begin with a request
        self.in_flight += 1

    def ticket(self) -> Ticket:
        """The request that has entered is sent."""
        return Ticket(self._now(), self._decreases, self.limit == 1 < self.largest)

    def leave(self) -> None:
        """A request gives up its slot."""
        self._advance()
        self.in_flight -= 1

    def answered(self, ticket: Ticket) -> None:
        """The endpoint answered a request."""
        self._advance()
        self._remember()
        self._fastest = min(self._fastest, self._now() - ticket.sent)
        self._count += 1
        if self.limit < min(self._goal, self.largest):
            self._resume(self.limit + 1)
        elif self._count >= self.limit:
            self._finish_round()

    def refused(self, ticket: Ticket) -> None:
        """The endpoint refused a request (429, 529). Halves the window if the endpoint has refused many requests
        lately, once for all requests that were concurrent then. With the next answers the window grows again to three
        quarters of its size before, or of the size that it was growing to."""
        self._advance()
        self._remember()
        self._refusals += 1
        # Refusals come before the first answers: those of a small beginning are judged as if all had been sent.
        if self._refusals > TOLERATED * max(self._recent + self.in_flight, self.largest if self._starting else 0):
            self._halve(ticket, goal=(self.largest if self._starting else self.limit) * 3 // 4)

    def timed_out(self, ticket: Ticket) -> None:
        """A request was not answered in time. Halves the window as ``refused`` does, but the window does not grow again
        at once.

        Where requests that are sent alone time out as well, a narrow window does not help: it opens, and time-outs do
        not narrow it any more.
        """
        self._advance()
        if self._alone >= _ALONE:
            return
        self._alone += ticket.alone
        if self._alone >= _ALONE:
            self.open()
            return
        self._remember()
        self._timeouts += 1
        if self._timeouts > TOLERATED * (self._recent + self.in_flight):
            self._halve(ticket, goal=0)

    def open(self) -> None:
        """Open the window fully: for a dead endpoint, which has no queue and whose requests should end soon."""
        self._resume(self.largest)

    def resize(self, largest: int) -> None:
        """Set another upper bound, at least 1. A window at its old bound moves to the new one."""
        full = self.limit == self.largest
        self.largest = largest
        limit = largest if full else min(self.limit, largest)
        if limit != self.limit:
            self._resume(limit)

    def _halve(self, ticket: Ticket, goal: int) -> None:
        if ticket.decreases != self._decreases:
            return
        self._decreases += 1
        self._goal = goal
        self._starting = False
        self._resume(max(1, self.limit // 2))

    def _finish_round(self) -> None:
        elapsed = max(self._now() - self._began, 1e-9)
        if self._busy < elapsed * self.limit / 2:  # fewer requests than it allows: nothing is learnt of a wider one
            self._resume(self.limit)
            return
        # Seconds for one request, by Little's law: requests without an answer count, too.
        wait = max(self._busy / self._count, 1e-9)
        rate, before = self._count / elapsed, self._rate
        self._rate = rate
        limit = self._starting_limit(wait, rate, before) if self._starting else self._later_limit(wait)
        self._resume(min(limit, self.largest))

    def _starting_limit(self, wait: float, rate: float, before: float | None) -> int:
        harmless = int(min(self.limit * self._timeout * _FAR / wait, self.largest))
        if harmless >= min(2 * self.limit, self.largest):
            return harmless
        if 2 * wait <= self._timeout and (before is None or rate >= _GAIN * before or self._alike(wait)):
            return 2 * self.limit
        self._starting = False
        return self.limit if before is None else max(1, self.limit * 3 // 4)

    def _later_limit(self, wait: float) -> int:
        return self.limit + (wait <= _NEAR * self._timeout or self._alike(wait))

    def _alike(self, wait: float) -> bool:
        return wait <= _ALIKE * self._fastest

    def _resume(self, limit: int) -> None:
        """A new round."""
        self.limit = limit
        self._began, self._count, self._busy = self._now(), 0, 0.0

    def _advance(self) -> None:
        now = self._now()
        self._busy += self.in_flight * (now - self._latest)
        self._latest = now

    def _remember(self) -> None:
        if self._recent >= max(_FEWEST, _ANSWERS * self.limit):
            self._recent /= 2
            self._refusals /= 2
            self._timeouts /= 2
        self._recent += 1


class AdaptiveLimiter(Window):
    """Limits the concurrent requests to one endpoint. Belongs to one worker and one event loop.

    ``start``: slots to begin with. ``timeout``: seconds for one request, without its wait for a slot. ``answered``,
    ``refused`` and ``timed_out`` are called while the request still holds its slot.
    """

    def __init__(self, max_in_flight: int, *, start: int = START, timeout: float = DEFAULT_TIMEOUT) -> None:
        super().__init__(max_in_flight, start=start, timeout=timeout, clock=lambda: asyncio.get_running_loop().time())
        self.at_rest = 0
        """Requests that wait for their next attempt. They hold no slot."""
        self.retries = 0
        """Waits for a next attempt so far."""
        self.on_rest: Callable[[], None] | None = None
        """Called when ``at_rest`` has changed: more requests may start."""
        self._sent: set[Ticket] = set()  # without an answer
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Ticket]:
        """Wait for a slot, first come, first served. Yields a ticket for reporting the request's end."""
        if self.in_flight >= self.limit or self._waiting:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                with waiting_for_slot():
                    await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self.leave()  # the slot was granted before the cancellation
                elif future in self._waiting:
                    self._waiting.remove(future)
                raise
        else:
            self.enter()
        ticket = self.ticket()
        self._sent.add(ticket)
        try:
            yield ticket
        finally:
            self._sent.remove(ticket)
            self.leave()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Context of a request that waits for its next attempt."""
        self.retries += 1
        self._rest(1)
        try:
            yield
        finally:
            self._rest(-1)

    def older_than(self, seconds: float) -> int:
        """How many requests were sent more than ``seconds`` ago and have no answer yet."""
        sent_before = asyncio.get_running_loop().time() - seconds
        return sum(ticket.sent <= sent_before for ticket in self._sent)

    def resize(self, largest: int) -> None:
        super().resize(largest)
        self._wake()

    def open(self) -> None:
        super().open()
        self._wake()

    def leave(self) -> None:
        super().leave()
        self._wake()

    def _rest(self, change: int) -> None:
        self.at_rest += change
        if self.on_rest is not None:
            self.on_rest()

    def _wake(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            future = self._waiting.popleft()
            if not future.done():
                self.enter()
                future.set_result(None)
