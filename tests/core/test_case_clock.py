"""How the time of a case divides."""

from __future__ import annotations

import asyncio

import pytest

from agentgauge.core.case import CaseClock, waiting_for_slot
from agentgauge.model.limits import AdaptiveLimiter


class Now:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def now():
    return Now()


def test_each_second_is_of_one_kind(now):
    clock = CaseClock(now)
    now.seconds = 1
    with clock.at("endpoint") as exchange:
        with waiting_for_slot():
            now.seconds = 3
        now.seconds = 6
        assert exchange.seconds() == 3
    now.seconds = 7
    with clock.at("tools"):
        now.seconds = 9
    assert clock.seconds == {"slots": 2, "endpoint": 3, "tools": 2}  # and 2 s of none of them


def test_a_tool_that_asks_a_model_waits_for_it(now):
    clock = CaseClock(now)
    with clock.at("tools"):
        now.seconds = 1
        with clock.at("endpoint"):
            now.seconds = 3
        now.seconds = 4
    assert clock.seconds == {"slots": 0, "endpoint": 2, "tools": 2}


def test_outside_of_a_case_waits_are_not_noted():
    with waiting_for_slot():
        pass


def test_requests_at_once_are_no_longer_than_the_case(now):
    clock, limiter = CaseClock(now), None

    async def ask(answer):
        with clock.at("endpoint") as exchange:
            async with limiter.slot():
                await answer
            return exchange.seconds()

    async def scene():
        nonlocal limiter
        limiter = AdaptiveLimiter(1)
        answers = [asyncio.get_running_loop().create_future() for _ in range(3)]
        asked = [asyncio.create_task(ask(answer)) for answer in answers]
        for answer in answers:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            now.seconds += 1
            answer.set_result(None)
            await asyncio.sleep(0)
        return await asyncio.gather(*asked)

    assert asyncio.run(scene()) == [1, 1, 1]
    assert clock.seconds == {"slots": 0, "endpoint": 3, "tools": 0}


def test_a_case_that_is_cancelled_while_it_waits_is_at_nothing(now):
    clock = CaseClock(now)

    async def wait():
        with clock.at("endpoint"), waiting_for_slot():
            await asyncio.Event().wait()

    async def scene():
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        now.seconds = 2
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scene())
    now.seconds = 5
    assert clock.seconds == {"slots": 2, "endpoint": 0, "tools": 0}
