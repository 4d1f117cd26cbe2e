"""Concurrent requests and the rate at which they go out: the limiter, its window, rates that processes share."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.model.limits import START, AdaptiveLimiter, Ticket, Window
from agentgauge.model.rates import FIRST_TOKENS, Rates
from tests.model.fault_server import FaultServer, answer
from tests.plugin.project import Project


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


# -- rates


def rates(tmp_path, now, *, model="m", requests=None, tokens=None):
    return Rates(tmp_path / "rates", model, requests=requests, tokens=tokens, clock=lambda: now[0])


def moments(limited, now, count):
    """When so many requests go out, one after the other."""
    sent = []
    while len(sent) < count:
        _, wait = limited.take()
        if wait:
            now[0] += wait
        else:
            sent.append(now[0])
    return sent


def test_requests_go_out_at_even_distances_whoever_sends_them(tmp_path):
    now = [100.0]
    one, other = (rates(tmp_path, now, requests=30) for _ in range(2))
    assert one.take() == (FIRST_TOKENS, 0.0) and other.take() == (FIRST_TOKENS, 2.0)
    assert moments(other, now, 2) == [102.0, 104.0]
    now[0] = 200.0  # what was not used is not saved up
    assert moments(one, now, 2) == [200.0, 202.0]
    assert rates(tmp_path, now, model="another", requests=30).take()[1] == 0.0


def test_tokens_count_as_the_mean_and_are_corrected_by_the_reply(tmp_path):
    now = [0.0]
    limited = rates(tmp_path, now, tokens=60_000)  # one second for 1,000 tokens
    assert moments(limited, now, 2) == [0.0, 1.0]
    limited.used(FIRST_TOKENS, 4000)
    assert limited.take() == (4000.0, pytest.approx(4.0))
    limited.used(FIRST_TOKENS, 100)  # a request that waits goes earlier then
    assert limited.take() == (2050.0, pytest.approx(3.1))


@pytest.mark.parametrize(("tokens", "seconds"), [(50, 15.0), (30_000, 930.0)])
def test_the_rate_of_tokens_holds_over_a_burst(tmp_path, tokens, seconds):
    """32 requests at 60,000 tokens a minute, each of which is answered before the next one goes out."""
    now, sent = [0.0], []
    limited = rates(tmp_path, now, tokens=60_000)
    for _ in range(32):
        sent += moments(limited, now, 1)
        limited.used(limited.take()[0] if len(sent) > 1 else FIRST_TOKENS, tokens)
    assert sent[-1] <= seconds and sum([tokens] * 31) / 1000 <= seconds


def test_processes_share_the_file(tmp_path):
    code = (
        "import sys; from pathlib import Path; from agentgauge.model.rates import Rates\n"
        "limited = Rates(Path(sys.argv[1]), 'm', requests=60, tokens=None, clock=lambda: 0.0)\n"
        "print(sum(limited.take()[1] == 0 for _ in range(200)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "rates")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(process.communicate(timeout=60)[0] for process in started) == ["0\n", "1\n"]


def test_a_run_keeps_the_rate(tmp_path):
    project, sent, lock = Project.make(tmp_path / "project", samples=12), [], threading.Lock()

    def choose(seen):
        with lock:
            sent.append(time.monotonic())
        return answer(str(seen.body["messages"][-1]["content"]).split()[-1])

    with FaultServer(choose=choose) as endpoint:
        table = f'[models.mine]\nurl = "{endpoint.url}"\nmodel = "m"\nrequests_per_minute = 600\n'
        (project.path / "agentgauge.toml").write_text(table)
        result = project.run("--model", "mine", "--run-dir", "run", "-n", "2")
    assert result.status == 0, result.output
    assert len(sent) == 12 and max(sent) - min(sent) >= 0.7  # of 1.1: the first may have been on their way longer
    assert not (project.path / "run" / "rates").exists()


# -- the window, as a table of events and by random ones; times are written down, nothing waits

LONG = 600.0  # seconds; a time-out that is far away


class Timed(Window):
    """A window whose clock the test sets."""

    def at(self, now: float) -> Timed:
        self.now = now
        return self


def window(largest: int = 32, *, start: int = START, timeout: float = LONG) -> Timed:
    made = Timed(largest, start=start, timeout=timeout, clock=lambda: made.now)
    return made.at(0.0)


def send(window: Timed, number: int, now: float = 0.0) -> list[Ticket]:
    tickets = []
    for _ in range(number):
        window.at(now).enter()
        tickets.append(window.at(now).ticket())
    return tickets


def rounds(window: Timed, number: int, latency: float = 0.0, lanes: int = 0, now: float = 0.0) -> list[int]:
    """The limit after each of so many rounds against an endpoint that is always sent as much as the window allows.

    It takes ``latency`` seconds for a request; with ``lanes``, for that many at once, first come, first served."""
    limits, finished = [], itertools.count(1)
    busy: list[float] = [now] * lanes  # when each lane is free
    waiting: list[tuple[float, int, Ticket]] = []
    before = window.limit

    def fill(at: float) -> None:
        for ticket in send(window, max(0, window.limit - window.in_flight), at):
            end = at + latency
            if lanes:
                busy.sort()
                end = busy[0] = max(busy[0], at) + latency
            waiting.append((end, next(finished), ticket))

    fill(now)
    for _ in range(number):
        for _ in range(before):
            waiting.sort(key=lambda entry: entry[:2])
            end, _, ticket = waiting.pop(0)
            window.at(end).answered(ticket)
            window.at(end).leave()
            fill(end)
        before = window.limit
        limits.append(before)
    return limits


def test_it_begins_small_and_is_as_wide_as_it_may_after_one_round_far_from_the_time_out() -> None:
    assert START <= 16
    assert window().limit == START and window(3).limit == 3
    assert rounds(window(128), 1, latency=0.2, now=86400.0) == [128]


@pytest.mark.parametrize(
    ("latency", "lanes", "timeout", "limits"),
    [
        pytest.param(3.0, 0, 10.0, [16, 32, 32], id="none waits: it doubles"),
        pytest.param(0.5, 1, 10.0, [16, 12, 12, 12], id="one at a time: a doubling that gains nothing"),
        pytest.param(5.0, 1, 100.0, [16, 12, 12, 12], id="the same in other units"),
        pytest.param(1.0, 1, 10.0, [8, 8, 8], id="one at a time, and the next doubling would reach the time-out"),
        pytest.param(2.0, 16, 10.0, [16, 32, 32], id="sixteen at a time: the time-out is far"),
    ],
)
def test_how_it_grows(latency: float, lanes: int, timeout: float, limits: list[int]) -> None:
    assert rounds(window(timeout=timeout), len(limits), latency, lanes) == limits


def test_a_burst_of_refusals_halves_once_and_answers_give_the_slots_back() -> None:
    one, seen, now = window(8), [], 0.0
    for ticket in send(one, 2):
        one.at(now).refused(ticket)  # both were concurrent
        one.at(now).leave()
    seen.append(one.limit)
    send(one, 8)
    for answers in (2, 6, 100):
        for _ in range(answers):
            now += 1.0
            ticket = one.at(now - 8.0).ticket()
            one.at(now).answered(ticket)
        seen.append(one.limit)  # three quarters are back at once; from there one for as many answers as there are slots
    one.in_flight = 0
    for _ in range(30):
        (ticket,) = send(one, 1)
        one.at(0.0).refused(ticket)
        one.at(0.0).leave()
    assert [*seen, one.limit] == [4, 6, 7, 8, 1]


def test_time_outs_halve_it_once() -> None:
    one = window(32, start=32, timeout=10.0)
    tickets = send(one, 32)
    for ticket in tickets[:20]:
        one.at(9.0).answered(ticket)
    for ticket in tickets[20:]:
        one.at(10.0).timed_out(ticket)
    assert one.limit == 16
    for ticket in send(one, 15, 11.0):
        one.at(20.0).answered(ticket)
    assert one.limit == 16  # other than with refusals, nothing is given back: the queue would be as long again


KINDS = st.sampled_from(("send", "answered", "refused", "timed out", "lost", "resize"))
EVENTS = st.lists(st.tuples(KINDS, st.integers(0, 40), st.floats(0, 20)), max_size=200)


@given(st.integers(1, 40), st.floats(0.1, 600), EVENTS)
def test_whatever_happens_the_limit_is_between_one_and_the_bound(
    largest: int, timeout: float, events: list[tuple[str, int, float]]
) -> None:
    one, now, out = window(largest, timeout=timeout), 0.0, []
    for kind, number, pause in events:
        now += pause
        before = one.limit
        if kind == "send":
            out += send(one, min(number, one.limit - one.in_flight), now)
        elif kind == "resize":
            one.at(now).resize(number + 1)
        elif out:
            ticket = out.pop(number % len(out))
            if kind == "answered":
                one.at(now).answered(ticket)
            elif kind == "refused":
                one.at(now).refused(ticket)
                assert one.limit in (before, max(1, before // 2))
            elif kind == "timed out":
                one.at(now).timed_out(ticket)
                assert one.limit in (before, max(1, before // 2), one.largest)
            one.at(now).leave()
        assert 1 <= one.limit <= one.largest and one.in_flight == len(out)
