"""When to retry, and after how long. Knows nothing of HTTP clients; sleep and randomness can be injected.

A failed attempt is a value, not an exception: thousands of cases may fail, and tracebacks are expensive.
"""

from __future__ import annotations

import asyncio
import email.utils
import os
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Literal, TypeVar

T = TypeVar("T")

FailureKind = Literal["final", "again", "limit", "unreachable", "crowded", "away"]
"""``final``: a retry cannot help. ``again``: it may. ``limit``: the endpoint limits the rate. ``unreachable``: no
answer at all. ``crowded``: none in time, while other requests were answered. ``away``: in an outage of an endpoint that
has answered before."""
UNANSWERED: tuple[FailureKind, ...] = ("unreachable", "crowded", "away")
_BY_OTHERS: tuple[FailureKind, ...] = ("crowded", "away")
"""Kinds of failures that other requests may have caused."""

RETRY_AFTER_CAP = 60.0
"""Seconds of the longest wait that an endpoint can request; a longer one is cut."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""Without inf, nan, 1_0 and digits of other scripts."""
BACKOFF_VARIABLE = "AGENTGAUGE_BACKOFF"

LONG_SILENCE = 600.0
"""Seconds without any answer, or else five time-outs, after which an endpoint counts as dead."""
DEAD_TIMEOUT = 120.0
"""Seconds that a request to a dead endpoint gets at most."""


@dataclass(frozen=True, slots=True)
class Failure:
    cause: str  # short and stable: "http 500", "timeout"
    message: str  # for a person, without secrets
    kind: FailureKind = "again"
    retry_after: float | None = None  # seconds, as the endpoint asked
    tries: int = 1  # requests that were made in total
    answer: str = field(default="", repr=False)  # the endpoint's whole answer, to be read by programs only


def failure_kind(status: int) -> FailureKind:
    """The kind of failure that an HTTP status means for a retry."""
    if status in (429, 529):
        return "limit"
    if status in (408, 409, 425) or status >= 500:
        return "again"
    return "final"


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """The wait that an answer requests: seconds or an HTTP date, at most RETRY_AFTER_CAP, 0 for a past one; None
    without a usable value.

    ``now`` is in seconds since the epoch. ``retry-after-ms`` is what Azure and OpenAI send for short waits. A date is
    compared with the answer's own date, because clocks differ.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None and milliseconds > 0:
        return min(milliseconds / 1000, RETRY_AFTER_CAP)
    sent = _seconds_of_date(headers.get("date"))
    seconds = asked_seconds(headers.get("retry-after"), now if sent is None else sent)
    if seconds is None:
        return None if milliseconds is None else 0.0
    return min(seconds, RETRY_AFTER_CAP)


def asked_seconds(value: str | None, now: float) -> float | None:
    """The wait that a ``Retry-After`` header requests, a number or an HTTP date, in seconds from 0 to infinity; None
    without a usable value."""
    seconds = _number(value)
    if seconds is None and (moment := _seconds_of_date(value)) is not None:
        seconds = moment - now
    return None if seconds is None else max(seconds, 0.0)


def _seconds_of_date(value: str | None) -> float | None:
    """An HTTP date in seconds since the epoch."""
    if not value:
        return None
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # the latter for a year that no computer's integer holds
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _number(text: str | None) -> float | None:
    text = (text or "").strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def backoff_scale(environ: Mapping[str, str] = os.environ) -> float:
    """Factor for the computed waits, from AGENTGAUGE_BACKOFF (default: 1). Waits that an endpoint requests are not
    scaled."""
    value = _number(environ.get(BACKOFF_VARIABLE))
    return 1.0 if value is None or value < 0 else value


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    max_retries: int = 6  # tries after the first
    limit_patience: int = 3  # rate limits get this many times max_retries
    identical: int = 3  # the same cause so many times in a row is final; not so ``limit``, ``crowded`` and ``away``
    base: float = 1.0  # seconds, first wait
    cap: float = 30.0  # seconds, longest computed wait
    total: float = 600.0  # seconds of waiting, longest for one request
    scale: float = 1.0  # factor on computed waits
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random  # 0 to 1

    def wait(self, failure: Failure, tries: int) -> float:
        """Seconds before the next try. Jitter keeps the requests of many workers apart. An endpoint can only lengthen
        the wait."""
        delay = min(self.cap, self.base * 2.0 ** (tries - 1))
        computed = self.scale * delay * (0.5 + 0.5 * self.chance())
        asked = failure.retry_after
        return max(computed, asked * (1 + 0.1 * self.chance())) if asked else computed


@dataclass(slots=True)
class EndpointHealth:
    """The state of one endpoint, shared by a worker's requests, so that the worker waits for a dead endpoint once and
    not with each request.
    """

    dead: bool = False
    answers: int = 0  # of any kind, errors too
    silences: list[float] = field(default_factory=list)  # when requests were sent that timed out since the last answer

    def answered(self) -> None:
        self.answers += 1
        self.silences.clear()
        self.dead = False

    def unanswered(self, sent: float, now: float, timeout: float) -> None:
        """A request timed out, and no other was answered since it was sent. Times in seconds.

        Three of them make the endpoint dead, once they span LONG_SILENCE or five time-outs.
        """
        self.silences.append(sent)
        if len(self.silences) >= 3 and now - self.silences[0] >= min(5 * timeout, max(timeout, LONG_SILENCE)):
            self.dead = True

    def patience(self, timeout: float) -> float:
        """Time-out in seconds of the next attempt: shorter at a dead endpoint, so that the run ends soon."""
        return min(timeout, DEAD_TIMEOUT) if self.dead else timeout


async def persist(
    attempt: Callable[[], Awaitable[T | Failure]],
    policy: RetryPolicy,
    health: EndpointHealth,
    resting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> T | Failure:
    """Retry until success or until the policy stops; the last Failure is returned, never raised.

    Once a request has used up its attempts without reaching the endpoint (and no other request has reached it
    meanwhile), the endpoint counts as dead: later requests get one attempt until one is answered. ``resting`` is
    entered around each wait; only these waits count against ``total``.
    """
    answers = health.answers
    tries = same = 0
    waited = 0.0
    previous = ""
    while True:
        outcome = await attempt()
        tries += 1
        if not isinstance(outcome, Failure):
            health.answered()
            return outcome
        if outcome.kind not in UNANSWERED:
            health.answered()  # an error is an answer too
        same = same + 1 if outcome.cause == previous else 1
        previous = "" if outcome.kind in _BY_OTHERS else outcome.cause
        wait = policy.wait(outcome, tries)
        if _hopeless(outcome, policy, tries, same) or waited + wait > policy.total:
            if outcome.kind == "unreachable" and health.answers == answers:
                health.dead = True
            break
        if outcome.kind in UNANSWERED and health.dead:
            break
        waited += wait
        with resting():
            await policy.sleep(wait)
    return replace(outcome, tries=tries)


def _hopeless(failure: Failure, policy: RetryPolicy, tries: int, same: int) -> bool:
    if failure.kind == "final":
        return True
    if failure.kind in _BY_OTHERS:
        return tries > policy.max_retries
    if failure.kind == "limit":
        return tries > policy.max_retries * policy.limit_patience
    return tries > policy.max_retries or same >= policy.identical
