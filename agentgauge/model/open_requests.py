"""The requests of a run that stops: those that an endpoint works on are awaited, because they are paid for. All others
end at once: those that wait for a slot, a rate limit or the next attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeVar

from agentgauge.core.case import NOT_SENT
from agentgauge.core.causes import Failure

T = TypeVar("T")

UNSENT = Failure(NOT_SENT, "a request was not sent, because the run stops", final=True)

_SOON = 0.05  # seconds in which an attempt that has just ended may become the request's reply


class OpenRequests:
    """The requests of one worker to its models. Belongs to one event loop."""

    def __init__(self) -> None:
        self.is_stopped = False
        self.sent = 0
        """Requests that endpoints work on."""
        self._unsent: set[asyncio.Timeout] = set()

    async def run(self, send: Callable[[AbstractContextManager[None]], Awaitable[T | Failure]]) -> T | Failure:
        """The outcome of ``send``, a request with all its attempts; UNSENT where the run stops before it is sent.
        ``send`` enters the context that it gets while an attempt is on its way."""
        if self.is_stopped:
            return UNSENT
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._unsent.add(scope)
                return await send(_Sending(self, scope))
        except _Stopped:
            return UNSENT
        except TimeoutError:
            if not scope.expired():
                raise
            return UNSENT
        finally:
            self._unsent.discard(scope)

    def stop(self) -> None:
        """Send no further request, and end those that are not on their way."""
        if self.is_stopped:
            return
        self.is_stopped = True
        for scope in self._unsent:
            scope.reschedule(0)

    def begin(self, scope: asyncio.Timeout) -> None:
        if self.is_stopped:
            raise _Stopped
        self._unsent.discard(scope)
        self.sent += 1

    def end(self, scope: asyncio.Timeout) -> None:
        self.sent -= 1
        self._unsent.add(scope)
        if self.is_stopped:
            asyncio.get_running_loop().call_later(_SOON, self._expire, scope)

    def _expire(self, scope: asyncio.Timeout) -> None:
        if scope in self._unsent:
            scope.reschedule(0)


class _Stopped(Exception):
    """The run stops, and the next attempt is not sent."""


class _Sending(AbstractContextManager[None]):
    """The time in which an attempt is on its way. Entered once for each attempt."""

    def __init__(self, requests: OpenRequests, scope: asyncio.Timeout) -> None:
        self._requests = requests
        self._scope = scope

    def __enter__(self) -> None:
        self._requests.begin(self._scope)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._requests.end(self._scope)
