"""Look-ahead without pytest: solves that wait for a word of the test."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from agentgauge.core.types import Record
from agentgauge.run.prefetcher import LookAhead
from agentgauge.run.slots import Places


@dataclass
class Stage:
    """Solves are in the air until they are let go."""

    air: set[str] = field(default_factory=set)
    most: int = 0
    at_rest: int = 0
    unready: str = ""
    gates: dict[str, threading.Event] = field(default_factory=dict)

    async def solve(self, planned: Any) -> Record:
        name = planned.id[1]
        self.air.add(name)
        self.most = max(self.most, len(self.air))
        gate = self.gates.setdefault(name, threading.Event())
        while not gate.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.002)
        self.air.discard(name)
        return Record(*planned.id, config="", status="missing")

    def ready(self, planned: Any) -> bool:
        return planned.id[1] not in self.unready

    def land(self, *names: str) -> None:
        for name in names:
            self.gates.setdefault(name, threading.Event()).set()

    async def close(self) -> None:
        """Nothing to close."""


def case(name: str) -> Any:
    return SimpleNamespace(id=("t", name, 1))


@pytest.fixture
def start(tmp_path):
    running: list[LookAhead] = []

    def make(cases: str, *, unready: str = "", number: int = 0, count: int = 1, total: int) -> tuple[Stage, LookAhead]:
        stage = Stage(unready=unready)
        places = Places(tmp_path / "places", number=number, count=count, total=total)
        ahead = LookAhead(
            stage.solve,
            lambda record: None,
            stage.close,
            places=places,
            at_rest=lambda: stage.at_rest,
            ready=stage.ready,
        )
        running.append(ahead)
        ahead.plan(case(name) for name in cases)
        return stage, ahead

    yield make
    for ahead in running:
        ahead.stop()


def until(condition, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_slow_case_holds_up_nothing_but_itself(start):
    stage, _ = start("abcdef", total=2)
    stage.land("b", "c", "d", "e")
    until(lambda: stage.air == {"a", "f"})
    assert stage.most == 2


def test_a_case_that_only_waits_for_a_next_try_gives_its_place_away(start):
    stage, ahead = start("abcdef", total=2)
    until(lambda: stage.air == {"a", "b"})
    stage.at_rest = 1
    ahead._loop.call_soon_threadsafe(ahead.rested)
    until(lambda: stage.air == {"a", "b", "c"})


def test_however_many_wait_the_cases_begun_are_at_most_twice_the_places(start):
    stage, ahead = start("abcdefgh", total=2)
    stage.at_rest = 100
    ahead._loop.call_soon_threadsafe(ahead.rested)
    until(lambda: stage.air == {"a", "b", "c", "d"})
    stage.land("a")
    until(lambda: "e" in stage.air)
    assert stage.most == 4


def test_a_worker_that_has_run_dry_lends_its_places(start):
    first, _ = start("ab", number=0, count=2, total=4)
    second, _ = start("cdefgh", number=1, count=2, total=4)
    until(lambda: first.air == {"a", "b"} and second.air == {"c", "d"})
    first.land("a")
    until(lambda: second.air == {"c", "d", "e"})  # nothing has landed there: it asks again by itself
    first.land("b")
    until(lambda: second.air == {"c", "d", "e", "f"})
    second.land("c", "d", "e", "f", "g", "h")
    until(lambda: not second.air)
    assert second.most == 4


def test_others_go_before_cases_that_lack_something_and_these_follow_in_their_order(start):
    stage, ahead = start("abcdefgh", unready="abc", total=2)
    until(lambda: stage.air == {"d", "e"})
    stage.land("d")
    until(lambda: stage.air == {"e", "f"})
    stage.unready = ""
    ahead._loop.call_soon_threadsafe(ahead.rested)
    stage.land("e", "f")
    until(lambda: stage.air == {"a", "b"})
    stage.land("a", "b")
    until(lambda: stage.air == {"c", "g"})


def test_cases_come_back_as_soon_as_what_they_lack_is_there_and_others_stay(start):
    stage, ahead = start("abcdefgh", unready="abc", total=2)
    until(lambda: stage.air == {"d", "e"})
    stage.unready = "ac"
    ahead._loop.call_soon_threadsafe(ahead.rested)
    stage.land("d", "e")
    until(lambda: stage.air == {"b", "f"})
    stage.unready = ""
    ahead._loop.call_soon_threadsafe(ahead.rested)
    stage.land("b", "f")
    until(lambda: stage.air == {"a", "c"})


def test_a_worker_whose_cases_lack_something_keeps_its_places(start):
    first, ahead = start("ab", unready="ab", number=0, count=2, total=4)
    second, _ = start("cdefgh", number=1, count=2, total=4)
    until(lambda: second.air == {"c", "d"})
    second.land("c")
    until(lambda: second.air == {"d", "e"})
    first.unready = ""
    ahead._loop.call_soon_threadsafe(ahead.rested)
    until(lambda: first.air == {"a", "b"})
    assert second.most == 2


def test_cases_that_lack_something_are_let_go_with_the_others(start):
    stage, ahead = start("abc", unready="ab", total=2)
    until(lambda: stage.air == {"c"})
    ahead.hold()
    stage.land("c")
    assert [ahead.result(case(name)).status for name in "ab"] == ["missing"] * 2


def test_nothing_new_starts_after_hold(start):
    stage, ahead = start("abcd", total=1)
    until(lambda: stage.air == {"a"})
    ahead.hold()
    stage.land("a")
    assert ahead.result(case("b")).status == "missing"  # pytest may have come to it before it heard of the stop
    until(lambda: not stage.air)
    assert stage.most == 1


def test_a_stop_before_the_first_case_is_started_keeps_nobody_waiting(start):
    stage, ahead = start("", total=2)
    ahead._held = lambda: True
    ahead.plan(case(name) for name in "abc")
    assert [ahead.result(case(name)).status for name in "abcx"] == ["missing"] * 4
    assert stage.most == 0


def test_a_case_that_nobody_planned_is_the_next_to_start_and_keeps_to_the_places(start):
    stage, ahead = start("abcd", total=2)
    until(lambda: stage.air == {"a", "b"})
    asking = threading.Thread(target=ahead.result, args=(case("x"),))
    asking.start()
    stage.land("a", "x")
    asking.join(20)
    assert not asking.is_alive()
    until(lambda: stage.air == {"b", "c"})
    assert stage.most == 2


def test_a_look_ahead_that_cannot_go_on_says_so_instead_of_waiting(start):
    stage, ahead = start("abc", total=1)
    until(lambda: stage.air == {"a"})
    ahead._places.room = lambda flying, waiting: 1 / 0
    stage.land("a")
    with pytest.raises(ZeroDivisionError):
        ahead.result(case("b"))
