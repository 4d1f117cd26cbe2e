"""The window of concurrent requests, as a table of events and by random ones. Times are written down, nothing waits."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.model.limits import START, Ticket, Window

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


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("latency", [0.05, 0.2, 0.45])
def test_a_queue_at_the_endpoint_never_comes_near_the_time_out(lanes: int, latency: float) -> None:
    wide = max(rounds(window(timeout=10.0), 40, latency, lanes))
    assert wide * latency / lanes <= 0.85 * 10.0


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


def test_one_refusal_among_many_answers_changes_nothing() -> None:
    one = window(8)
    for _ in range(200):
        for ticket in send(one, 19):
            one.at(0.0).answered(ticket)
            one.at(0.0).leave()
        (ticket,) = send(one, 1)
        one.at(0.0).refused(ticket)
        one.at(0.0).leave()
    assert one.limit == 8


@pytest.mark.parametrize(("refusals", "limit"), [(5, 100), (50, 50)])
def test_the_first_refusals_of_a_full_house_are_judged_by_all_that_was_sent(refusals: int, limit: int) -> None:
    """Refusals are answered at once, answers come after seconds: the first news of a run are all refusals."""
    one = window(100, start=100)
    for ticket in send(one, 100)[:refusals]:
        one.at(0.0).refused(ticket)
    assert one.limit == limit


def test_the_first_refusals_of_a_small_beginning_are_judged_as_if_all_had_been_sent() -> None:
    one = window(32)
    tickets = send(one, 8)
    for ticket in tickets[:3]:
        one.at(0.0).refused(ticket)
    assert one.limit == 8
    one.at(0.0).refused(tickets[3])
    assert one.limit == 4
    for ticket in send(one, 30, 0.1):
        one.at(0.2).answered(ticket)
    assert one.limit == 24  # three quarters of what it was to become


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


def test_a_time_out_now_and_then_changes_nothing() -> None:
    one = window(32, start=32, timeout=10.0)
    tickets = send(one, 32)
    for ticket in tickets[:30]:
        one.at(9.0).answered(ticket)
    for ticket in tickets[30:]:
        one.at(10.0).timed_out(ticket)
    assert one.limit == 32


def test_time_outs_of_requests_that_are_sent_alone_have_another_cause() -> None:
    """A model that never ends a fifth of its answers: a small window does not help, and makes the run many times
    longer."""
    one, seen = window(16, start=1, timeout=10.0), []
    for now in range(0, 60, 10):
        (ticket,) = send(one, 1, now)
        one.at(now + 10.0).timed_out(ticket)
        one.at(now + 10.0).leave()
        seen.append(one.limit)
    assert seen == [1, 1, 16, 16, 16, 16]


def test_a_full_window_follows_its_bound_and_a_smaller_one_stays() -> None:
    one = window(4)
    one.at(0.0).resize(6)
    assert one.limit == 6
    one.at(0.0).resize(2)
    assert one.limit == 2
    two = window(32)
    two.at(0.0).resize(40)
    assert two.limit == START


def test_a_window_that_is_not_used_does_not_grow() -> None:
    one, now = window(128, timeout=10.0), 0.0
    for _ in range(100):
        (ticket,) = send(one, 1, now)
        now += 0.1
        one.at(now).answered(ticket)
        one.at(now).leave()
    assert one.limit == START


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
