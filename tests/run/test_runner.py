"""A runner beside its caller, with cases that wait for a word of the test. Each is of a task of its own."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from agentgauge import Run
from agentgauge.core.index import Index
from agentgauge.core.registry import Registry
from agentgauge.run import runner as module
from agentgauge.run.clients import Clients
from agentgauge.run.coordination.slots import SlotPool
from agentgauge.run.coordination.stopping import STALE_SECONDS, StopFile
from agentgauge.run.hooks import hooks_of
from agentgauge.run.part import Part, Place
from agentgauge.run.planned import Planned
from agentgauge.run.runner import STOPPED, Background, Runner
from agentgauge.store.records import Appender
from tests.plugin.toy import score, toy


@dataclass
class Worker:
    """What cases, clients and a plugin's part of a process do. Its cases go on until the test lets them end."""

    begun: list[str] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    most: int = 0
    at_rest: int = 0
    unready: str = ""
    affordable: int = 1000  # cases that the part lets start in all
    reserved: int = 0
    cleanup: float = 0.0  # seconds that a cancelled case takes to end
    cancelled: list[str] = field(default_factory=list)
    cleaned: list[str] = field(default_factory=list)
    ends: dict[str, threading.Event] = field(default_factory=dict)
    recheck: Callable[[], None] = lambda: None  # as clients call it

    async def run(self, case) -> dict[str, str]:
        name = case.sample.task[-1]
        self.begun.append(name)
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
        return {"answer": "word"}

    def end(self, *names: str) -> None:
        for name in names:
            self.ends.setdefault(name, threading.Event()).set()

    def take(self, case: Planned) -> bool:
        if fits := self.reserved < self.affordable:
            self.reserved += 1
        return fits


class Cases:
    """What the test asks of the runner, with a letter for each case."""

    def __init__(self, background: Background, tasks: Registry, index: Index) -> None:
        self._background = background
        self._cases = {task.name[-1]: Planned(task, index, index.rows[0], 1) for task in tasks}
        self.hold, self.is_idle, self.close = background.hold, background.is_idle, background.close

    def submit(self, names: str) -> None:
        self._background.submit(self._cases[name] for name in names)

    def result(self, name: str):
        return self._background.result(self._cases[name])

    def recheck(self, worker: Worker) -> None:
        async def in_its_thread() -> None:
            worker.recheck()

        self._background.call(in_its_thread()).result(20)


Start = Callable[..., tuple[Worker, Cases]]


@pytest.fixture
def start(tmp_path, monkeypatch) -> Iterator[Start]:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "toy.jsonl").write_text('{"id": "s", "say": "word"}\n')
    monkeypatch.chdir(tmp_path)
    started: list[Cases] = []

    def make(
        names: str,
        *,
        unready: str = "",
        affordable: int = 1000,
        number: int = 0,
        count: int = 1,
        total: int,
        score=score,
        hooks_of=lambda _: None,
    ) -> tuple[Worker, Cases]:
        worker = Worker(unready=unready, affordable=affordable)

        class Answering(Clients):
            def at_rest(self) -> int:
                return worker.at_rest

            def ready(self, task) -> bool:
                worker.recheck = self.on_rest or worker.recheck
                return task.name[-1] not in worker.unready

        monkeypatch.setattr(module, "Clients", Answering)
        part = Part()
        part.take = lambda case: worker.take(case)
        monkeypatch.setattr(module, "ask_installed", lambda *_, **__: [part])
        tasks = Registry(toy(name=f"toy.{letter}", run=worker.run, score=score) for letter in "abcdefghx")
        settings = Run(model="oracle", registry=tasks, data="toy", run_dir="run", in_flight=total).settings
        runner = Runner(settings, tasks.names, Place(f"gw{number}", number, count), range(count), hooks_of)
        index = settings.tasks["toy.a"].data.index(tmp_path / "toy")
        started.append(Cases(Background(runner), settings.tasks, index))
        started[-1].submit(names)
        return worker, started[-1]

    yield make
    for cases in started:
        cases.close()


@pytest.fixture
def stop(tmp_path) -> Callable[..., None]:
    """Stops the run; returns once the next look sees that."""

    def make(**how: bool) -> None:
        StopFile(tmp_path / "run").write("enough", **how)
        time.sleep(2 * STALE_SECONDS)

    return make


def until(condition, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_slow_case_holds_up_nothing_but_itself(start):
    worker, _ = start("abcdef", total=2)
    worker.end("b", "c", "d", "e")
    until(lambda: worker.running == {"a", "f"})
    assert worker.most == 2


def test_results_are_the_places_of_the_records_whatever_ends_first(start):
    worker, cases = start("abc", total=3)
    worker.end("c")
    assert cases.result("c").read().task == "toy.c"
    worker.end("a", "b")
    assert [cases.result(name).status for name in "ab"] == ["passed"] * 2


def test_a_case_whose_last_hook_is_cut_off_is_no_missing_one(start):
    class Waits:
        async def pytest_agentgauge_case_finished(self, record):
            waiting.set()
            await asyncio.sleep(60)

    waiting = threading.Event()
    hooks = hooks_of([Waits()])
    worker, cases = start("a", total=1, hooks_of=lambda _: hooks)
    worker.end("a")
    assert waiting.wait(20)
    threading.Timer(0.2, cases.close).start()
    assert cases.result("a").status == "passed"


def test_a_case_that_is_submitted_again_runs_once(start):
    worker, cases = start("ab", total=1)
    cases.submit("bac")
    worker.end("a", "b", "c")
    assert [cases.result(name).status for name in "abc"] == ["passed"] * 3
    assert worker.begun == ["a", "b", "c"]


def test_a_case_that_only_waits_for_a_next_try_gives_its_place_away(start):
    worker, cases = start("abcdef", total=2)
    until(lambda: worker.running == {"a", "b"})
    worker.at_rest = 1
    cases.recheck(worker)
    until(lambda: worker.running == {"a", "b", "c"})


def test_however_many_wait_the_cases_begun_are_at_most_twice_the_places(start):
    worker, cases = start("abcdefgh", total=2)
    until(lambda: worker.running == {"a", "b"})
    worker.at_rest = 100
    cases.recheck(worker)
    until(lambda: worker.running == {"a", "b", "c", "d"})
    worker.end("a")
    until(lambda: "e" in worker.running)
    assert worker.most == 4


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
    worker, cases = start("abcdefgh", unready="abc", total=2)
    until(lambda: worker.running == {"d", "e"})
    worker.end("d")
    until(lambda: worker.running == {"e", "f"})
    worker.unready = ""
    cases.recheck(worker)
    worker.end("e", "f")
    until(lambda: worker.running == {"a", "b"})
    worker.end("a", "b")
    until(lambda: worker.running == {"c", "g"})


def test_cases_come_back_as_soon_as_what_they_lack_is_there_and_others_stay(start):
    worker, cases = start("abcdefgh", unready="abc", total=2)
    until(lambda: worker.running == {"d", "e"})
    worker.unready = "ac"
    cases.recheck(worker)
    worker.end("d", "e")
    until(lambda: worker.running == {"b", "f"})
    worker.unready = ""
    cases.recheck(worker)
    worker.end("b", "f")
    until(lambda: worker.running == {"a", "c"})


def test_a_worker_whose_cases_lack_something_keeps_its_places(start):
    first, cases = start("ab", unready="ab", number=0, count=2, total=4)
    second, _ = start("cdefgh", number=1, count=2, total=4)
    until(lambda: second.running == {"c", "d"})
    second.end("c")
    until(lambda: second.running == {"d", "e"})
    first.unready = ""
    cases.recheck(first)
    until(lambda: first.running == {"a", "b"})
    assert second.most == 2


def test_cases_that_lack_something_are_let_go_with_the_others(start):
    worker, cases = start("abc", unready="ab", total=2)
    until(lambda: worker.running == {"c"})
    cases.hold()
    worker.end("c")
    assert [cases.result(name).status for name in "ab"] == ["missing"] * 2


def test_a_case_that_a_part_holds_up_waits_and_keeps_its_place(start):
    worker, _ = start("abc", affordable=1, total=2)
    until(lambda: worker.running == {"a"})
    worker.affordable = 3  # no case has ended: it asks again by itself
    until(lambda: worker.running == {"a", "b"})
    worker.end("a", "b")
    until(lambda: worker.running == {"c"})


def test_a_stop_reaches_cases_that_a_part_holds_up(start, stop):
    _, cases = start("abc", affordable=0, total=2)
    stop()
    assert cases.result("a").error == STOPPED


def test_nothing_new_starts_after_hold(start):
    worker, cases = start("abcd", total=1)
    until(lambda: worker.running == {"a"})
    cases.hold()
    assert not cases.is_idle()
    worker.end("a")
    assert cases.result("b").status == "missing"  # pytest may have come to it before it heard of the stop
    until(lambda: not worker.running)
    until(cases.is_idle)
    assert worker.most == 1
    assert cases.result("a").status == "passed"


def test_a_stop_before_the_first_case_is_started_keeps_nobody_waiting(start, stop):
    worker, cases = start("", total=2)
    stop()
    cases.submit("abc")
    assert [cases.result(name).status for name in "abcx"] == ["missing"] * 4
    assert worker.most == 0


def test_a_case_that_nobody_planned_is_the_next_to_start_and_keeps_to_the_places(start):
    worker, cases = start("abcd", total=2)
    until(lambda: worker.running == {"a", "b"})
    asking = threading.Thread(target=cases.result, args=("x",))
    asking.start()
    worker.end("a", "x")
    asking.join(20)
    assert not asking.is_alive()
    until(lambda: worker.running == {"b", "c"})
    assert worker.most == 2


def test_cases_that_take_too_long_to_end_are_cancelled_once(start, stop, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.0)
    monkeypatch.setattr(module, "STOP_SECONDS", 0.01)
    worker, cases = start("abc", total=2)
    until(lambda: worker.running == {"a", "b"})
    worker.cleanup = 0.2
    stop(awaits=True)
    assert [cases.result(name).error for name in "abc"] == [STOPPED] * 3
    assert sorted(worker.cancelled) == sorted(worker.cleaned) == ["a", "b"]


def test_who_closes_it_waits_until_cancelled_cases_have_cleaned_up(start):
    worker, cases = start("abc", total=2)
    until(lambda: worker.running == {"a", "b"})
    worker.cleanup = 0.1
    cases.close()
    assert sorted(worker.cleaned) == ["a", "b"]
    cases.close()  # once more changes nothing
    assert not [thread for thread in threading.enumerate() if thread.name == "agentgauge-runner"]


def test_a_look_ahead_that_cannot_go_on_says_so_instead_of_waiting(start, monkeypatch):
    worker, cases = start("abc", total=1)
    until(lambda: worker.running == {"a"})
    monkeypatch.setattr(SlotPool, "limit", lambda self, running, waiting: 1 / 0)
    worker.end("a")
    with pytest.raises(ZeroDivisionError):
        cases.result("b")


def test_who_asks_for_a_case_that_could_not_be_stored_gets_the_error(start, monkeypatch):
    def broken(self, record):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Appender, "append", broken)
    worker, cases = start("ab", total=1)
    worker.end("a")
    with pytest.raises(OSError, match="Input/output error"):
        cases.result("a")
    until(lambda: worker.running == {"b"})


def test_a_record_that_is_no_json_makes_its_case_broken(start):
    def unwritable(sample, output, scoring, similarity):
        return replace(score(sample, output, scoring, similarity), labels=(object(),))

    worker, cases = start("ab", total=2, score=unwritable)
    worker.end("a", "b")
    records = [cases.result(name).read() for name in "ab"]
    assert [record.status for record in records] == ["broken"] * 2
    assert "the record cannot be written: TypeError" in records[0].error


def test_a_part_that_fails_ends_every_case_that_waits(start):
    worker, cases = start("abc", total=1, affordable=1)

    def broken(case: Planned) -> bool:
        raise OSError("the disk is gone")

    until(lambda: worker.begun == ["a"])
    worker.take = broken
    worker.end("a")
    assert cases.result("a").status == "passed"
    for name in "bc":
        with pytest.raises(OSError, match="the disk is gone"):
            cases.result(name)


def test_an_interrupted_wait_leaves_the_result_for_whoever_asks_again(start):
    """As a time-out of a test interrupts it, after which the test is run once more."""
    worker, cases = start("a", total=1)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            cases.result("a")
    finally:
        signal.signal(signal.SIGALRM, before)
    worker.end("a")
    assert cases.result("a").status == "passed"
    assert worker.begun == ["a"]


def test_who_asks_a_closed_runner_is_told(start):
    async def asked(runner: Runner, case: Planned) -> str:
        await runner.close()
        return (await runner.result(case)).status

    _, cases = start("", total=1)
    background = cases._background
    assert background.call(asked(background._runner, cases._cases["a"])).result(20) == "missing"
