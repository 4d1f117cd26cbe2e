"""1,024 samples of one request each to an endpoint that takes 200 ms: how close a run comes to samples × latency / in
flight.

Start-up is the same command on one sample, without the latency of its one request. Contestants take turns, and the best
round of each counts.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.measure import alternate, command, cpu, endpoint, inspect_ai, processes, run, script, toy, wall
from benchmarks.projects import bare_project, synchronous_project, toy_project

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
    start_up = wall(costs["start-up"]) - LATENCY
    figure(f"-n 0, {in_flight} in flight: wall", wall(costs["run"]), "s")
    figure(f"-n 0, {in_flight} in flight: start-up of an empty run", start_up, "s")
    figure(
        f"-n 0, {in_flight} in flight: wall without start-up / limit of {ideal(in_flight):g} s",
        (wall(costs["run"]) - start_up) / ideal(in_flight),
        most=most,
    )
    if in_flight == IN_FLIGHT:
        figure("-n 0: CPU a sample, start-up included", 1000 * cpu(costs["run"]) / SAMPLES, "ms")
        figure(
            "-n 0: CPU a sample", 1000 * (cpu(costs["run"]) - cpu(costs["start-up"])) / (SAMPLES - 1), "ms", most=1.5
        )
        figure("the endpoint itself: CPU a request", 1000 * served["cpu_seconds"] / served["requests"], "ms")
        figure("-n 0: memory", max(cost.own for cost in costs["run"]), "MB", most=110)


def test_two_workers_against_one_process(tmp_path, benchmark, figure):
    many = toy_project(tmp_path / "many", SAMPLES)
    costs = {}
    with endpoint(LATENCY) as (url, _):
        contestants = {n: lambda n=n: run(many, *toy(url, "-n", n, "--in-flight", str(IN_FLIGHT))) for n in ("0", "2")}
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1, warmup_rounds=0)
    for workers, most in (("0", 2.75), ("2", 3.25)):
        times_limit = wall(costs[workers]) / ideal(IN_FLIGHT)
        figure(f"-n {workers}: wall, start-up included / limit of {ideal(IN_FLIGHT):g} s", times_limit, most=most)
    figure("-n 2 / -n 0, wall, start-up included", wall(costs["2"]) / wall(costs["0"]))
    figure("-n 2 / -n 0, CPU, start-up included", cpu(costs["2"]) / cpu(costs["0"]))
    figure("-n 2: memory of the largest worker", max(cost.child for cost in costs["2"]), "MB", most=85)


@pytest.mark.perf
def test_thirty_two_workers_against_the_synchronous_way(tmp_path, benchmark, figure):
    """The baseline is what one would write without us: pytest -n 32 and the openai package, one request a test."""
    many = toy_project(tmp_path / "many", SAMPLES)
    costs = {}
    with endpoint(LATENCY) as (url, _):
        plain = synchronous_project(tmp_path / "plain", SAMPLES, url)
        contestants = {
            "ours": lambda: run(many, *toy(url, "-n", "32", "--in-flight", str(IN_FLIGHT))),
            "synchronous": lambda: run(plain, "-q", "-n", "32"),
        }
        benchmark.pedantic(lambda: costs.update(alternate(contestants, 1)), rounds=1)
    ours, plainly = costs["ours"][0], costs["synchronous"][0]
    figure("synchronous baseline -n 32: wall", plainly.wall, "s")
    figure("synchronous baseline -n 32: memory of all processes", plainly.memory, "MB")
    figure("-n 32: wall", ours.wall, "s")
    figure("-n 32: memory of all processes", ours.memory, "MB")
    figure("-n 32: memory of the largest worker", ours.child, "MB", most=85)
    figure("-n 32 / synchronous baseline, wall", ours.wall / plainly.wall, most=0.5)
    figure("-n 32 / synchronous baseline, memory", ours.memory / plainly.memory, most=0.5)
    figure("-n 32 / synchronous baseline, CPU", ours.cpu / plainly.cpu)


@pytest.mark.perf
def test_against_other_runners(tmp_path, benchmark, figure):
    """inspect_ai is left out where it is not installed. See benchmarks.measure.inspect_ai."""
    many = toy_project(tmp_path / "many", SAMPLES)
    costs, size = {}, (str(SAMPLES), str(IN_FLIGHT))
    found = inspect_ai()
    with endpoint(LATENCY) as (url, _):
        contestants = {
            "ours": lambda: run(many, *toy(url, "-n", "0", "--in-flight", str(IN_FLIGHT))),
            "aiohttp": lambda: script("yardstick_aiohttp", url, *size, folder=tmp_path),
        }
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
        if found:
            yardstick = [found[0], str(Path(__file__).with_name("yardstick_inspect.py")), url, *size]
            inspect = command(yardstick, cwd=tmp_path, env=dict(os.environ), log=tmp_path / "inspect.txt")
            cheapest = command(
                [*yardstick, "cheapest"], cwd=tmp_path, env=dict(os.environ), log=tmp_path / "inspect.txt"
            )
    figure("asyncio + aiohttp without a runner: wall", wall(costs["aiohttp"]), "s")
    figure("asyncio + aiohttp without a runner: CPU a sample", 1000 * cpu(costs["aiohttp"]) / SAMPLES, "ms")
    figure("-n 0 / asyncio + aiohttp, wall", wall(costs["ours"]) / wall(costs["aiohttp"]))
    if found:
        figure("inspect_ai: wall", inspect.wall, "s")
        figure("inspect_ai: CPU a sample", 1000 * inspect.cpu / SAMPLES, "ms")
        figure("inspect_ai: memory", inspect.memory, "MB")
        figure("inspect_ai / -n 0, wall", inspect.wall / wall(costs["ours"]), least=6)
        figure("inspect_ai / -n 0, CPU", inspect.cpu / cpu(costs["ours"]))
        figure("inspect_ai without its log of running samples / -n 0, wall", cheapest.wall / wall(costs["ours"]))
        figure("inspect_ai without its log of running samples / -n 0, CPU", cheapest.cpu / cpu(costs["ours"]))


@pytest.mark.perf
def test_wall_time_against_requests_in_flight(tmp_path, benchmark, figure, curve):
    many, places = toy_project(tmp_path / "many", SAMPLES), (16, 32, 64, 128, 256)
    costs = {}
    with endpoint(LATENCY) as (url, _):
        contestants = {n: lambda n=n: run(many, *toy(url, "-n", "0", "--in-flight", str(n))) for n in places}
        benchmark.pedantic(lambda: costs.update(alternate(contestants, 1)), rounds=1)
    curve("in-flight", "-n 0, start-up included", [(n, wall(costs[n])) for n in places])
    curve("in-flight", "samples × latency / in flight", [(n, ideal(n)) for n in places])
    figure("-n 0, 256 in flight: wall", wall(costs[256]), "s")


@pytest.mark.perf
def test_wall_time_against_workers(tmp_path, benchmark, figure, curve):
    """With --tx, which starts as many as it says: this is why -n does not."""
    many, workers = toy_project(tmp_path / "many", SAMPLES), (0, 1, 2, 4, 8, 16)
    costs = {}
    with endpoint(LATENCY) as (url, _):
        contestants = {
            n: lambda n=n: run(many, *toy(url, *processes(n), "--in-flight", str(IN_FLIGHT))) for n in workers
        }
        benchmark.pedantic(lambda: costs.update(alternate(contestants, 1)), rounds=1)
    curve("workers", "wall, s", [(n, wall(costs[n])) for n in workers])
    curve("workers", "CPU, s", [(n, cpu(costs[n])) for n in workers])
    curve("workers-memory", "peak, all processes together", [(n, costs[n][0].memory) for n in workers])
    figure("8 processes / 2 processes, wall", wall(costs[8]) / wall(costs[2]))
    figure("8 processes / 2 processes, memory", costs[8][0].memory / costs[2][0].memory)


def test_cpu_of_a_case_of_bare_pytest(tmp_path, benchmark, figure):
    """For comparison: what pytest itself takes to walk through a case that does nothing."""
    one, many = bare_project(tmp_path / "one", 1), bare_project(tmp_path / "many", SAMPLES)
    costs = {}
    contestants = {"one": lambda: run(one, "-q"), "many": lambda: run(many, "-q")}
    benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    figure("bare pytest: CPU a case", 1000 * (cpu(costs["many"]) - cpu(costs["one"])) / (SAMPLES - 1), "ms")
