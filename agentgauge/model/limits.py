"""How many requests a worker sends to one endpoint at once: a semaphore whose size is that of a Window."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from agentgauge.model.spec import DEFAULT_TIMEOUT
from agentgauge.model.window import START, Ticket, Window


class AdaptiveLimiter:
    """Belongs to one worker and one event loop; see Window for how its size adapts.

    ``start``: slots to begin with. ``timeout``: seconds for one request, without its wait for a slot.
    """

    def __init__(self, max_in_flight: int, *, start: int = START, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._window = Window(max_in_flight, start=start, timeout=timeout)
        self.at_rest = 0
        """Requests that wait for their next attempt. They hold no slot."""
        self.on_rest: Callable[[], None] | None = None
        """Called when ``at_rest`` has changed: more requests may start."""
        self._sent: dict[Ticket, None] = {}  # without an answer, the oldest first
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """Slots at present."""
        return self._window.limit

    @property
    def max_in_flight(self) -> int:
        """Slots at most."""
        return self._window.largest

    @property
    def in_flight(self) -> int:
        """Slots taken."""
        return self._window.in_flight

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Ticket]:
        """Wait for a slot, first come, first served. Yields a ticket for reporting the request's end."""
        loop = asyncio.get_running_loop()
        if self.in_flight >= self.limit or self._waiting:
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self._leave(loop.time())  # the slot was granted before the cancellation
                elif future in self._waiting:
                    self._waiting.remove(future)
                raise
        else:
            self._window.enter(loop.time())
        ticket = self._window.ticket(loop.time())
        self._sent[ticket] = None
        try:
            yield ticket
        finally:
            del self._sent[ticket]
            self._leave(loop.time())

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Around the wait for a next try."""
        self._rest(1)
        try:
            yield
        finally:
            self._rest(-1)

    def resize(self, max_in_flight: int) -> None:
        """Another upper bound, from 1."""
        now = asyncio.get_running_loop().time()
        self._window.resize(max_in_flight, now)
        self._wake(now)

    def answered(self, ticket: Ticket) -> None:
        """The endpoint answered a request. This and the next two are called while the request still holds its slot."""
        self._window.answered(ticket, asyncio.get_running_loop().time())

    def refused(self, ticket: Ticket) -> None:
        """The endpoint refused a request."""
        self._window.refused(ticket, asyncio.get_running_loop().time())

    def timed_out(self, ticket: Ticket) -> None:
        """A request was not answered in time."""
        self._window.timed_out(ticket, asyncio.get_running_loop().time())

    def open(self) -> None:
        """All slots, for an endpoint that counts as dead."""
        now = asyncio.get_running_loop().time()
        self._window.open(now)
        self._wake(now)

    def older_than(self, seconds: float) -> int:
        """How many requests were sent longer ago and have no answer yet."""
        sent_before = asyncio.get_running_loop().time() - seconds
        count = 0
        for ticket in self._sent:
            if ticket.sent > sent_before:
                break
            count += 1
        return count

    def _rest(self, change: int) -> None:
        self.at_rest += change
        if self.on_rest is not None:
            self.on_rest()

    def _leave(self, now: float) -> None:
        self._window.leave(now)
        self._wake(now)

    def _wake(self, now: float) -> None:
        while self._waiting and self.in_flight < self.limit:
            future = self._waiting.popleft()
            if not future.done():
                self._window.enter(now)
                future.set_result(None)
