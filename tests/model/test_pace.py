"""The pace of many requests under faults, in simulated time: limiter and retries, beside an ideal scheduler."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from agentgauge.core.causes import Failure
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.retry import EndpointHealth, RetryPolicy, persist
from tests.model.ideal import simulated

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
                return Failure("http 429", "", limited=True)
            self.limiter.timed_out(ticket)
            return Failure("timeout", "", by_others=True)


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
