"""The limiter: never more than its limit, halves once per burst of refusals, grows with successes."""

from __future__ import annotations

import asyncio

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


def test_a_burst_of_refusals_halves_once_and_successes_grow_back() -> None:
    async def main() -> list[int]:
        limiter, seen = AdaptiveLimiter(8), []
        async with limiter.slot() as first, limiter.slot() as second:
            limiter.throttled(first)
            limiter.throttled(second)  # was in the air at the same time
        seen.append(limiter.limit)
        for _ in range(4):
            limiter.succeeded()
        seen.append(limiter.limit)
        for _ in range(100):
            limiter.succeeded()
        seen.append(limiter.limit)
        for _ in range(9):
            async with limiter.slot() as ticket:
                limiter.throttled(ticket)
        seen.append(limiter.limit)
        return seen

    assert asyncio.run(main()) == [4, 5, 8, 1]


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
