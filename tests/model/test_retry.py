"""How patient the client is: waits, bounds, dead endpoints. Time is injected."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from agentgauge.core.causes import Failure, failed_with
from agentgauge.model.retry import EndpointHealth, RetryPolicy, backoff_scale, persist, retry_after_seconds

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@dataclass
class Clock:
    """Time that passes by sleeping only."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def policy(self, **settings: float) -> RetryPolicy:
        return RetryPolicy(sleep=self.sleep, chance=lambda: 1.0, **settings)  # type: ignore[arg-type]


def _run(
    outcomes: Sequence[str | Failure], policy: RetryPolicy, health: EndpointHealth | None = None
) -> tuple[str | Failure, int]:
    """The end, and how many tries there were. The last outcome repeats."""
    tries = 0

    async def attempt() -> str | Failure:
        nonlocal tries
        tries += 1
        return outcomes[min(tries, len(outcomes)) - 1]

    return asyncio.run(persist(attempt, policy, health or EndpointHealth())), tries


def _fail(cause: str, wait: float | None = None, **facts: bool) -> Failure:
    return Failure(cause, f"it was {cause}", retry_after=wait, **facts)


LIMIT = _fail("http 429", limited=True)


@pytest.mark.parametrize(
    ("outcomes", "tries", "end"),
    [
        (["ok"], 1, "ok"),
        ([_fail("http 500"), "ok"], 2, "ok"),
        ([_fail("http 500"), _fail("http 500"), "ok"], 3, "ok"),
        ([_fail("http 500")], 3, "http 500"),  # the same three times
        (
            [_fail("http 500"), _fail("timeout")] * 3 + ["ok"],
            7,
            "ok",
        ),  # changing errors: up to max_retries
        ([_fail("a"), _fail("b"), _fail("c"), _fail("d"), _fail("e"), _fail("f"), _fail("g"), "ok"], 7, "g"),
        ([_fail("http 401", final=True), "ok"], 1, "http 401"),
        ([LIMIT] * 18 + ["ok"], 19, "ok"),  # limits get three times the retries
        ([LIMIT], 19, "http 429"),
    ],
)
def test_how_often_it_asks(outcomes: list[str | Failure], tries: int, end: str) -> None:
    outcome, made = _run(outcomes, Clock().policy(cap=2.0))
    assert made == tries
    assert (outcome.cause if isinstance(outcome, Failure) else outcome) == end
    if isinstance(outcome, Failure):
        assert outcome.tries == tries


def test_waits_double_up_to_a_cap() -> None:
    clock = Clock()
    _run([_fail(str(n)) for n in range(9)], clock.policy(max_retries=8))
    assert clock.slept == [1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize(
    ("asked", "slept"),
    [(None, [1, 2, 4, 8]), (0.0, [1, 2, 4, 8]), (0.001, [1, 2, 4, 8]), (3.0, [3.3, 3.3, 4, 8]), (60.0, [66.0] * 4)],
)
def test_an_endpoint_only_lengthens_a_wait(asked: float | None, slept: list[float]) -> None:
    clock = Clock()
    _run([_fail("http 429", asked, limited=True)] * 4 + ["ok"], clock.policy())
    assert clock.slept == pytest.approx(slept)


def test_the_total_wait_is_bounded() -> None:
    clock = Clock()
    outcome, _ = _run([_fail("http 429", 60.0, limited=True)], clock.policy(max_retries=100))
    assert isinstance(outcome, Failure) and sum(clock.slept) <= 600


def test_no_retries_means_one_try() -> None:
    assert _run([_fail("http 500")], Clock().policy(max_retries=0))[1] == 1


def test_a_time_out_while_others_are_answered_is_tried_again_more_often() -> None:
    """A queue may be the cause. The number of tries is bounded, since the request itself may be the cause all the
    same."""
    late = _fail("timeout", by_others=True)
    assert _run([late] * 6 + ["ok"], Clock().policy()) == ("ok", 7)
    assert _run([late], Clock().policy())[1] == 7
    lost = _fail("timeout")
    assert _run([late, late, lost, lost, "ok"], Clock().policy()) == ("ok", 5)
    assert _run([late, late, lost], Clock().policy())[1] == 5


@pytest.mark.parametrize(
    ("timeout", "ends", "dead"),
    [
        (600.0, [600, 600], False),
        (600.0, [600, 600, 600], True),  # of concurrent requests
        (10.0, [10, 20, 30, 40], False),
        (10.0, [10, 20, 30, 40, 50], True),
        (200.0, [200, 400, 590], False),
        (200.0, [200, 400, 600], True),
    ],
)
def test_an_endpoint_that_is_silent_for_long_counts_as_dead(timeout: float, ends: list[float], dead: bool) -> None:
    health = EndpointHealth()
    for end in ends:
        health.unanswered(end - timeout, end, timeout)
    assert health.dead is dead
    assert health.patience(timeout) == (min(timeout, 120.0) if dead else timeout)
    health.answered()
    health.unanswered(1000.0, 1000.0 + timeout, timeout)
    assert not health.dead and health.patience(timeout) == timeout


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "3600"}, 60.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        # none at all
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "0"}, 0.0),
        ({"retry-after-ms": "0", "retry-after": "2"}, 2.0),
        ({"retry-after-ms": "-1", "retry-after": "2"}, 2.0),
        ({"retry-after-ms": "0", "retry-after": "0"}, 0.0),
        # the endpoint's clock is five minutes ahead, and five behind
        ({"date": "Tue, 14 Nov 2023 22:18:20 GMT", "retry-after": "Tue, 14 Nov 2023 22:18:21 GMT"}, 1.0),
        ({"date": "Tue, 14 Nov 2023 22:08:20 GMT", "retry-after": "Tue, 14 Nov 2023 22:08:22 GMT"}, 2.0),
        ({"date": "yesterday", "retry-after": "Tue, 14 Nov 2023 22:13:21 GMT"}, 1.0),
        # absurd ones
        ({"retry-after": ""}, None),
        ({"retry-after": "-1e308"}, 0.0),
        ({"retry-after": "1e308"}, 60.0),
        ({"retry-after": "9" * 5000}, 60.0),
        ({"retry-after": "-0"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-Infinity"}, None),
        ({"retry-after": "\u0663"}, None),  # a three in Arabic, which float() takes
        ({"retry-after": "1_0"}, None),  # ten in Python only
        ({"retry-after": "0x10"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 60.0),
        ({"retry-after": "Thu, 01 Jan 0001 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Nov 99999999999999999999 22:13:30 9999"}, None),
        ({"retry-after": "Tue, 14 Nov 99999999999999999999 22:13:30 GMT"}, None),
        ({"retry-after": "Tue, 31 Feb 2023 22:13:30 GMT"}, None),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 +99999999"}, None),
        ({"retry-after-ms": "nan", "retry-after": "2"}, 2.0),
        ({"retry-after-ms": "1e308"}, 60.0),
        ({"retry-after-ms": "-1e308"}, 0.0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("statuses", "final", "limited"),
    [
        ((400, 401, 403, 404, 307, 422), True, False),
        ((408, 409, 425, 500, 503), False, False),
        ((429, 529), False, True),
    ],
)
def test_what_a_status_means(statuses: tuple[int, ...], final: bool, limited: bool) -> None:
    for status in statuses:
        failure = failed_with(status, "no")
        assert (failure.cause, failure.final, failure.limited) == (f"http {status}", final, limited)


@pytest.mark.parametrize(("value", "scale"), [(None, 1.0), ("0.01", 0.01), ("0", 0.0), ("-1", 1.0), ("x", 1.0)])
def test_the_backoff_can_be_scaled(value: str | None, scale: float) -> None:
    assert backoff_scale({} if value is None else {"AGENTGAUGE_BACKOFF": value}) == scale
