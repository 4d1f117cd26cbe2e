"""Faults with real processes and sockets: what is finished is kept, each case ends in the right status, resume
completes."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.model import fault_server as faults
from tests.plugin.conftest import say, slow, undisturbed
from tests.plugin.project import Project, records, summary, without_times

TRANSIENT = {
    "429 with Retry-After": faults.status(429, headers={"Retry-After": "0"}),
    "500": faults.status(500),
    "half a body": faults.half_a_body(),
    "html": faults.html(),
    "invalid json": faults.invalid_json(),
    "connection reset": faults.reset(),
}


def test_faults_that_pass_leave_no_trace(project, endpoint):
    """Each of the six samples meets another one."""
    waiting = [*TRANSIENT.values()]
    seen: set[str] = set()

    def first_fails(request):
        text = request.body["messages"][-1]["content"]
        if text in seen:
            return say(request)
        seen.add(text)
        return waiting.pop()

    endpoint.choose = first_fails
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run")
    assert result.status == 0, result.output
    assert not waiting
    assert without_times(result.summary("run")) == undisturbed(6)


LASTING = {
    "429": (faults.status(429, headers={"Retry-After": "0"}), "http 429"),
    "500": (faults.status(500), "http 500"),
    "401": (faults.status(401), "http 401"),
    "half a body": (faults.half_a_body(), "truncated body"),
    "html": (faults.html(), "not json"),
    "invalid json": (faults.invalid_json(), "invalid json"),
    "no answer": (faults.silence(), "timeout"),
}


def test_faults_that_last_break_their_cases_and_resume_completes_the_run(tmp_path, endpoint):
    """One case with each; nine are answered."""
    project = Project.make(tmp_path / "project", samples=16)
    acts = {f"say word{number}": act for number, (act, _) in enumerate(LASTING.values(), 4)}
    endpoint.choose = lambda request: acts.get(request.body["messages"][-1]["content"]) or say(request)
    (project.path / "agentgauge.toml").write_text(
        f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\ntimeout = 0.5\nmax_retries = 2\n'
    )
    result = project.run("--model", "m", "--run-dir", "run")
    assert result.status == 1, result.output
    assert "= 8 passed, 1 wrong, 7 broken in" in result.output
    assert "7 cases are broken" in result.output
    task = result.summary("run")["tasks"]["toy.say"]
    assert (task["passed"], task["wrong"], task["broken"], task["missing"]) == (8, 1, 7, 0)
    causes = {record["sample"]: record["cause"] for record in records(project.path / "run")}
    for number, (_, cause) in enumerate(LASTING.values(), 4):
        assert causes[f"s{number}"].startswith(cause)
    accuracy = task["metrics"]["Acc"]
    assert accuracy["value"] == pytest.approx(100 * 8 / 16)
    assert accuracy["value_clean"] == pytest.approx(100 * 8 / 9)
    endpoint.choose = say
    resumed = project.run("--resume", "run")
    assert resumed.status == 0, resumed.output
    assert "9 cases are kept, 7 run" in resumed.output
    assert f"agentgauge: model m at {endpoint.url} " in resumed.output, resumed.output
    assert resumed.summary("run")["tasks"]["toy.say"]["comparable"] is True
    assert without_times(resumed.summary("run"))["tasks"] == undisturbed(16)["tasks"]


ODD = {
    "an empty message": faults.answer(""),
    "no text at all": faults.answer(None),
    "a refusal": faults.answer(None, refusal="I cannot help with that"),
    "a tool call with broken arguments": faults.answer(None, tool_calls=[faults.tool_call("OCR", '{"image": ')]),
}


def test_odd_answers_are_the_models_own_and_wrong(project, endpoint):
    odd = itertools.cycle(ODD.values())
    endpoint.choose = lambda request: next(odd)
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run")
    assert result.status == 0, result.output
    assert result.summary("run")["tasks"]["toy.say"]["wrong"] == 6


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_an_endpoint_that_dies_breaks_the_rest_quickly_and_resume_completes(tmp_path, workers):
    project = Project.make(tmp_path / "project", samples=40)
    with faults.FaultServer(choose=say) as endpoint:
        answered = []

        def then_dies(request):
            answered.append(request)
            return say(request) if len(answered) <= 10 else faults.reset()

        endpoint.choose = then_dies
        result = project.run(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers, "--run-dir", "run"
        )
        task = result.summary("run")["tasks"]["toy.say"]
        assert result.status == 1, result.output
        assert task["passed"] + task["wrong"] >= 8
        assert task["broken"] >= 20
        assert task["missing"] == 0
        assert len(answered) < 250  # not every case goes through all its retries
        endpoint.choose = say
        resumed = project.run("--model-url", endpoint.url, "--resume", "run", *workers)
        assert resumed.status == 0, resumed.output
        assert without_times(resumed.summary("run"))["tasks"] == undisturbed(40)["tasks"]


def wait_for_records(folder, number: int, seconds: float = 60) -> None:
    """Until the workers have written some records."""
    deadline = time.monotonic() + seconds
    while sum(file.read_bytes().count(b"\n") for file in folder.glob("records/*.jsonl")) < number:
        assert time.monotonic() < deadline, "no records came"
        time.sleep(0.02)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_run_keeps_what_is_finished_and_can_be_resumed(tmp_path, workers, number):
    project = Project.make(tmp_path / "project", samples=40)
    with faults.FaultServer(choose=slow(0.2)) as endpoint:
        process = project.start(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers, "--run-dir", "run"
        )
        wait_for_records(project.path / "run", 6)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # a terminal sends Ctrl-C to the whole group
        else:
            process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 2, output
        assert f"stopped early: interrupted; continue with --resume={project.path / 'run'}" in output
        kept = {record["sample"]: record["finished"] for record in records(project.path / "run")}
        assert 6 <= len(kept) < 40
        assert summary(project.path / "run")["tasks"]["toy.say"]["missing"] == 40 - len(kept)
        endpoint.choose = say
        resumed = project.run("--model-url", endpoint.url, "--resume", "run", *workers)
        assert resumed.status == 0, resumed.output
        again = {record["sample"]: record["finished"] for record in records(project.path / "run")}
        assert kept.items() <= again.items()  # nothing was run twice
        assert without_times(summary(project.path / "run"))["tasks"] == undisturbed(40)["tasks"]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_further_signals_do_not_disturb_the_end_of_an_interrupted_run(tmp_path, workers, number):
    project = Project.make(tmp_path / "project", samples=40)
    with faults.FaultServer(choose=slow(0.2)) as endpoint:
        process = project.start(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers, "--run-dir", "run"
        )
        wait_for_records(project.path / "run", 6)
        output = Path(tmp_path / "output")

        def read() -> None:
            with process.stdout:
                output.write_text(process.stdout.read())

        reader = threading.Thread(target=read)
        reader.start()
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
            time.sleep(0.01)
        reader.join(20)
    text = output.read_text()
    assert process.returncode == 2, text
    assert "Traceback" not in text and "INTERNALERROR" not in text, text
    assert "the run is ending" in text
    kept = records(project.path / "run")
    assert 6 <= len(kept) < 40
    assert summary(project.path / "run")["tasks"]["toy.say"]["missing"] == 40 - len(kept)


@pytest.mark.parametrize("which", [0, 1])
def test_a_killed_worker_is_replaced_and_nothing_is_lost(tmp_path, which):
    project = Project.make(tmp_path / "project", samples=40)
    (project.path / "test_pid.py").write_text("")
    with faults.FaultServer(choose=slow(0.1)) as endpoint:
        process = project.start(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "-n", "2", "--run-dir", "run"
        )
        wait_for_records(project.path / "run", 6)
        os.kill(worker_pid(process.pid, which), signal.SIGKILL)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
        assert "replacing crashed worker" in output
        endpoint.choose = say
        assert without_times(summary(project.path / "run"))["tasks"] == undisturbed(40)["tasks"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a signal at the parent's end")
def test_workers_end_with_a_killed_controller_whatever_they_wait_for(tmp_path):
    project = Project.make(tmp_path / "project", samples=20)

    def only_the_first(seen):
        return say(seen) if "word0" in seen.body["messages"][-1]["content"] else faults.silence()

    with faults.FaultServer(choose=only_the_first) as endpoint:
        process = project.start(
            "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "-n", "2", "--run-dir", "run"
        )
        wait_for_records(project.path / "run", 1)
        workers = [worker_pid(process.pid, which) for which in (0, 1)]
        process.kill()
        process.communicate(timeout=20)  # they hold its output open
        deadline = time.monotonic() + 20
        while any(Path(f"/proc/{worker}").exists() for worker in workers):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        endpoint.choose = say
        resumed = project.run("--model-url", endpoint.url, "--resume", "run", "-n", "2")
        assert resumed.status == 0, resumed.output
        assert len(records(project.path / "run")) == 20


@pytest.mark.parametrize("workers", [(), ("--tx", "2*popen", "--dist", "load")], ids=["serial", "two workers"])
def test_a_stop_that_comes_before_the_first_case_leaves_all_missing_and_nobody_waiting(
    project, model, endpoint, workers
):
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(STOPPED)
    result = project.run(*model, *workers, "--run-dir", "run", seconds=60)
    assert result.summary("run")["tasks"]["toy.say"]["missing"] == 6, result.output
    assert not endpoint.requests


STOPPED = """
import pathlib
import pytest
class Stop:
    @pytest.hookimpl(wrapper=True, tryfirst=True)  # before the look-ahead begins: this plugin is registered last
    def pytest_runtest_protocol(self):
        pathlib.Path("run/stop").write_text("stopped by another worker")
        return (yield)
@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.register(Stop())
"""


@pytest.mark.parametrize("mode", ["loadgroup", "loadfile"])
def test_workers_without_cases_keep_no_places_and_few_places_are_no_more_for_many_workers(tmp_path, mode):
    """``loadgroup``: three workers and one place. ``loadfile``: one file, so that one worker has all cases, and all
    places."""
    project = Project.make(tmp_path / "project", samples=20)
    total = {"loadgroup": 1, "loadfile": 6}[mode]
    air: list[int] = []
    flying = Counted(air)
    with faults.FaultServer(choose=flying.choose) as endpoint:
        options = ("--tx", "3*popen", "--dist", mode, "--in-flight", str(total), "--run-dir", "run")
        result = project.run("--model", "m", "--model-url", endpoint.url, *options)
    assert result.status == 0, result.output
    assert max(air) == total


class Counted:
    """An endpoint that counts the requests in the air."""

    def __init__(self, air: list[int]) -> None:
        self._lock = threading.Lock()
        self._now = 0
        self._air = air

    def choose(self, seen):
        act = say(seen)

        def counted(connection, seen, stopped):
            with self._lock:
                self._now += 1
                self._air.append(self._now)
            stopped.wait(0.1)
            with self._lock:
                self._now -= 1
            return act(connection, seen, stopped)

        return counted


def test_a_case_that_kills_its_worker_twice_is_broken(tmp_path):
    project = Project.make(tmp_path / "project", samples=6)
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(
            "import os, signal\ndef pytest_runtest_call(item):\n    if 's4' in item.name:\n        os.kill(os.getpid(),"
            " signal.SIGKILL)\n"
        )
    with faults.FaultServer(choose=say) as endpoint:
        result = project.run("--model", "m", "--model-url", endpoint.url, "-n", "2", "--run-dir", "run")
    task = result.summary("run")["tasks"]["toy.say"]
    assert "crashed while running 'test_toy.py::test_say[s4]'" in result.output
    assert (task["passed"], task["wrong"], task["missing"]) == (5, 1, 0), result.output


def worker_pid(controller: int, which: int) -> int:
    """An xdist worker of this run: a child that is a Python running execnet."""
    return int(Path(f"/proc/{controller}/task/{controller}/children").read_text().split()[which])


KEPT = """
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        open("kept-" + session.config.workerinput["workerid"], "w").write(str(sum(map(len, reporter.stats.values()))))
"""


def test_a_worker_keeps_no_reports_which_nobody_reads(project, model):
    """pytest would look through all of them for each failure."""
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(KEPT)
    result = project.run(*model, "-n", "2", "--run-dir", "run")
    assert result.status == 0, result.output
    assert "wrong 1" in result.output
    assert {file.read_text() for file in project.path.glob("kept-*")} == {"0"}
