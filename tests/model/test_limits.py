"""The limiter: never more than its limit, halves once per burst of refusals, is soon back."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from harness.model.limits import AdaptiveLimiter


def test_no_more_than_the_limit_at_once() -> None:
    limiter, most = AdaptiveLimiter(3), 0

    async def job() -> None:
        nonlocal most
        async with limiter.slot():
            most = max(most, limiter.in_flight)
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(job() for _ in range(20)))

    asyncio.run(main())
    assert most == 3 and limiter.in_flight == 0


def test_a_burst_of_refusals_halves_once_and_successes_give_the_places_back() -> None:
    async def main() -> list[int]:
        limiter, seen = AdaptiveLimiter(8), []
        async with limiter.slot() as first, limiter.slot() as second:
            limiter.throttled(first)
            limiter.throttled(second)  # was in the air at the same time
        seen.append(limiter.limit)
        for _ in range(2):
            limiter.succeeded()
        seen.append(limiter.limit)  # three quarters are back at once
        for _ in range(6):
            limiter.succeeded()
        seen.append(limiter.limit)  # from there one for as many successes as there are places
        for _ in range(100):
            limiter.succeeded()
        seen.append(limiter.limit)
        for _ in range(30):
            async with limiter.slot() as ticket:
                limiter.throttled(ticket)
        seen.append(limiter.limit)
        return seen

    assert asyncio.run(main()) == [4, 6, 7, 8, 1]


def test_one_refusal_among_many_answers_changes_nothing() -> None:
    async def main() -> int:
        limiter = AdaptiveLimiter(8)
        for _ in range(200):
            for _ in range(19):
                limiter.succeeded()
            async with limiter.slot() as ticket:
                limiter.throttled(ticket)
        return limiter.limit

    assert asyncio.run(main()) == 8


def test_the_first_refusals_of_a_full_house_are_judged_by_all_that_was_put() -> None:
    """Refusals are answered at once, successes after seconds: the first answers of a run are all refusals."""

    async def main(refusals: int) -> int:
        limiter = AdaptiveLimiter(100)
        async with AsyncExitStack() as stack:
            tickets = [await stack.enter_async_context(limiter.slot()) for _ in range(100)]
            for ticket in tickets[:refusals]:
                limiter.throttled(ticket)
        return limiter.limit

    assert [asyncio.run(main(refusals)) for refusals in (5, 50)] == [100, 50]


def test_a_request_at_rest_holds_no_place_and_is_counted() -> None:
    seen: list[int] = []

    async def main() -> None:
        limiter = AdaptiveLimiter(1)
        limiter.on_rest = lambda: seen.append(limiter.at_rest)
        with limiter.resting():
            async with limiter.slot():
                seen.append(limiter.in_flight)

    asyncio.run(asyncio.wait_for(main(), 5))
    assert seen == [1, 1, 0]


def test_a_cancelled_wait_gives_its_place_on() -> None:
    async def main() -> int:
        limiter = AdaptiveLimiter(1)

        async def job() -> None:
            async with limiter.slot():
                await asyncio.sleep(0)

        async with limiter.slot():
            waiting = [asyncio.create_task(job()) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
        waiting[1].cancel()  # its place was given at this very moment
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(result) for result in results[:2]] == [asyncio.CancelledError] * 2 and results[2] is None
        return limiter.in_flight

    assert asyncio.run(main()) == 0


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        AdaptiveLimiter(0)
