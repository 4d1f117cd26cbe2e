"""``requests_per_minute`` and ``tokens_per_minute``: rates that a provider allows, kept over all workers of a run.

Each request reserves the next free moment, one after the other at even distances, as the generic cell rate algorithm
does (ITU-T I.371). What a reply will take is not known before: a request reserves the mean of the replies so far, and
the difference moves the moments of later requests.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FILE = "rates"
"""In the run folder, while cases run. The controller removes what an earlier session left."""

FIRST_TOKENS = 1000.0
"""Tokens that a request reserves before any reply has come."""

_LARGEST = 1 << 16  # bytes of the file that are read


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

    async def wait(self) -> float:
        """Wait until one more request may be sent. Returns the tokens that it has reserved. Raises OSError."""
        reserved, moment = self.reserve()
        if (seconds := moment - self._now()) > 0:
            await asyncio.sleep(seconds)
        return reserved

    def reserve(self) -> tuple[float, float]:
        """The tokens that one more request reserves, and the moment at which it may be sent, in the clock's seconds."""
        with self._entry() as entry:
            replies, tokens = entry["replies"], entry["tokens"]
            reserved = tokens / replies if replies else FIRST_TOKENS
            moment = max(self._now(), entry["request_at"], entry["token_at"])
            entry["request_at"] = moment + self._request_seconds
            entry["token_at"] = moment + self._token_seconds * reserved
        return reserved, moment

    def used(self, reserved: float, tokens: int) -> None:
        """A request that had reserved so many tokens took this many, of prompt and completion together."""
        with self._entry() as entry:
            entry["replies"] += 1
            entry["tokens"] += tokens
            entry["token_at"] += self._token_seconds * (tokens - reserved)

    @contextmanager
    def _entry(self) -> Iterator[dict[str, float]]:
        """The model's part of the file, which no other process changes meanwhile."""
        file = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            entries: dict[str, dict[str, float]] = json.loads(os.pread(file, _LARGEST, 0) or b"{}")
            entry = entries.setdefault(self._model, {"request_at": 0.0, "token_at": 0.0, "replies": 0, "tokens": 0})
            yield entry
            content = json.dumps(entries).encode()
            os.ftruncate(file, os.pwrite(file, content, 0))
        finally:
            os.close(file)  # which ends the lock
