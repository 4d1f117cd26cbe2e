"""Outages: an endpoint that has answered in this run and is away now, because its server restarts, gets patience.

The workers of a run share what they know in a file of the run folder. While the endpoint is away, one request at a time
probes it, and the others wait. An answer ends the outage; so does a probe that does not fail for a while, because a
server that works on a request is there.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypedDict
from urllib.parse import urlsplit

from agentgauge.core.case import NOT_SENT
from agentgauge.core.causes import Failure
from agentgauge.core.text import parse_json
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.shared_json import shared_json
from agentgauge.model.spec import ModelSpec

FILE = "outages"
"""In the run folder, while cases run. The controller removes what an earlier session left."""

SIGNS = 2
"""Failures in a row, without an answer between them, that are an outage: a pool of servers may lose one request."""
PROBE_SECONDS = 10.0
"""A probe that has not failed for so long has reached a server that works on it."""
LONGEST_PAUSE = 5.0
"""Seconds between two probes, unless the endpoint asks for more: a server that is back is noticed soon."""
LOOK_SECONDS = 0.2
WORKED_SECONDS = 1.0
"""An endpoint that breaks off later than so many seconds after a request was sent has worked on it."""

_CUT = ("disconnected", "truncated body")
"""The causes of failures in the middle of an answer, or before it."""
_CODES = (502, 503, 504, 520, 521, 522, 523, 530)
_CAUSES = frozenset(("connection", *_CUT, *(f"http {code}" for code in _CODES)))
"""Statuses of failures that show an outage; those from 520 on are Cloudflare's."""
_WORDS = re.compile(
    r"(?i)connection (?:error|refused|reset)|connect call failed|cannot connect|econnrefused|actively refused"
    r"|server disconnected|all connection attempts failed"
    r"|no (?:healthy|live|available) (?:upstream|deployment|worker|server|backend)|no deployments available"
    r"|loading model|(?:model|server|engine) is (?:still |currently )?(?:loading|starting)|HTTP 50[234]"
    r"|runner (?:process )?has (?:terminated|unexpectedly stopped)|EngineDead|EngineCore encountered an issue"
)
"""Words of gateways, proxies, Ollama and vLLM, under other statuses, for a server behind them that is away."""


def shows_outage(failure: Failure) -> bool:
    """Whether a failure may be that of a server that is away."""
    if failure.final:
        return False
    words = failure.cause.startswith(("http 5", "http 429", "failed", "proxy"))
    return failure.cause in _CAUSES or (words and _WORDS.search(failure.message) is not None)


def _is_there(failure: Failure, seconds: float) -> bool:
    """Whether a failure shows that there is an endpoint which has not answered yet: it reports that it loads its model,
    or it has worked on the request for ``seconds``."""
    is_loading = failure.retry_after is not None or "loading" in failure.message.lower()
    return (failure.cause == "http 503" and is_loading) or (failure.cause in _CUT and seconds >= WORKED_SECONDS)


class _Entry(TypedDict):
    """What is known of an endpoint. Times in seconds since the epoch."""

    answered: bool  # in this run
    since: float  # of the first failure after the last answer, in an outage; else 0
    open: bool  # a probe seems to have reached the endpoint: requests do not wait
    probes: int  # of this outage
    next: float  # when the next probe may be sent
    patience: float  # seconds
    waited: float  # seconds of outages that have ended


class Outage:
    """The outages of one endpoint, for the requests of one worker. Belongs to one event loop."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        scale: float,
        file: Path | None = None,
        stopped: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``scale``: factor on all waits. ``file``: shared by the workers of a run. ``stopped``: whether the run ends,
        so that nothing is waited for any more."""
        self._key = f"{spec.url} {spec.model}"
        self._file = file
        self._patience = spec.outage_patience * scale
        self._pauses = RetryPolicy(cap=LONGEST_PAUSE, scale=scale)
        self._stopped = stopped
        self._now = clock
        self._entry = self._new()  # without a file
        self._notified = False  # it has answered, and the other workers know
        self._signs = 0
        self._failure: Failure | None = None  # the latest
        self._given_up = ""  # the patience is used up: the words for it
        self._run_ends = False
        self._queue: deque[object] = deque()  # of the requests that wait, one thing each
        self.is_on = False
        """Whether requests wait."""

    def answered(self) -> None:
        """The endpoint has answered a request."""
        self._signs = 0
        if self._notified and self._failure is None:
            return
        self._notified, self._failure, self._given_up, self.is_on = True, None, "", False
        with self._shared() as entry:
            if entry["since"]:
                entry["waited"] += self._now() - entry["since"]
            entry["answered"], entry["since"] = True, 0.0

    def noticed(self, failure: Failure, *, probes: bool, seconds: float) -> bool:
        """A request failed in a way that shows an outage, ``seconds`` after it was sent, and no other was answered
        meanwhile. ``probes``: it had the turn to. Whether the endpoint is away: it has answered before."""
        if not self._patience:
            return False
        self._signs += 1
        with self._shared() as entry:
            entry["answered"] |= _is_there(failure, seconds)
            if not entry["answered"]:
                return False
            is_known = bool(entry["since"]) and not entry["open"]
            if (self._signs >= SIGNS or is_known) and not self._given_up:
                now, self.is_on = self._now(), True
                if not entry["since"]:
                    entry["since"], entry["probes"] = now, 0
                entry["open"], entry["patience"] = False, self._patience
                if probes or not is_known:
                    entry["next"] = now + self._pauses.wait(failure, entry["probes"] + 1)
        self._failure = failure
        return True

    async def turn(self) -> bool | Failure:
        """Wait while the endpoint is away. True: this request has the turn to probe it, and the others wait. A failure:
        the patience is used up, or the run ends."""
        if not self.is_on:
            return False
        mine = object()
        self._queue.append(mine)
        try:
            while self.is_on:
                if self._queue[0] is mine and self._look():
                    return True
                if self._run_ends:
                    return self._ended("; it was still away when the run was stopped", NOT_SENT)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._queue.remove(mine)
        return self._ended(self._given_up) if self._given_up else False

    def _ended(self, why: str, cause: str = "") -> Failure:
        """The latest failure, with the reason why it is not waited for any more."""
        failure = self._failure or Failure("connection", "the endpoint is away")
        return replace(failure, message=failure.message + why, cause=cause or failure.cause, by_others=True)

    @contextmanager
    def probe(self) -> Iterator[None]:
        """Context of a probe. The others wait no longer once it has not failed for PROBE_SECONDS."""
        timer = asyncio.get_running_loop().call_later(PROBE_SECONDS, self._open)
        try:
            yield
        finally:
            timer.cancel()

    def _open(self) -> None:
        self.is_on = False
        with self._shared() as entry:
            entry["open"] = True

    def _look(self) -> bool:
        """Whether it is time for a probe."""
        now = self._now()
        with self._shared() as entry:
            away = now - entry["since"]
            if not entry["since"] or entry["open"]:  # another worker's probe has reached it
                self.is_on = False
            elif self._stopped():
                self._run_ends = True
            elif away >= entry["patience"]:
                self.is_on = False
                self._given_up = f"; no answer for {away:.0f} s"
            elif now >= entry["next"]:
                entry["next"] = now + PROBE_SECONDS
                entry["probes"] += 1
                return True
        return False

    def _new(self) -> _Entry:
        return _Entry(answered=False, since=0.0, open=False, probes=0, next=0.0, patience=self._patience, waited=0.0)

    @contextmanager
    def _shared(self) -> Iterator[_Entry]:
        """The endpoint's part of the file. Where it cannot be written, each worker knows only what it has seen."""
        entries, stack = None, ExitStack()
        with suppress(OSError):
            entries = stack.enter_context(shared_json(self._file)) if self._file else None
        try:
            yield self._entry if entries is None else entries.setdefault(self._key, self._new())
        finally:
            with suppress(OSError):
                stack.close()


class Away(NamedTuple):
    """What the outages of an endpoint are, for a person."""

    place: str  # host and port
    seconds: float  # of the outage that goes on; else 0
    patience: float
    waited: float  # seconds, all outages together


def outages(folder: Path, now: float) -> list[Away]:
    """The outages of a run's endpoints, up to now."""
    try:
        entries: dict[str, _Entry] = parse_json((folder / FILE).read_bytes())
    except (OSError, ValueError):  # none, or torn because the disk was full
        return []
    found = []
    for key, entry in entries.items():
        seconds = min(now - entry["since"], entry["patience"]) if entry["since"] else 0.0
        goes_on = seconds < entry["patience"] and not entry["open"]
        place = urlsplit(key.split()[0]).netloc
        found.append(Away(place, seconds if goes_on else 0.0, entry["patience"], entry["waited"] + seconds))
    return found


def outage_words(outages: list[Away]) -> str:
    """``no answer from 127.0.0.1:8000 for 42 s; waiting up to 5 min``; nothing without an outage."""
    words = [
        f"no answer from {away.place} for {_time(away.seconds)}; waiting up to {_time(away.patience)}"
        for away in outages
        if away.seconds
    ]
    return " · ".join(dict.fromkeys(words))


def outage_notes(outages: list[Away]) -> list[str]:
    """A sentence for each endpoint that was waited for."""
    return [
        f"{away.place} was away for {_time(away.waited)}, and requests waited for it; the seconds of cases contain this"
        for away in outages
        if away.waited >= 1
    ]


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
