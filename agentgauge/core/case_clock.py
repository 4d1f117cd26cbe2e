"""How the time of a case divides: waiting for a slot here, waiting for an endpoint, tools, and the rest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

Kind = Literal["endpoint", "tools", "slots"]
KINDS: tuple[Kind, ...] = ("endpoint", "tools", "slots")
"""``endpoint``: a model was asked, retries and the waits between them included. ``slots``: a request was ready, but too
many others ran, or the given rates did not allow it yet."""


class CaseClock:
    """Each moment belongs to the first of KINDS that a part of the case is at, or to none of them. So the parts of a
    case that asks several models at once are no longer than the case."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self._seconds: dict[Kind, float] = dict.fromkeys(KINDS, 0.0)
        self._active: Counter[Kind] = Counter()
        self._since = now()

    @property
    def seconds(self) -> Mapping[Kind, float]:
        """Until now, by kind."""
        self._add(0)
        return dict(self._seconds)

    @contextmanager
    def at(self, kind: Kind) -> Iterator[Exchange]:
        """Context of a request or of a tool's call."""
        exchange = Exchange(self, kind, self.now())
        token = _CURRENT.set(exchange)
        self._add(1, kind)
        try:
            yield exchange
        finally:
            self._add(-1, kind)
            _CURRENT.reset(token)

    @contextmanager
    def leaving(self, kind: Kind) -> Iterator[None]:
        """Context in which a part of the case that is at ``kind`` waits for a slot."""
        self._add(-1, kind)
        self._add(1, "slots")
        try:
            yield
        finally:
            self._add(-1, "slots")
            self._add(1, kind)

    def _add(self, change: int, kind: Kind = "slots") -> None:
        now = self.now()
        if current := next((each for each in KINDS if self._active[each]), None):
            self._seconds[current] += now - self._since
        self._since = now
        self._active[kind] += change


@dataclass(slots=True)
class Exchange:
    """A request or a call that goes on."""

    clock: CaseClock
    kind: Kind
    began: float
    waited: float = 0.0  # seconds, for slots

    def seconds(self) -> float:
        """Until now, without waiting for slots."""
        return self.clock.now() - self.began - self.waited


_CURRENT: ContextVar[Exchange | None] = ContextVar("agentgauge_exchange", default=None)


@contextmanager
def waiting_for_slot() -> Iterator[None]:
    """Context in which the request that is being made waits for a slot, and not for the endpoint."""
    exchange = _CURRENT.get()
    if exchange is None:
        yield
        return
    began = exchange.clock.now()
    try:
        with exchange.clock.leaving(exchange.kind):
            yield
    finally:
        exchange.waited += exchange.clock.now() - began
