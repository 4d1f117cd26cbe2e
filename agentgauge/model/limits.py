"""How many requests a worker sends to one endpoint at once: a semaphore whose size is that of a Window."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from agentgauge.model.spec import DEFAULT_TIMEOUT
from agentgauge.model.window import START, Ticket, Window


class AdaptiveLimiter(Window):
    """Belongs to one worker and one event loop.

    ``start``: slots to begin with. ``timeout``: seconds for one request, without its wait for a slot. ``answered``,
    ``refused`` and ``timed_out`` are called while the request still holds its slot.
    """

    def __init__(self, max_in_flight: int, *, start: int = START, timeout: float = DEFAULT_TIMEOUT) -> None:
        super().__init__(max_in_flight, start=start, timeout=timeout, clock=lambda: asyncio.get_running_loop().time())
        self.at_rest = 0
        """Requests that wait for their next attempt. They hold no slot."""
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
        """Around the wait for a next try."""
        self._rest(1)
        try:
            yield
        finally:
            self._rest(-1)

    def older_than(self, seconds: float) -> int:
        """How many requests were sent longer ago and have no answer yet."""
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
