"""How many requests a worker has in the air: fewer when the endpoint refuses many, soon as many again when it does not.

A refusal (429, 529) now and then costs one request more; half the places cost half the speed. So it is the share of
refusals among the latest answers that counts, not the single one: a limit that is really met shows as a growing share.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

TOLERATED = 0.1
"""Share of refusals that changes nothing."""
_ANSWERS = 4
"""Answers that are remembered, as a multiple of the places."""
_FEWEST = 16
"""Answers that are remembered at least."""


class AdaptiveLimiter:
    """A semaphore whose size adapts. Belongs to one worker and one event loop.

    ``limit`` moves between 1 and ``max_in_flight``: it halves when refusals become many, once for all requests that were in
    the air then. After that every success gives one place back until three quarters of what it was are reached, and from
    there as many successes as there are places give one more.
    """

    def __init__(self, max_in_flight: int) -> None:
        if max_in_flight < 1:
            raise ValueError(f"max_in_flight must be 1 or more, not {max_in_flight}")
        self.max_in_flight = max_in_flight
        self.limit = max_in_flight
        self.in_flight = 0
        self.at_rest = 0
        """Requests that wait for their next try. They hold no place, so others can be put."""
        self.on_rest: Callable[[], None] | None = None
        """Called when ``at_rest`` has changed: somebody may want to put more requests."""
        self._goal = max_in_flight  # up to here it grows quickly
        self._successes = 0  # since the last place was added
        self._answered = self._refused = 0.0  # of late
        self._epoch = 0  # counts the decreases
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Wait for a place, first come, first served. Yields a ticket for ``throttled``."""
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

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Around the wait for a next try."""
        self._rest(1)
        try:
            yield
        finally:
            self._rest(-1)

    def resize(self, max_in_flight: int) -> None:
        """Another upper bound, from 1. An endpoint that has asked for patience keeps its lower limit."""
        full = self.limit == self.max_in_flight
        self.max_in_flight = max_in_flight
        self.limit = max_in_flight if full else min(self.limit, max_in_flight)
        self._wake()

    def succeeded(self) -> None:
        """The endpoint answered a request."""
        self._remember(0)
        if self.limit >= self.max_in_flight:
            return
        self._successes += 1
        if self.limit < self._goal or self._successes >= self.limit:
            self._successes = 0
            self.limit += 1
            self._wake()

    def throttled(self, ticket: int) -> None:
        """The endpoint refused a request. Halves the places if it has refused many of late, and this one was put after the
        last decrease."""
        self._remember(1)
        if ticket != self._epoch or self._refused <= TOLERATED * (self._answered + self.in_flight):
            return
        self._successes = 0
        self._epoch += 1
        self._goal = self.limit * 3 // 4
        self.limit = max(1, self.limit // 2)

    def _remember(self, refused: int) -> None:
        if self._answered >= max(_FEWEST, _ANSWERS * self.limit):
            self._answered /= 2
            self._refused /= 2
        self._answered += 1
        self._refused += refused

    def _rest(self, change: int) -> None:
        self.at_rest += change
        if self.on_rest is not None:
            self.on_rest()

    def _leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            future = self._waiting.popleft()
            if not future.done():
                self.in_flight += 1
                future.set_result(None)
