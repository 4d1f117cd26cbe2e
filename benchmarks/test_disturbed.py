"""Long-tailed latency, faults, and a worker that is killed: against what an ideal scheduler makes of the very same
draws."""

from __future__ import annotations

import os
import signal
import time

import pytest

from benchmarks import ideal
from benchmarks.draws import Draws
from benchmarks.measure import endpoint, processes, run, so_far, started, toy, wait_until
from benchmarks.memory import below
from benchmarks.projects import toy_project
from tests.plugin.project import Project, summary

SAMPLES = 1024
IN_FLIGHT = 32
KEYS = [f"say word{number} #1" for number in range(SAMPLES)]

LONG = {"median": 0.0314, "tail": 100.0, "most": 8.0}
"""A mean of 0.2 s; a few take 8 s."""

MIXED = {"median": 0.1, "tail": 20.0, "most": 4.0, "limited": 0.05, "silent": 0.02}
TIMEOUT = 5.0  # seconds, of the client
PATIENT = {"AGENTGAUGE_BACKOFF": "1"}
"""Waits as a user has them; the tests shorten them."""


def passed(project: Project) -> int:
    counts = summary(project.path / "run")["tasks"]["toy.say"]
    assert counts["planned"] == SAMPLES
    return int(counts["passed"])


@pytest.mark.perf
@pytest.mark.parametrize("workers", [0, 2, 8])
def test_long_tails(tmp_path, benchmark, figure, workers):
    """From the first request to the last one started."""
    project = toy_project(tmp_path / "project", SAMPLES)
    with endpoint(LONG["median"], **{name: LONG[name] for name in ("tail", "most")}) as (url, done):
        options = toy(url, *processes(workers), "--in-flight", str(IN_FLIGHT), "--run-dir", "run")
        benchmark.pedantic(lambda: run(project, *options), rounds=1)
    latencies = [Draws(**LONG).draw(key, 0).seconds for key in KEYS]
    limit = sum(latencies) / IN_FLIGHT
    figure(
        f"long tails, -n {workers}: all requests started / {limit:.1f} s",
        (done["last_arrival"] - done["first_arrival"]) / limit,
        most=1.1,
    )
    figure(f"long tails, -n {workers}: requests paid twice", done["paid_twice"], most=0)
    assert passed(project) == SAMPLES


@pytest.mark.perf
@pytest.mark.parametrize("workers", ["0", "2"])
def test_faults_and_long_tails(tmp_path, benchmark, figure, workers):
    """5 % 429s, 2 % that are never answered, p99 20 times the median. Half of the 429s ask for a second of patience."""
    project = toy_project(tmp_path / "project", SAMPLES)
    with endpoint(MIXED["median"], **{name: value for name, value in MIXED.items() if name != "median"}) as (url, done):
        (project.path / "agentgauge.toml").write_text(f'[models.m]\nurl = "{url}"\nmodel = "m"\ntimeout = {TIMEOUT}\n')
        options = ("--data", "toy", "--model", "m", "-n", workers, "--in-flight", str(IN_FLIGHT), "--run-dir", "run")
        benchmark.pedantic(lambda: run(project, *options, env=PATIENT), rounds=1)
    limit = ideal.seconds(Draws(**MIXED), KEYS, IN_FLIGHT, timeout=TIMEOUT)
    figure(
        f"faults, -n {workers}: first request to last answer / ideal scheduler's {limit:.1f} s",
        (done["last_answer"] - done["first_arrival"]) / limit,
        most=1.3,
    )
    figure(f"faults, -n {workers}: samples lost", SAMPLES - passed(project), most=0)
    figure(f"faults, -n {workers}: requests paid twice", done["paid_twice"], most=0)


@pytest.mark.perf
def test_a_worker_is_killed(tmp_path, benchmark, figure):
    """kill -9 when a third of the answers are there. What was in the air then, at most the worker's window, is paid
    again."""
    walls = {}

    def measure(kill: bool) -> None:
        project = toy_project(tmp_path / f"killed-{kill}", SAMPLES)
        began = time.monotonic()
        with started(project, *toy(url, "-n", "2", "--in-flight", str(IN_FLIGHT), "--run-dir", "run")) as process:
            if kill:
                wait_until(lambda: so_far(url)["answered"] >= before + SAMPLES / 3, project, process)
                os.kill(max(below(process.pid)), signal.SIGKILL)
            process.wait(timeout=120)
        walls[kill] = time.monotonic() - began
        assert passed(project) == SAMPLES, (project.path / "output.txt").read_text()[-4000:]

    with endpoint(0.2) as (url, _):
        before = 0
        measure(kill=False)
        before = so_far(url)["answered"]
        paid = so_far(url)["paid"]
        benchmark.pedantic(lambda: measure(kill=True), rounds=1)
        again = so_far(url)["paid"] - paid - SAMPLES
    figure("kill -9 of one of two workers: requests paid again / its window of 16", again / (IN_FLIGHT / 2), most=1)
    figure("kill -9 of one of two workers: wall / undisturbed", walls[True] / walls[False], most=1.1)
