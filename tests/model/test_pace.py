"""The pace of many requests, in simulated time: limiter and retries together, under faults and with queues."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import pytest

from agentgauge.model.limits import START, AdaptiveLimiter
from agentgauge.model.retry import EndpointHealth, Failure, RetryPolicy, persist
from benchmarks.ideal import simulated

TIMEOUT = 5.0  # seconds
QUICK = 0.01  # seconds until a refusal is answered

Fate = tuple[str, float]
"""What becomes of a try ("ok", "limit", "timeout"), and seconds until it does."""


class SimulatedTime(asyncio.SelectorEventLoop):
    """When there is nothing to do, it is at once as late as the next timer wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now = max(self.now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def mixed(seed: int) -> Callable[[int, int], Fate]:
    """5 % refusals, 2 % time-outs, latencies with a p99 20 times their median. The same for a request whenever it is
    put."""

    def fate(key: int, tries: int) -> Fate:
        draw = random.Random(f"{seed} {key} {tries}")
        share = draw.random()
        if share < 0.05:
            return "limit", QUICK
        if share < 0.07:
            return "timeout", TIMEOUT
        return "ok", min(0.1 * draw.lognormvariate(0, 1.288), 4.0)

    return fate


def ideal(fate: Callable[[int, int], Fate], requests: int, places: int) -> float:
    """Seconds, where no place idles while something can be put into it, and a retry is put the moment the try before
    it ended."""

    def held(key: int, tries: int) -> tuple[float, float | None]:
        kind, seconds = fate(key, tries)
        return seconds, None if kind == "ok" else 0.0

    return simulated(held, range(requests), places)


@dataclass
class Run:
    """Puts every request as soon as it may: as many cases at once as there are places, and one more for each that
    rests."""

    fate: Callable[[int, int], Fate]
    requests: int
    limiter: AdaptiveLimiter
    cap: int = 0  # more at once than this are refused
    in_air: int = 0
    sent: int = 0
    refused: int = 0
    widths: list[int] = field(default_factory=list)
    results: list[str | Failure] = field(default_factory=list)

    def seconds(self) -> float:
        loop = SimulatedTime()
        try:
            loop.run_until_complete(self.main())
            return loop.now
        finally:
            loop.close()

    async def main(self) -> None:
        chance = random.Random(1).random
        policy, health, more = RetryPolicy(chance=chance), EndpointHealth(), asyncio.Event()
        self.limiter.on_rest = more.set
        todo, flying = list(reversed(range(self.requests))), set()

        async def case(key: int) -> None:
            tries = iter(range(100))
            self.results.append(
                await persist(lambda: self.attempt(key, next(tries)), policy, health, self.limiter.resting)
            )
            more.set()

        while todo or flying:
            while todo and len(flying) < self.limiter.largest + self.limiter.at_rest:
                flying.add(asyncio.ensure_future(case(todo.pop())))
            await more.wait()
            more.clear()
            flying = {task for task in flying if not task.done()} if len(self.results) < self.requests else set()

    async def attempt(self, key: int, tries: int) -> str | Failure:
        async with self.limiter.slot() as ticket:
            self.sent += 1
            self.in_air += 1
            kind, seconds = ("limit", QUICK) if self.cap and self.in_air > self.cap else self.fate(key, tries)
            await asyncio.sleep(seconds)
            self.in_air -= 1
            self.widths.append(self.limiter.limit)
            if kind == "ok":
                self.limiter.answered(ticket)
                return "ok"
            if kind == "limit":
                self.refused += 1
                self.limiter.refused(ticket)
                return Failure("http 429", "", "limit")
            self.limiter.timed_out(ticket)
            return Failure("timeout", "", "crowded")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("requests", "places"), [(1024, 32), (256, 4)])
def test_faults_now_and_then_cost_little_more_than_themselves(requests: int, places: int, seed: int) -> None:
    run = Run(mixed(seed), requests, AdaptiveLimiter(places, timeout=TIMEOUT))
    assert run.seconds() <= 1.3 * ideal(run.fate, requests, places)
    assert run.results == ["ok"] * requests


@pytest.mark.parametrize("cap", [4, 16, 48])
def test_a_limit_that_is_met_is_found_and_kept(cap: int) -> None:
    run = Run(lambda key, _: ("ok", 0.1 + 0.001 * (key % 100)), 2000, AdaptiveLimiter(64), cap=cap)
    assert run.seconds() <= 1.3 * ideal(run.fate, 2000, cap)
    assert run.results == ["ok"] * 2000
    assert run.refused < 0.25 * run.sent
    settled = run.widths[500:]
    assert cap / 2 <= sum(settled) / len(settled) <= 1.4 * cap


def test_an_outage_is_followed_by_the_full_width() -> None:
    """Everything is refused for two seconds."""
    limiter = AdaptiveLimiter(32)
    run = Run(
        lambda _key, _tries: ("limit", QUICK) if 1.0 < asyncio.get_running_loop().time() < 3.0 else ("ok", 0.2),
        2000,
        limiter,
    )
    assert run.seconds() <= 2.0 + 1.3 * 2000 * 0.2 / 32
    assert min(run.widths) == 1 and limiter.limit == 32


# -- endpoints with a queue


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
@pytest.mark.parametrize(("workers", "times"), [(1, 20), (8, 20), (1, 4)], ids=lambda value: str(value))
def test_one_lane_scores_all(workers: int, times: int, order: Order, drops: bool) -> None:
    """``times``: the time-out, as a multiple of what one request takes."""
    seconds, results = run(Lanes(1, lambda _: 0.5, order, drops), 64, 0.5 * times, workers)
    assert results == ["ok"] * 64
    assert seconds <= (1.35 if order == "random" else 1.3) * 64 * 0.5


@pytest.mark.parametrize("timeout", [10.0, 600.0])
@pytest.mark.parametrize("lanes", [4, 10, 64])
def test_lanes_are_kept_busy(lanes: int, timeout: float) -> None:
    endpoint = Lanes(lanes, lambda _: 0.5)
    seconds, results = run(endpoint, 400, timeout)
    assert results == ["ok"] * 400 and endpoint.requests == 400
    assert seconds <= 1.1 * simulated(lambda _key, _tries: (0.5, None), range(400), min(lanes, IN_FLIGHT))


@pytest.mark.parametrize(
    ("timeout", "median", "spread"),
    [(600, 60, 1.0), (600, 2, 1.5), (60, 5, 1.2), (60, 10, 0.8), (60, 10, 0.3), (60, 12, 0.7)],
)
def test_the_tail_of_the_latencies_is_no_queue(timeout: float, median: float, spread: float) -> None:
    """An endpoint without a queue, with latencies of which few come near the time-out."""

    def seconds(key: int) -> float:
        return min(median * random.Random(f"1 {key}").lognormvariate(0, spread), 0.95 * timeout)

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
