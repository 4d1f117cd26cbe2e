"""``requests_per_minute`` and ``tokens_per_minute``: rates that a provider allows, kept over all workers of a run.

Requests go out one after the other at even distances, as the generic cell rate algorithm has it (ITU-T I.371). The
tokens of a reply are not known in advance: a request counts as the mean of the replies so far, and the difference moves
the next sending time when the reply arrives. So nothing is reserved ahead, and a waiting request computes its time
again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agentgauge.model.shared_json import shared_json
from agentgauge.model.spec import ModelSpec

FILE = "rates"
"""In the run folder, while cases run. The controller removes what an earlier session left."""

FIRST_TOKENS = 1000.0
"""Tokens that a request counts as before any reply has come."""

LOOK_SECONDS = 1.0
"""Seconds after which a waiting request checks again at the latest."""


class Rates:
    """The rates of one model in one worker. None: not limited."""

    def __init__(
        self,
        file: Path,
        model: str,
        *,
        requests: float | None,
        tokens: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``file``: shared by all workers on this machine, whose clocks count from the same moment. ``model``: models
        of the same name share the rates. ``requests``, ``tokens``: per minute."""
        self._file = file
        self._model = model
        self._request_seconds = 60 / requests if requests else 0.0
        self._token_seconds = 60 / tokens if tokens else 0.0
        self._now = clock
        self._turn = asyncio.Lock()

    async def wait(self, unless: Callable[[], bool] = lambda: False) -> float | None:
        """Wait until one more request may be sent. Returns the tokens that it counts as; None once ``unless`` is true,
        which is asked before it counts. Raises OSError."""
        async with self._turn:  # one request of a worker looks, the others queue behind it
            while True:
                if unless():
                    return None
                assumed, seconds = self.take()
                if seconds <= 0:
                    return assumed
                await asyncio.sleep(min(seconds, LOOK_SECONDS))

    def take(self) -> tuple[float, float]:
        """The tokens that one more request counts as, and the seconds until it may be sent; 0: it is sent now."""
        with self._entry() as entry:
            now, replies = self._now(), entry["replies"]
            assumed = entry["tokens"] / replies if replies else FIRST_TOKENS
            wait = max(entry["request_at"], entry["token_at"]) - now
            if wait > 0:
                return assumed, wait
            entry["request_at"] = now + self._request_seconds
            entry["token_at"] = now + self._token_seconds * assumed
        return assumed, 0.0

    def used(self, assumed: float, tokens: int) -> None:
        """A request that had counted as so many tokens took this many, of prompt and completion together; 0: the
        endpoint does not say."""
        if not tokens:
            return
        with self._entry() as entry:
            entry["replies"] += 1
            entry["tokens"] += tokens
            entry["token_at"] += self._token_seconds * (tokens - assumed)

    @contextlib.contextmanager
    def _entry(self) -> Iterator[dict[str, float]]:
        """The model's part of the file, which no other process changes meanwhile, where the file system has locks."""
        with shared_json(self._file) as entries:
            yield entries.setdefault(self._model, {"request_at": 0.0, "token_at": 0.0, "replies": 0, "tokens": 0})


def rates_of(spec: ModelSpec, file: Path) -> Rates | None:
    """The rates that a model's table names, for all workers that share the file together."""
    requests, tokens = spec.requests_per_minute, spec.tokens_per_minute
    if requests is None and tokens is None:
        return None
    return Rates(file, f"{spec.url} {spec.model}", requests=requests, tokens=tokens)
