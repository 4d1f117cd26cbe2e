"""Whole runs whose endpoint goes away in the middle: they wait for it, and only for one that has answered."""

from __future__ import annotations

import os
import signal
import time

import pytest

from agentgauge.model import outage
from tests.model import fault_server as faults
from tests.plugin.conftest import say, slow, undisturbed
from tests.plugin.project import OFTEN, Project, records, summary, without_times
from tests.plugin.test_faults import wait_for_records

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
        resumed = project.run("--resume", "run", *workers)
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
        resumed = project.run("--resume", "run", seconds=60)
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
