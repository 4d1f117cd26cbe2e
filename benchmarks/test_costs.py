"""Where the CPU of a sample goes: the client alone, the framework beyond it, and what a wrong or a broken case costs
more."""

from __future__ import annotations

from benchmarks.measure import alternate, cpu, endpoint, run, script, toy
from benchmarks.projects import toy_project

SAMPLES = 1024
LATENCY = 0.05  # seconds
IN_FLIGHT = 128
ROUNDS = 3


def test_cpu_of_the_framework_beyond_the_client(tmp_path, benchmark, figure):
    """The client alone asks the same questions in plain asyncio. Each is measured on one sample as well, and that
    taken off."""
    one, many = toy_project(tmp_path / "one", 1), toy_project(tmp_path / "many", SAMPLES)
    costs = {}
    with endpoint(LATENCY) as (url, _):

        def options(workers: str) -> tuple[str, ...]:
            return toy(url, "-n", workers, "--in-flight", str(IN_FLIGHT))

        def client(samples: int):
            return script("yardstick_client", url, str(samples), str(IN_FLIGHT), folder=tmp_path)

        contestants = {
            "client, one": lambda: client(1),
            "client": lambda: client(SAMPLES),
            "-n 0, one": lambda: run(one, *options("0")),
            "-n 0": lambda: run(many, *options("0")),
            "-n 2, one": lambda: run(one, *options("2")),
            "-n 2": lambda: run(many, *options("2")),
        }
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    each = {
        name: 1000 * (cpu(costs[name]) - cpu(costs[f"{name}, one"])) / (SAMPLES - 1)
        for name in ("client", "-n 0", "-n 2")
    }
    figure("the client alone: CPU a request", each["client"], "ms")
    figure("-n 0: CPU a sample beyond the client", each["-n 0"] - each["client"], "ms", most=1.5)
    figure("-n 2: CPU a sample beyond the client, all processes", each["-n 2"] - each["client"], "ms", most=3)


def test_a_wrong_and_a_broken_case(tmp_path, benchmark, figure):
    """All cases wrong, or all refused with 400, against all passed."""
    many = toy_project(tmp_path / "many", SAMPLES)
    costs = {}
    with (
        endpoint(LATENCY) as (right, _),
        endpoint(LATENCY, wrong=1.0) as (wrong, _),
        endpoint(LATENCY, refused=1.0) as (broken, _),
    ):
        contestants = {
            "passed": lambda: run(many, *toy(right, "-n", "0", "--in-flight", str(IN_FLIGHT))),
            "wrong": lambda: run(many, *toy(wrong, "-n", "0", "--in-flight", str(IN_FLIGHT))),
            "broken": lambda: run(many, *toy(broken, "-n", "0", "--in-flight", str(IN_FLIGHT)), expect=(1,)),
        }
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    for kind in ("wrong", "broken"):
        more = 1000 * (cpu(costs[kind]) - cpu(costs["passed"])) / SAMPLES
        figure(f"-n 0: CPU that a {kind} case costs more", more, "ms", most=2)
