"""Requests to an endpoint that takes 200 ms: how close a run comes to requests × latency / in flight.

Start-up is the same command on one sample, without the latency of its requests. Contestants take turns, and the best
round of each counts.
"""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks.measure import alternate, cpu, endpoint, processes, run, toy, wall
from benchmarks.projects import bare_project, toy_project
from benchmarks.toys import CALLS, TURNS
from tests.plugin.project import summary

SAMPLES = 1024
LATENCY = 0.2  # seconds
IN_FLIGHT = 128
ROUNDS = 3


def ideal(in_flight: int) -> float:
    """Seconds."""
    return SAMPLES * LATENCY / in_flight


@pytest.mark.parametrize(("in_flight", "most", "rounds"), [(128, 1.5, ROUNDS), (32, 1.15, 2)])
def test_one_process(tmp_path, benchmark, figure, in_flight, most, rounds):
    one, many = toy_project(tmp_path / "one", 1), toy_project(tmp_path / "many", SAMPLES)
    costs = {}
    with endpoint(LATENCY) as (url, served):
        options = toy(url, "-n", "0", "--in-flight", str(in_flight))
        contestants = {"start-up": lambda: run(one, *options), "run": lambda: run(many, *options)}
        contestants["start-up"]()  # compiles modules
        benchmark.pedantic(lambda: costs.update(alternate(contestants, rounds)), rounds=1)
    start_up, limit = wall(costs["start-up"]) - LATENCY, ideal(in_flight)
    whole = wall(costs["run"])
    figure(f"-n 0, {in_flight} in flight: wall", whole, "s")
    figure(f"-n 0, {in_flight} in flight: start-up of an empty run", start_up, "s")
    figure(f"-n 0, {in_flight} in flight: wall / limit of {limit:g} s", (whole - start_up) / limit, most=most)
    if in_flight == IN_FLIGHT:
        sample = (cpu(costs["run"]) - cpu(costs["start-up"])) / (SAMPLES - 1)
        figure("-n 0: CPU a sample", 1000 * sample, "ms", most=1.5)
        figure("the endpoint itself: CPU a request", 1000 * served["cpu_seconds"] / served["requests"], "ms")
        figure("-n 0: memory", max(cost.own for cost in costs["run"]), "MB", most=110)


def test_workers_against_one_process(tmp_path, benchmark, figure):
    """Eight by --tx, which starts as many as it says: this is why -n starts no more than there are processors."""
    many = toy_project(tmp_path / "many", SAMPLES)
    costs = {}
    with endpoint(LATENCY) as (url, _):

        def contestant(count: int):
            workers = processes(count) if count > 2 else ("-n", str(count))
            return lambda: run(many, *toy(url, *workers, "--in-flight", str(IN_FLIGHT)))

        contestants = {count: contestant(count) for count in (0, 2, 8)}
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    for workers, most in ((0, 2.75), (2, 3.25)):
        times_limit = wall(costs[workers]) / ideal(IN_FLIGHT)
        figure(f"-n {workers}: wall, start-up included / limit of {ideal(IN_FLIGHT):g} s", times_limit, most=most)
    figure("-n 2 / -n 0, wall, start-up included", wall(costs[2]) / wall(costs[0]))
    figure("-n 2 / -n 0, CPU, start-up included", cpu(costs[2]) / cpu(costs[0]))
    figure("-n 2: memory of the largest worker", max(cost.child for cost in costs[2]), "MB", most=85)
    figure("8 processes / 2 processes, wall", wall(costs[8]) / wall(costs[2]))
    figure("8 processes / 2 processes, memory", costs[8][0].memory / costs[2][0].memory)


def test_agent_loops(tmp_path, benchmark, figure):
    """256 samples of five model turns, each with four calls of a tool that answers at once."""
    samples = 256
    limit = samples * TURNS * LATENCY / IN_FLIGHT
    one, many = toy_project(tmp_path / "one", 1, "AGENT"), toy_project(tmp_path / "many", samples, "AGENT")
    costs = {}
    with endpoint(LATENCY, CALLS) as (url, _):
        options = toy(url, "-n", "0", "--in-flight", str(IN_FLIGHT))
        contestants = {"start-up": lambda: run(one, *options), "run": lambda: run(many, *options)}
        run(many, *options, "--run-dir", "checked")
        assert summary(many.path / "checked")["tasks"]["toy.say"]["passed"] == samples
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    start_up = wall(costs["start-up"]) - TURNS * LATENCY
    figure(f"agent loops: wall without start-up / limit of {limit:g} s", (wall(costs["run"]) - start_up) / limit)
    figure("agent loops: wall, start-up included / limit", wall(costs["run"]) / limit, most=1.5)
    turns = TURNS * (samples - 1)
    figure("agent loops: CPU a turn with four calls", 1000 * (cpu(costs["run"]) - cpu(costs["start-up"])) / turns, "ms")


HOOKS = """
async def pytest_agentgauge_case_started(case): ...
async def pytest_agentgauge_request(case, request): ...
async def pytest_agentgauge_reply(case, request, reply): ...
async def pytest_agentgauge_case_finished(record): ...
"""


def test_hooks(tmp_path, benchmark, figure):
    """What the hooks of a case cost, where a project implements them: async, and as functions that run in threads."""
    projects = {name: toy_project(tmp_path / name, SAMPLES) for name in ("none", "async", "threads")}
    for name, text in (("async", HOOKS), ("threads", HOOKS.replace("async ", ""))):
        conftest = projects[name].path / "conftest.py"
        conftest.write_text(conftest.read_text() + text)
    costs = {}
    with endpoint(LATENCY) as (url, _):
        options = toy(url, "-n", "0", "--in-flight", str(IN_FLIGHT))
        contestants = {name: partial(run, project, *options) for name, project in projects.items()}
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    figure("async hooks / none, wall", wall(costs["async"]) / wall(costs["none"]), most=1.05)
    figure("hooks in threads / none, wall", wall(costs["threads"]) / wall(costs["none"]))


def test_cpu_of_a_case_of_bare_pytest(tmp_path, benchmark, figure):
    """For comparison: what pytest itself takes to walk through a case that does nothing."""
    one, many = bare_project(tmp_path / "one", 1), bare_project(tmp_path / "many", SAMPLES)
    costs = {}
    contestants = {"one": lambda: run(one, "-q"), "many": lambda: run(many, "-q")}
    benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    figure("bare pytest: CPU a case", 1000 * (cpu(costs["many"]) - cpu(costs["one"])) / (SAMPLES - 1), "ms")
