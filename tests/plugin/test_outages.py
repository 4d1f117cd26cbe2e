"""Endpoints that go away, that are slow, and requests that wait."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue

import pytest

from agentgauge.model import outage
from agentgauge.run.coordination import waiting_requests as waiting
from agentgauge.run.coordination.numbers import Numbers
from agentgauge.run.coordination.waiting_requests import FILE, FORM, Waiting, waiting_requests
from agentgauge.run.progress import late_requests
from tests.model import fault_server as faults
from tests.model.fault_server import Act, FaultServer, Seen
from tests.plugin.conftest import say, slow, undisturbed
from tests.plugin.project import OFTEN, Project, records, summary, without_times
from tests.plugin.test_faults import wait_for_records

# -- Whole runs whose endpoint goes away in the middle: they wait for it, and only for one that has answered.


IN_FLIGHT = 4
DOWN_SECONDS = 2.0
BOTH = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])


def _project(path, url: str, patience: float) -> Project:
    """``patience``: a hundred times the seconds, because the tests scale all waits."""
    project = Project.make(path / "project", samples=40)
    table = f'[models.m]\nurl = "{url}"\nmodel = "m"\noutage_patience = {patience}\n'
    (project.path / "agentgauge.toml").write_text(table)
    return project


def _start(project: Project, *workers: str):
    process = project.start("--model", "m", "--in-flight", str(IN_FLIGHT), *workers, "--run-dir", "run")
    wait_for_records(project.path / "run", 6)
    return process


@BOTH
@pytest.mark.uses("progress")
def test_a_server_that_restarts_breaks_no_case(tmp_path, workers):
    with faults.FaultServer(choose=slow(0.1)) as endpoint:
        project = _project(tmp_path, endpoint.url, 6000)
        project.add_to_conftest(OFTEN)
        process = _start(project, *workers)
        endpoint.stop()
        time.sleep(2.5)
        endpoint.start()
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
        assert len(endpoint.requests) <= 40 + 2 * IN_FLIGHT  # those that were cut, and probes that came early
    assert f"no answer from 127.0.0.1:{endpoint.port} for " in output and "; waiting up to 60 s" in output, output
    assert f"127.0.0.1:{endpoint.port} was away for " in output, output
    assert without_times(summary(project.path / "run"))["tasks"] == undisturbed(40)["tasks"]
    assert not (project.path / "run" / outage.FILE).exists()


def test_a_gateway_without_its_server_gets_few_requests(tmp_path):
    down = []

    def choose(seen):
        if not down or time.monotonic() > down[0] + DOWN_SECONDS:
            return slow(0.1)(seen)
        down.append(seen)
        return faults.status(503, "no healthy upstream")

    with faults.FaultServer(choose=choose) as endpoint:
        project = _project(tmp_path, endpoint.url, 6000)
        process = _start(project, "-n", "2")
        down.append(time.monotonic())
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert without_times(summary(project.path / "run"))["tasks"] == undisturbed(40)["tasks"]
    probes = IN_FLIGHT * (DOWN_SECONDS / outage.LOOK_SECONDS + 1)  # each request that waits looks so often
    assert len(down) - 1 <= 2 * IN_FLIGHT + probes  # before them each request once or twice


@BOTH
def test_when_the_patience_is_used_up_cases_are_broken_with_the_reason_and_resume_completes(tmp_path, workers):
    with faults.FaultServer(choose=slow(0.1)) as endpoint:
        project = _project(tmp_path, endpoint.url, 50)
        process = _start(project, *workers)
        endpoint.stop()
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 1, output
        broken = [record for record in records(project.path / "run") if record["status"] == "broken"]
        assert broken and {record["cause"] for record in broken} == {"connection"}
        assert any("; no answer for " in record["error"] for record in broken)
        endpoint.choose = say
        endpoint.start()
        resumed = project.run_process("--resume", "run", *workers)
        assert resumed.status == 0, resumed.output
        assert without_times(resumed.summary("run"))["tasks"] == undisturbed(40)["tasks"]


def test_an_endpoint_that_has_not_answered_in_this_session_is_not_waited_for(tmp_path):
    with faults.FaultServer(choose=slow(0.1)) as endpoint:
        project = _project(tmp_path, endpoint.url, 50)
        process = _start(project)
        endpoint.stop()
        process.communicate(timeout=60)
        table = project.path / "agentgauge.toml"
        table.write_text(table.read_text().replace("50", "100000"))
        resumed = project.run_process("--resume", "run", seconds=60)
        assert resumed.status == 1, resumed.output
        assert not any("; no answer for " in (record["error"] or "") for record in records(project.path / "run"))


@BOTH
@pytest.mark.parametrize("how", ["ctrl-c", "sigterm", "stop file"])
def test_what_ends_the_run_ends_the_wait(tmp_path, how, workers):
    with faults.FaultServer(choose=slow(0.1)) as endpoint:
        project = _project(tmp_path, endpoint.url, 100000)
        process = _start(project, *workers)
        endpoint.stop()
        time.sleep(1)
        if how == "ctrl-c":
            os.killpg(process.pid, signal.SIGINT)
        elif how == "sigterm":
            process.send_signal(signal.SIGTERM)
        else:
            (project.path / "run" / "stop").write_text("enough")
        output, _ = process.communicate(timeout=60)
    assert process.returncode == (1 if how == "stop file" else 2), output
    task = summary(project.path / "run")["tasks"]["toy.say"]
    assert task["missing"] > 0 and task["broken"] == 0, task


# -- Whole runs against a server that answers few requests at a time: first come, first served, those given up as
# well.


WAITS = {"AGENTGAUGE_BACKOFF": "1"}
"""As long as a user has them."""


@dataclass
class Lanes:
    """So many requests are worked on at once, each for ``seconds``; the others wait in a queue."""

    lanes: int
    seconds: Callable[[Seen], float]
    concurrent: int = 0
    most: int = 0
    requests: int = 0
    first: float = 0.0
    last: float = 0.0
    _queue: SimpleQueue[tuple[float, threading.Event]] = field(default_factory=SimpleQueue)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        for _ in range(self.lanes):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            seconds, done = self._queue.get()
            time.sleep(seconds)
            done.set()

    def __call__(self, seen: Seen) -> Act:
        answer = say(seen)

        def act(connection, _seen, stopped):
            done = threading.Event()
            with self._lock:
                self.first = self.first or time.monotonic()
                self.requests += 1
                self.concurrent += 1
                self.most = max(self.most, self.concurrent)
            self._queue.put((self.seconds(seen), done))
            done.wait()
            with self._lock:
                self.concurrent -= 1
                self.last = time.monotonic()
            return answer(connection, seen, stopped)

        return act


def run(path, server: Lanes, *options: str, timeout: float, cases: int = 64):
    """One run, in which every case is scored. Returns the seconds from the first request to the last answer."""
    project = Project.make(path / "project", samples=cases)
    with FaultServer(choose=server) as endpoint:
        table = f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\ntimeout = {timeout}\n'
        (project.path / "agentgauge.toml").write_text(table)
        result = project.run_process("--model", "m", "--run-dir", "run", *options, env=WAITS, seconds=500)
    assert result.status == 0, result.output
    task = result.summary("run")["tasks"]["toy.say"]
    assert (task["passed"], task["wrong"], task["broken"], task["missing"]) == (cases - 1, 1, 0, 0), task
    return server.last - server.first


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_server_that_answers_one_request_at_a_time_scores_every_case(tmp_path, workers):
    server = Lanes(1, lambda _seen: 0.05)
    assert run(tmp_path, server, *workers, timeout=1.0) <= 1.3 * 64 * 0.05
    assert server.requests <= 1.3 * 64
    assert server.most <= 20  # as many as it answers within the time-out


def test_a_server_that_has_four_lanes_is_kept_busy(tmp_path):
    server = Lanes(4, lambda _seen: 0.1)
    assert run(tmp_path, server, timeout=1.5) <= 1.3 * 64 * 0.1 / 4
    assert server.requests <= 1.1 * 64


# -- Requests that wait long for their answer are named in the progress line, whichever worker sent them.


def numbers(folder, number):
    return Numbers(folder / FILE, FORM, number)


def test_the_numbers_of_all_workers_are_summed_up(tmp_path):
    assert waiting_requests(tmp_path) == Waiting()
    workers = [numbers(tmp_path, number) for number in range(3)]
    for one in workers:
        one.write(0, 0, 0, 0, 0, 0, 0)
    assert not (tmp_path / FILE).exists()  # as in most runs
    workers[2].write(5, 0, 0, 0, 0, 0, 0)
    workers[0].write(2, 0, 8, 16, 0, 0, 0)
    assert waiting_requests(tmp_path) == Waiting(7, 0, 8, 16)
    workers[2].write(1, 2, 4, 16, 1, 3, 50)
    assert waiting_requests(tmp_path) == Waiting(3, 2, 12, 32, 1, 3, 50)


def test_a_replacement_takes_up_the_entry_of_the_worker_that_died(tmp_path):
    numbers(tmp_path, 1).write(4, 0, 0, 0, 0, 0, 0)
    numbers(tmp_path, 1).write(0, 0, 0, 0, 0, 0, 0)
    assert waiting_requests(tmp_path) == Waiting()


def test_a_file_that_cannot_be_written_harms_nothing(tmp_path):
    numbers(tmp_path / "missing", 0).write(3, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (1, "1 request waits for more than 2 min"), (3, "3 requests wait for more than 2 min")],
)
def test_words(count, text):
    assert late_requests(count) == text


SOON_OLD = """
from agentgauge.run import runner
from agentgauge.run.coordination import waiting_requests
waiting_requests.OLD = runner.OLD = 0.5
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
@pytest.mark.uses("progress")
def test_a_run_names_them(project, endpoint, workers):
    """With a shorter time than two minutes."""
    assert waiting.OLD == 120
    endpoint.choose = slow(2.5)
    project.add_to_conftest(OFTEN + SOON_OLD)
    result = project.run_process("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", *workers)
    assert result.status == 0, result.output
    line = r"^0/6 · passed 0 · wrong 0 · broken 0 · 6/\d+ concurrent requests · 6 requests wait for more than "
    assert re.search(line, result.output, re.MULTILINE), result.output
    assert "\n6/6 · passed 5" in result.output
    assert not (project.path / "run" / FILE).exists()
