"""Endpoints with a queue, in simulated time: limiter and retries of several workers, against the endpoint's own time.

Such an endpoint may take its requests in any order, and may or may not work on requests that were given up.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import pytest

from agentgauge.model.limits import START, AdaptiveLimiter
from agentgauge.model.retry import EndpointHealth, Failure, RetryPolicy, persist
from tests.model.ideal import simulated
from tests.model.test_pace import SimulatedTime

Order = Literal["first come", "last come", "random"]
Seconds = Callable[[int], float]
"""How long the endpoint works on a request."""
IN_FLIGHT = 32


@dataclass
class Lanes:
    """Works on so many requests at once."""

    free: int
    seconds: Seconds
    order: Order = "first come"
    drops: bool = False  # those that were given up
    requests: int = 0
    most: int = 0
    waiting: list[tuple[int, asyncio.Future[None]]] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    async def ask(self, key: int) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((key, future))
        self.requests += 1
        self._work()
        await future

    def _work(self) -> None:
        while self.free and self.waiting:
            place = {"first come": 0, "last come": -1, "random": self.chance.randrange(len(self.waiting))}[self.order]
            key, future = self.waiting.pop(place)
            if not (self.drops and future.done()):
                self.free -= 1
                asyncio.get_running_loop().call_later(self.seconds(key), self._done, future)

    def _done(self, future: asyncio.Future[None]) -> None:
        self.free += 1
        if not future.done():
            future.set_result(None)
        self._work()


@dataclass
class Worker:
    """Sends its requests as a run does: as many cases at once as it has slots, and one more for each that rests."""

    endpoint: Lanes
    share: int
    timeout: float
    results: list[str | Failure] = field(default_factory=list)

    async def run(self, keys: list[int]) -> None:
        limiter = AdaptiveLimiter(self.share, start=START * self.share // IN_FLIGHT, timeout=self.timeout)
        policy, health, more = RetryPolicy(chance=random.Random(1).random), EndpointHealth(), asyncio.Event()
        limiter.on_rest = more.set
        running: set[asyncio.Task[None]] = set()

        async def case(key: int) -> None:
            result = await persist(lambda: self.attempt(key, limiter, health), policy, health, limiter.resting)
            self.results.append(result)
            more.set()

        while keys or running:
            while keys and len(running) < self.share + min(limiter.at_rest, self.share):
                running.add(asyncio.ensure_future(case(keys.pop(0))))
            await more.wait()
            more.clear()
            running = {task for task in running if not task.done()} if keys or running else set()

    async def attempt(self, key: int, limiter: AdaptiveLimiter, health: EndpointHealth) -> str | Failure:
        """As Endpoint does it."""
        async with limiter.slot() as ticket:
            answers = health.answers
            try:
                async with asyncio.timeout(health.patience(self.timeout)):
                    await self.endpoint.ask(key)
            except TimeoutError:
                limiter.timed_out(ticket)
                if health.answers != answers:
                    return Failure("timeout", "", "crowded")
                health.unanswered(ticket.sent, asyncio.get_running_loop().time(), self.timeout)
                if health.dead:
                    limiter.open()
                return Failure("timeout", "", "unreachable")
            limiter.answered(ticket)
            return "ok"


def run(endpoint: Lanes, requests: int, timeout: float, workers: int = 1) -> tuple[float, list[str | Failure]]:
    """Seconds until all have ended, and how they ended."""
    loop, crew = SimulatedTime(), [Worker(endpoint, IN_FLIGHT // workers, timeout) for _ in range(workers)]

    async def main() -> None:
        await asyncio.gather(*(one.run(list(range(requests))[number::workers]) for number, one in enumerate(crew)))

    try:
        loop.run_until_complete(main())
        return loop.now, [result for one in crew for result in one.results]
    finally:
        loop.close()


@pytest.mark.parametrize("drops", [True, False], ids=["drops", "keeps"])
@pytest.mark.parametrize("order", ["first come", "last come", "random"])
@pytest.mark.parametrize(
    ("workers", "times"), [(1, 20), (2, 20), (4, 20), (8, 20), (1, 10), (2, 10), (1, 4)], ids=lambda value: str(value)
)
def test_one_lane_scores_all(workers: int, times: int, order: Order, drops: bool) -> None:
    """``times``: the time-out, as a multiple of what one request takes."""
    seconds, results = run(Lanes(1, lambda _: 0.5, order, drops), 64, 0.5 * times, workers)
    assert results == ["ok"] * 64
    assert seconds <= (1.35 if order == "random" else 1.3) * 64 * 0.5


@pytest.mark.parametrize("timeout", [10.0, 600.0])
@pytest.mark.parametrize("lanes", [4, 6, 10, 16, 24, 64])
def test_lanes_are_kept_busy(lanes: int, timeout: float) -> None:
    endpoint = Lanes(lanes, lambda _: 0.5)
    seconds, results = run(endpoint, 400, timeout)
    assert results == ["ok"] * 400 and endpoint.requests == 400
    assert seconds <= 1.1 * simulated(lambda _key, _tries: (0.5, None), range(400), min(lanes, IN_FLIGHT))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("timeout", "median", "spread"),
    [(600, 60, 1.0), (600, 2, 1.5), (60, 5, 1.2), (60, 10, 0.8), (60, 10, 0.3), (60, 12, 0.7)],
)
def test_the_tail_of_the_latencies_is_no_queue(timeout: float, median: float, spread: float, seed: int) -> None:
    """An endpoint without a queue, with latencies of which few come near the time-out."""

    def seconds(key: int) -> float:
        return min(median * random.Random(f"{seed} {key}").lognormvariate(0, spread), 0.95 * timeout)

    elapsed, results = run(Lanes(10**6, seconds), 1000, timeout)
    assert results == ["ok"] * 1000
    assert elapsed <= 1.1 * simulated(lambda key, _: (seconds(key), None), range(1000), IN_FLIGHT)


@pytest.mark.parametrize(("timeout", "most"), [(10.0, 300.0), (120.0, 1800.0), (600.0, 1800.0)])
def test_a_run_against_an_endpoint_that_never_answers_ends_soon(timeout: float, most: float) -> None:
    """With the default time-out sooner than three tries of it would take."""
    seconds, results = run(Lanes(0, lambda _: 0.0), 200, timeout)
    assert len(results) == 200 and "ok" not in results
    assert seconds <= most


def test_requests_that_are_never_answered_do_not_hold_up_the_others_for_ever() -> None:
    """Every tenth has no end, which no smaller number of concurrent requests mends."""
    endpoint = Lanes(10**6, lambda key: 1e9 if key % 10 == 0 else 5.0)
    seconds, results = run(endpoint, 1000, 60.0)
    assert results.count("ok") == 900
    assert endpoint.requests <= 900 + 7 * 100
    assert seconds <= 4 * (100 * 3 * 60.0 + 900 * 5.0) / IN_FLIGHT
