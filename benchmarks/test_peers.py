"""1,024 requests by other runners: inspect_ai, plain asyncio, and pytest with a synchronous client."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import ROOT, Cost, alternate, command, cpu, endpoint, run, toy, wall
from benchmarks.projects import synchronous_project, toy_project
from benchmarks.test_throughput import IN_FLIGHT, LATENCY, ROUNDS, SAMPLES


def peer(
    name: str,
    url: str,
    folder: Path,
    samples: int = SAMPLES,
    python: str = sys.executable,
    in_flight: int = IN_FLIGHT,
) -> Cost:
    words = [python, str(ROOT / "benchmarks" / "peers.py"), name, url, str(samples), str(in_flight)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)} if python == sys.executable else dict(os.environ)
    return command(words, cwd=folder, env=env, log=folder / f"{name}.txt")


def inspect_python() -> str | None:
    """The Python that has inspect_ai: the one that INSPECT_PYTHON names, else this one. None where it lacks it."""
    python = os.environ.get("INSPECT_PYTHON") or sys.executable
    done = subprocess.run([python, "-c", "import inspect_ai"], capture_output=True, check=False)
    return python if done.returncode == 0 else None


def test_against_inspect_ai_and_plain_asyncio(tmp_path, benchmark, figure):
    """inspect_ai is left out where it is not installed."""
    many = toy_project(tmp_path / "many", SAMPLES)
    costs = {}
    python = inspect_python()
    with endpoint(LATENCY) as (url, _):
        contestants = {
            "ours": lambda: run(many, *toy(url, "-n", "0", "--in-flight", str(IN_FLIGHT))),
            "aiohttp": lambda: peer("aiohttp", url, tmp_path),
        }
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
        if python:
            found = {name: peer(name, url, tmp_path, python=python) for name in ("inspect", "inspect-cheapest")}
    figure("asyncio + aiohttp without a runner: CPU a sample", 1000 * cpu(costs["aiohttp"]) / SAMPLES, "ms")
    figure("-n 0 / asyncio + aiohttp, wall", wall(costs["ours"]) / wall(costs["aiohttp"]))
    if python:
        as_it_comes, cheapest = found["inspect"], found["inspect-cheapest"]
        figure("inspect_ai: CPU a sample", 1000 * as_it_comes.cpu / SAMPLES, "ms")
        figure("inspect_ai: memory", as_it_comes.memory, "MB")
        figure("inspect_ai / -n 0, wall", as_it_comes.wall / wall(costs["ours"]), least=6)
        figure("inspect_ai / -n 0, CPU", as_it_comes.cpu / cpu(costs["ours"]))
        figure("inspect_ai without its log of running samples / -n 0, wall", cheapest.wall / wall(costs["ours"]))
        figure("inspect_ai without its log of running samples / -n 0, CPU", cheapest.cpu / cpu(costs["ours"]))


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
    figure("-n 32: memory of the largest worker", ours.child, "MB", most=85)
    figure("-n 32 / synchronous client -n 32, wall", ours.wall / plainly.wall, most=0.5)
    figure("-n 32 / synchronous client -n 32, memory", ours.memory / plainly.memory, most=0.5)
    figure("-n 32 / synchronous client -n 32, CPU", ours.cpu / plainly.cpu)


def test_cpu_of_the_framework_beyond_the_client(tmp_path, benchmark, figure):
    """The client alone asks the same questions in plain asyncio. Each is measured on one sample as well, and that
    taken off."""
    projects = {samples: toy_project(tmp_path / str(samples), samples) for samples in (1, SAMPLES)}
    costs = {}
    with endpoint(LATENCY) as (url, _):
        contestants = {}
        for samples, project in projects.items():
            contestants["client", samples] = lambda samples=samples: peer("client", url, tmp_path, samples)
            for workers in ("0", "2"):
                options = toy(url, "-n", workers, "--in-flight", str(IN_FLIGHT))
                contestants[workers, samples] = lambda project=project, options=options: run(project, *options)
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    client, alone, two = (
        1000 * (cpu(costs[who, SAMPLES]) - cpu(costs[who, 1])) / (SAMPLES - 1) for who in ("client", "0", "2")
    )
    figure("the client alone: CPU a request", client, "ms")
    figure("-n 0: CPU a sample beyond the client", alone - client, "ms", most=1.5)
    figure("-n 2: CPU a sample beyond the client, all processes", two - client, "ms", most=3)


def test_cpu_of_the_client_at_any_width(tmp_path, benchmark, figure):
    """The cost of a request must not grow with the number of concurrent ones. The first request, which imports the
    package and opens the connection, is measured by itself and taken off."""
    samples = {1: 256, 32: 2048, 128: 4096, 1024: 8192}
    costs = {}
    with endpoint(0.02) as (url, _):
        contestants = {
            (in_flight, number): lambda in_flight=in_flight, number=number: peer(
                "client", url, tmp_path, number, in_flight=in_flight
            )
            for in_flight, many in samples.items()
            for number in (1, many)
        }
        benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    found = {
        width: 1000 * (cpu(costs[width, many]) - cpu(costs[width, 1])) / (many - 1) for width, many in samples.items()
    }
    for width, milliseconds in found.items():
        figure(f"the client alone, {width:,} concurrent: CPU a request", milliseconds, "ms")
    figure("the client alone: CPU a request at 1,024 / 32 concurrent", found[1024] / found[32], most=1.5)
