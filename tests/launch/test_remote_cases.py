"""The driver's side of a launch, with a backend that sends what the test tells it."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agentgauge.core.types import Record
from agentgauge.run.launch.node import packed
from agentgauge.run.launch.remote_cases import RemoteCases, ShardFailed
from agentgauge.run.launch_settings import LaunchOptions
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import encoded_line

STARTED = {"kind": "started", "tools": {}, "sandbox": []}
ENDED = {"kind": "ended", "status": 0, "last_line": "done", "running": []}


class Scripted:
    """Keeps what it is told, and sends what ``send`` is given."""

    def __init__(self) -> None:
        self.specs: dict[int, Any] = {}  # shard → sample ids, place, whether data goes with it
        self.running: set[int] = set()
        self.words: list[str] = []
        self.dropped: list[int] = []
        self._messages: deque[Any] = deque()
        self._begun = threading.Condition()

    def start(self, number: int, spec: Any, *, with_data: bool) -> None:
        with self._begun:
            self.specs[number] = (*spec, with_data)
            self.running.add(number)
            self._begun.notify()

    def messages(self, seconds: float) -> Iterator[Any]:
        time.sleep(0.002)
        while self._messages:
            number, message = self._messages.popleft()
            if isinstance(message, ShardFailed) or message["kind"] in ("refused", "data", "ended"):
                self.running.discard(number)
            yield number, message

    def send_command(self, command: str) -> None:
        self.words.append(command)

    def drop(self, number: int) -> None:
        self.dropped.append(number)
        self.running.discard(number)

    def close(self) -> None:
        """Nothing runs."""

    def send(self, number: int, *messages: Any) -> None:
        self._messages.extend((number, message) for message in messages)

    def spec(self, number: int) -> Any:
        """Wait for the spec of a shard."""
        with self._begun:
            assert self._begun.wait_for(lambda: number in self.specs, timeout=5), f"there is no shard {number}"
            return self.specs[number]


class Driver:
    def __init__(self, folder: RunFolder, workers: int, samples: str) -> None:
        self.backend, self.folder = Scripted(), folder
        self.problems: list[str] = []
        self.started: list[Any] = []
        self.is_stopped = False
        self.cases = RemoteCases(
            LaunchOptions("local", workers, 1, 0, 0),
            folder,
            self.backend,
            lambda cases, number: ("".join(sample for _, sample, _ in cases), number),
            configs={"t": "c"},
            is_stopped=lambda: self.is_stopped,
            started=self._start,
            failed=lambda problem: self.problems.append(str(problem)),
            full=self._full,
        )
        self.cases.submit([case(sample) for sample in samples])

    def _start(self, tools: Any, sandbox: Any) -> bool:
        self.started.append((tools, sandbox))
        return "other" not in tools

    def _full(self, why: str) -> None:
        self.problems.append(why)
        self.is_stopped = True  # as a run folder that cannot be written stops the run

    def start(self) -> None:
        """The first shard runs."""
        self.backend.spec(1)
        self.backend.send(1, STARTED)
        while not self.started:
            time.sleep(0.002)

    def results(self, samples: str) -> dict[str, str]:
        return {sample: self.cases.result(case(sample)).status for sample in samples}


def case(sample: str) -> Any:
    task = SimpleNamespace(name="t", expected_requests=1.0, data=SimpleNamespace(group_of=lambda row: row.id))
    return SimpleNamespace(id=("t", sample, 1), task=task, row=SimpleNamespace(id=sample))


def records(samples: str, files: dict[int, bytes] | None = None) -> dict[str, Any]:
    lines = [encoded_line(Record("t", sample, 1, config="c", status="passed", finished=1.0)) for sample in samples]
    return {"kind": "records", "lines": lines, "files": files or {}}


@pytest.fixture
def drive(tmp_path):
    made: list[Driver] = []

    def make(workers: int, samples: str) -> Driver:
        folder = RunFolder(tmp_path / f"run{len(made)}")
        folder.create()
        made.append(Driver(folder, workers, samples))
        return made[-1]

    yield make
    for driver in made:
        for number in driver.backend.running:
            driver.backend.send(number, ENDED)
        driver.cases.close()


def test_shards_run_so_many_at_a_time_and_their_records_are_stored(drive):
    driver = drive(1, "abcdefgh")
    assert driver.backend.spec(1) == ("ae", 0, False)
    assert len(driver.backend.specs) == 1
    driver.backend.send(1, {"kind": "started", "tools": {"OCR": {}}, "sandbox": ["seccomp"]}, records("ae"), ENDED)
    assert driver.backend.spec(2) == ("bf", 0, False)
    assert driver.results("ae") == {"a": "passed", "e": "passed"}
    assert driver.started == [({"OCR": {}}, ["seccomp"])]
    assert [sample for _, sample, _ in driver.folder.lines()] == ["a", "e"]


def test_two_at_a_time_have_places_of_their_own(drive):
    driver = drive(2, "abcdefgh")
    assert (driver.backend.spec(1)[1], driver.backend.spec(2)[1]) == (0, 1)
    driver.backend.send(2, records("b"), ENDED)
    assert driver.backend.spec(3)[1] == 1


def test_what_is_left_of_a_lost_shard_runs_again_without_what_has_come(drive):
    driver = drive(1, "abcdefgh")
    driver.backend.spec(1)
    driver.backend.send(1, records("a"), ShardFailed("NodeDiedError: the node died"))
    assert driver.backend.spec(2)[0] == "e"
    driver.backend.send(2, records("e"), ENDED)
    assert driver.results("ae") == {"a": "passed", "e": "passed"}


def test_a_shard_that_always_fails_is_missing_and_says_why(drive):
    driver = drive(1, "ab")
    for number in (1, 2, 3):
        assert driver.backend.spec(number)[0] == "a"
        driver.backend.send(number, ShardFailed("WorkerCrashedError: killed"))
    result = driver.cases.result(case("a"))
    assert isinstance(result, Record)
    assert result.status == "missing"
    assert result.error == "not run: 3 shards with it ended without a record; the last: WorkerCrashedError: killed"
    assert driver.backend.spec(4)[0] == "b"


def test_a_node_without_the_data_gets_it_with_the_next_order(drive):
    driver = drive(1, "a")
    driver.backend.spec(1)
    driver.backend.send(1, {"kind": "data"})
    assert driver.backend.spec(2) == ("a", 0, True)


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "refused", "why": "node n: it has AgentGauge 1"},
        {"kind": "ended", "status": 4, "last_line": "file not found", "running": []},
    ],
)
def test_a_node_that_refuses_ends_the_run(drive, message):
    driver = drive(1, "abcde")
    driver.backend.spec(1)
    driver.backend.send(1, message)
    assert driver.results("abcde") == dict.fromkeys("abcde", "missing")
    assert driver.problems == [message.get("why") or "a shard cannot run: file not found"]
    assert driver.backend.words == ["hold"]
    assert len(driver.backend.specs) == 1


def test_held_cases_are_missing_and_running_ones_may_end(drive):
    driver = drive(1, "abcdefgh")
    driver.start()
    driver.cases.hold()
    assert driver.results("bcd") == dict.fromkeys("bcd", "missing")
    driver.backend.send(1, records("a"), ENDED)
    assert driver.results("ae") == {"a": "passed", "e": "missing"}


def test_a_stopped_run_is_held_and_shards_that_wait_for_room_are_dropped(drive):
    driver = drive(2, "abcdefgh")
    driver.start()
    driver.backend.spec(2)
    driver.is_stopped = True
    assert driver.results("bcd") == dict.fromkeys("bcd", "missing")
    assert driver.backend.words == ["hold"]
    assert driver.backend.dropped == [2]


def test_the_next_case_is_the_one_that_ended_first_and_none_once_nothing_runs(drive):
    driver = drive(1, "abcdefgh")
    waiting = {case(sample).id for sample in "abcdefgh"}
    assert driver.cases.is_submitted(case("a")) and not driver.cases.is_submitted(case("z"))
    driver.start()
    driver.backend.send(1, records("e"))
    assert driver.cases.next_done(waiting) == case("e").id
    driver.backend.send(1, records("a"))
    assert driver.cases.next_done(waiting - {case("e").id}) == case("a").id
    assert driver.results("ea") == {"e": "passed", "a": "passed"}
    driver.backend.send(1, ENDED)
    driver.cases.close()
    assert driver.cases.next_done({case("z").id}) is None


def test_a_case_that_was_not_submitted_is_a_shard_of_its_own(drive):
    driver = drive(2, "a")
    driver.backend.spec(1)
    driver.backend.send(1, records("a"), ENDED)
    assert driver.results("a") == {"a": "passed"}
    again = threading.Thread(target=driver.results, args=("a",))  # a rerun
    again.start()
    assert driver.backend.spec(2)[0] == "a"
    driver.backend.send(2, records("a"), ENDED)
    again.join(5)
    assert not again.is_alive()


def test_files_of_tools_follow_their_record(drive, tmp_path):
    driver = drive(1, "a")
    produced = tmp_path / "produced"
    produced.mkdir()
    (produced / "plot.png").write_bytes(b"png")
    driver.backend.spec(1)
    driver.backend.send(1, records("a", {0: packed({".": produced})}), ENDED)
    assert isinstance(driver.cases.result(case("a")), Line)
    assert (driver.folder.files("t", "a", 1) / "plot.png").read_bytes() == b"png"


NO_RECORDS = {
    "no JSON": ([b"no record\n"], {}),
    "no case": ([b'{"task": "t"}\n'], {}),
    "no archive": (records("a")["lines"], {0: b"no archive"}),
}


@pytest.mark.parametrize("name", NO_RECORDS)
def test_a_shard_that_sends_what_is_no_record_is_dropped_and_runs_again(drive, name):
    lines, files = NO_RECORDS[name]
    driver = drive(1, "a")
    driver.backend.spec(1)
    driver.backend.send(1, {"kind": "records", "lines": lines, "files": files}, records("a"), ENDED)
    assert driver.backend.spec(2)[0] == "a"
    assert driver.backend.dropped == [1]
    driver.backend.send(2, records("a"), ENDED)
    assert driver.results("a") == {"a": "passed"}


def test_records_of_cases_that_a_shard_was_not_given_are_ignored(drive):
    driver = drive(1, "a")
    driver.backend.spec(1)
    driver.backend.send(1, records("ba"), ENDED)
    assert driver.results("a") == {"a": "passed"}
    assert [sample for _, sample, _ in driver.folder.lines()] == ["a"]


def test_a_full_disk_stops_the_run(drive, monkeypatch):
    driver = drive(1, "abcdefgh")
    driver.start()
    monkeypatch.setattr(os, "write", full)
    driver.backend.send(1, records("a"))
    with pytest.raises(OSError, match="No space left"):
        driver.cases.result(case("a"))
    assert driver.results("bcd") == dict.fromkeys("bcd", "missing")
    assert "No space left" in driver.problems[0]


def full(descriptor: int, data: bytes) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_shard_with_other_tools_is_dropped_before_its_records_count(drive):
    driver = drive(1, "abcdefgh")
    driver.backend.spec(1)
    driver.backend.send(1, {**STARTED, "tools": {"other": {}}}, records("a"))
    assert driver.results("ab") == {"a": "missing", "b": "missing"}
    assert driver.backend.dropped == [1]
    assert not driver.folder.has_records


def test_the_end_is_told_and_waited_for(drive):
    driver = drive(1, "a")
    driver.start()
    closing = threading.Thread(target=driver.cases.close)
    closing.start()
    while driver.backend.words != ["end"]:
        time.sleep(0.002)
    driver.backend.send(1, records("a"), ENDED)
    closing.join(5)
    assert not closing.is_alive()
    assert [sample for _, sample, _ in driver.folder.lines()] == ["a"]


def test_requests_are_shared_by_the_shards_that_run():
    options = LaunchOptions("local", 3, 1, 0, 0)
    assert [options.part(8, number) for number in range(3)] == [3, 3, 2]
    assert [options.part(2, number) for number in range(3)] == [1, 1, 1]


def test_a_case_that_kills_its_process_is_broken_and_the_cases_beside_it_get_their_results(drive):
    driver = drive(1, "abcdefgh")
    died = {"kind": "ended", "status": -9, "last_line": "it printed nothing"}
    driver.start()
    together = driver.backend.spec(1)[0]
    driver.backend.send(1, {**died, "running": [["t", sample, 1] for sample in together]})
    for number, (sample, then) in enumerate(
        zip(together, ({**died, "running": [["t", together[0], 1]]}, ENDED), strict=True), 2
    ):
        assert driver.backend.spec(number)[0] == sample  # alone
        driver.backend.send(number, STARTED, *([records(sample)] if then is ENDED else []), then)
    assert driver.results(together) == {together[0]: "broken", together[1]: "passed"}
    assert "with no other case running in it" in str(driver.folder.lines()["t", together[0], 1].read().error)
    for number in (4, 5, 6):
        driver.backend.send(number, records(driver.backend.spec(number)[0]), ENDED)
    assert set(driver.results("".join(set("abcdefgh") - set(together))).values()) == {"passed"}
