"""How many requests a worker has in the air: grows while all goes well, halves when the endpoint says it is too much."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class AdaptiveLimiter:
    """A semaphore whose size adapts: additive increase, multiplicative decrease.

    Belongs to one worker and one event loop. ``limit`` moves between 1 and ``max_in_flight``.
    """

    def __init__(self, max_in_flight: int) -> None:
        if max_in_flight < 1:
            raise ValueError(f"max_in_flight must be 1 or more, not {max_in_flight}")
        self.max_in_flight = max_in_flight
        self.limit = max_in_flight
        self.in_flight = 0
        self._successes = 0
        self._epoch = 0  # counts the decreases
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for a place. Yields a ticket for ``throttled``."""
        if self.in_flight >= self.limit or self._waiting:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self._leave()  # the place was given and is not wanted any more
                elif future in self._waiting:
                    self._waiting.remove(future)
                raise
        else:
            self.in_flight += 1
        try:
            yield self._epoch
        finally:
            self._leave()

    def succeeded(self) -> None:
        """One more place after as many successes as there are places."""
        self._successes += 1
        if self._successes >= self.limit and self.limit < self.max_in_flight:
            self._successes = 0
            self.limit += 1
            self._wake()

    def throttled(self, ticket: int) -> None:
        """Halve the places, once for all requests that were in the air at the last decrease."""
        self._successes = 0
        if ticket == self._epoch:
            self._epoch += 1
            self.limit = max(1, self.limit // 2)

    def _leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            future = self._waiting.popleft()
            if not future.done():
                self.in_flight += 1
                future.set_result(None)
