"""The semaphore around the window: never more than its limit, first come, first served, nothing lost on the way."""

from __future__ import annotations

import asyncio

import pytest

from agentgauge.model.limits import AdaptiveLimiter


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


def test_the_wait_for_a_slot_is_not_counted_as_latency() -> None:
    async def main() -> list[int]:
        limiter, ages = AdaptiveLimiter(2), []

        async def job() -> None:
            async with limiter.slot():
                ages.append(limiter.older_than(0.04))
                await asyncio.sleep(0.05)

        async with limiter.slot():
            jobs = [asyncio.create_task(job()) for _ in range(4)]
            await asyncio.gather(*jobs)
            ages.append(limiter.older_than(0.1))
        return [*ages, limiter.older_than(0.0)]

    assert asyncio.run(main()) == [
        0,
        1,
        1,
        1,
        1,
        0,
    ]  # each is fresh when it starts; only the one around all of them is old


def test_slots_that_are_added_are_given_to_those_that_wait() -> None:
    async def main() -> int:
        limiter, started = AdaptiveLimiter(1), []

        async def job() -> None:
            async with limiter.slot():
                started.append(1)
                await asyncio.sleep(5)

        jobs = [asyncio.create_task(job()) for _ in range(4)]
        await asyncio.sleep(0)
        limiter.resize(3)
        await asyncio.sleep(0)
        for one in jobs:
            one.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        return len(started)

    assert asyncio.run(main()) == 3
