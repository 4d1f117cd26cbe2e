"""Look-ahead without pytest: solves that wait for a word of the test."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from agentgauge.run.prefetcher import STOPPED, Prefetcher

from agentgauge.core.types import Record
from agentgauge.run import prefetcher as module
from agentgauge.run.coordination.slots import SlotPool


@dataclass
class Runner:
    """Cases run until the test lets them end."""

    slots: SlotPool
    running: set[str] = field(default_factory=set)
    most: int = 0
    at_rest: int = 0
    unready: str = ""
    affordable: int = 1000  # cases that the budget covers in all
    reserved: int = 0
    stopped: bool = False
    awaits: bool = False  # what runs, because the run was stopped
    cleanup: float = 0.0  # seconds that a cancelled case takes to end
    cancelled: list[str] = field(default_factory=list)
    cleaned: list[str] = field(default_factory=list)
    ends: dict[str, threading.Event] = field(default_factory=dict)

    async def run(self, case: Any) -> Record:
        name = case.id[1]
        self.running.add(name)
        self.most = max(self.most, len(self.running))
        end = self.ends.setdefault(name, threading.Event())
        try:
            while not end.is_set():  # noqa: ASYNC110 - another thread sets it
                await asyncio.sleep(0.002)
        except asyncio.CancelledError:
            self.cancelled.append(name)
            await asyncio.sleep(self.cleanup)
            self.cleaned.append(name)
            raise
        self.running.discard(name)
        return Record(*case.id, config="", status="missing")

    def resting(self) -> int:
        return self.at_rest

    def is_ready(self, case: Any) -> bool:
        return case.id[1] not in self.unready

    def reserve(self, case: Any) -> bool:
        if fits := self.reserved < self.affordable:
            self.reserved += 1
        return fits

    def resize(self, slots: int) -> None:
        """Nothing depends on it."""

    def is_stopped(self) -> bool:
        return self.stopped

    @property
    def stop_file(self) -> Any:
        return SimpleNamespace(awaits=lambda: self.awaits)

    def end_requests(self) -> None:
        """None is sent."""

    def note_running(self, cases: int) -> None:
        """Nobody looks."""

    def watch(self) -> None:
        """Nothing to watch."""

    def end(self, *names: str) -> None:
        for name in names:
            self.ends.setdefault(name, threading.Event()).set()

    async def close(self) -> None:
        """Nothing to close."""


def case(name: str) -> Any:
    return SimpleNamespace(id=("t", name, 1))


@pytest.fixture
def start(tmp_path):
    started: list[Prefetcher] = []

    def make(
        cases: str, *, unready: str = "", affordable: int = 1000, number: int = 0, count: int = 1, total: int
    ) -> tuple[Runner, Prefetcher]:
        slots = SlotPool(tmp_path / "places", number=number, count=count, total=total)
        runner = Runner(slots, unready=unready, affordable=affordable)
        prefetcher = Prefetcher(runner)
        started.append(prefetcher)
        prefetcher.submit(case(name) for name in cases)
        return runner, prefetcher

    yield make
    for prefetcher in started:
        prefetcher.close()


def recheck(prefetcher) -> None:
    """In its thread, as clients do."""
    prefetcher._loop.call_soon_threadsafe(prefetcher.recheck)


def until(condition, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_slow_case_holds_up_nothing_but_itself(start):
    runner, _ = start("abcdef", total=2)
    runner.end("b", "c", "d", "e")
    until(lambda: runner.running == {"a", "f"})
    assert runner.most == 2


def test_a_case_that_only_waits_for_a_next_try_gives_its_place_away(start):
    runner, prefetcher = start("abcdef", total=2)
    until(lambda: runner.running == {"a", "b"})
    runner.at_rest = 1
    recheck(prefetcher)
    until(lambda: runner.running == {"a", "b", "c"})


def test_however_many_wait_the_cases_begun_are_at_most_twice_the_places(start):
    runner, prefetcher = start("abcdefgh", total=2)
    runner.at_rest = 100
    recheck(prefetcher)
    until(lambda: runner.running == {"a", "b", "c", "d"})
    runner.end("a")
    until(lambda: "e" in runner.running)
    assert runner.most == 4


def test_a_worker_that_has_run_dry_lends_its_places(start):
    first, _ = start("ab", number=0, count=2, total=4)
    second, _ = start("cdefgh", number=1, count=2, total=4)
    until(lambda: first.running == {"a", "b"} and second.running == {"c", "d"})
    first.end("a")
    until(lambda: second.running == {"c", "d", "e"})  # nothing has landed there: it asks again by itself
    first.end("b")
    until(lambda: second.running == {"c", "d", "e", "f"})
    second.end("c", "d", "e", "f", "g", "h")
    until(lambda: not second.running)
    assert second.most == 4


def test_others_go_before_cases_that_lack_something_and_these_follow_in_their_order(start):
    runner, prefetcher = start("abcdefgh", unready="abc", total=2)
    until(lambda: runner.running == {"d", "e"})
    runner.end("d")
    until(lambda: runner.running == {"e", "f"})
    runner.unready = ""
    recheck(prefetcher)
    runner.end("e", "f")
    until(lambda: runner.running == {"a", "b"})
    runner.end("a", "b")
    until(lambda: runner.running == {"c", "g"})


def test_cases_come_back_as_soon_as_what_they_lack_is_there_and_others_stay(start):
    runner, prefetcher = start("abcdefgh", unready="abc", total=2)
    until(lambda: runner.running == {"d", "e"})
    runner.unready = "ac"
    recheck(prefetcher)
    runner.end("d", "e")
    until(lambda: runner.running == {"b", "f"})
    runner.unready = ""
    recheck(prefetcher)
    runner.end("b", "f")
    until(lambda: runner.running == {"a", "c"})


def test_a_worker_whose_cases_lack_something_keeps_its_places(start):
    first, prefetcher = start("ab", unready="ab", number=0, count=2, total=4)
    second, _ = start("cdefgh", number=1, count=2, total=4)
    until(lambda: second.running == {"c", "d"})
    second.end("c")
    until(lambda: second.running == {"d", "e"})
    first.unready = ""
    recheck(prefetcher)
    until(lambda: first.running == {"a", "b"})
    assert second.most == 2


def test_cases_that_lack_something_are_let_go_with_the_others(start):
    runner, prefetcher = start("abc", unready="ab", total=2)
    until(lambda: runner.running == {"c"})
    prefetcher.hold()
    runner.end("c")
    assert [prefetcher.result(case(name)).status for name in "ab"] == ["missing"] * 2


def test_a_case_that_the_budget_may_not_cover_waits_and_keeps_its_place(start):
    runner, _ = start("abc", affordable=1, total=2)
    until(lambda: runner.running == {"a"})
    runner.affordable = 3  # no case has ended: it asks again by itself
    until(lambda: runner.running == {"a", "b"})
    runner.end("a", "b")
    until(lambda: runner.running == {"c"})


def test_a_stop_reaches_cases_that_wait_for_the_budget(start):
    runner, prefetcher = start("abc", affordable=0, total=2)
    runner.stopped = True
    assert prefetcher.result(case("a")).error == STOPPED


def test_nothing_new_starts_after_hold(start):
    runner, prefetcher = start("abcd", total=1)
    until(lambda: runner.running == {"a"})
    prefetcher.hold()
    runner.end("a")
    assert prefetcher.result(case("b")).status == "missing"  # pytest may have come to it before it heard of the stop
    until(lambda: not runner.running)
    assert runner.most == 1


def test_a_stop_before_the_first_case_is_started_keeps_nobody_waiting(start):
    runner, prefetcher = start("", total=2)
    runner.stopped = True
    prefetcher.submit(case(name) for name in "abc")
    assert [prefetcher.result(case(name)).status for name in "abcx"] == ["missing"] * 4
    assert runner.most == 0


def test_a_case_that_nobody_planned_is_the_next_to_start_and_keeps_to_the_places(start):
    runner, prefetcher = start("abcd", total=2)
    until(lambda: runner.running == {"a", "b"})
    asking = threading.Thread(target=prefetcher.result, args=(case("x"),))
    asking.start()
    runner.end("a", "x")
    asking.join(20)
    assert not asking.is_alive()
    until(lambda: runner.running == {"b", "c"})
    assert runner.most == 2


def test_cases_that_take_too_long_to_end_are_cancelled_once(start, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.0)
    monkeypatch.setattr(module, "STOP_SECONDS", 0.01)
    runner, prefetcher = start("abc", total=2)
    until(lambda: runner.running == {"a", "b"})
    runner.cleanup, runner.awaits = 0.2, True
    assert [prefetcher.result(case(name)).error for name in "abc"] == [STOPPED] * 3
    assert sorted(runner.cancelled) == sorted(runner.cleaned) == ["a", "b"]


def test_a_look_ahead_that_cannot_go_on_says_so_instead_of_waiting(start):
    runner, prefetcher = start("abc", total=1)
    until(lambda: runner.running == {"a"})
    runner.slots.limit = lambda running, waiting: 1 / 0
    runner.end("a")
    with pytest.raises(ZeroDivisionError):
        prefetcher.result(case("b"))
