"""What ``agentgauge launch`` costs: a Ray cluster whose nodes are processes of this machine, with one processor each
for Ray.

All nodes share the processors that are there, so more nodes do not make a run faster here.
``benchmarks.simulate_launch`` takes the figures to larger clusters.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from benchmarks.measure import ROOT, Cost, alternate, command, cpu, endpoint, run, so_far, toy, wall
from benchmarks.projects import toy_project
from tests.launch.ray_nodes import Nodes, below, having
from tests.plugin.project import Project

pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = pytest.mark.perf

CASES = 3_004
WAITING = 404
"""Cases of an endpoint that takes its time."""
SHARD = "--agentgauge-run-dir="
"""In the command line of a shard's pytest."""


def probe(way: str, records: int, size: int) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.launch_probe", way, str(records), str(size)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def words(nodes: Nodes, workers: int, *arguments: str) -> list[str]:
    ray = ("--ray", nodes.address, "--workers", str(workers))
    return [sys.executable, "-m", "agentgauge.cli.main", "launch", *ray, "--", *arguments]


def launch(project: Project, nodes: Nodes, workers: int, *arguments: str) -> Cost:
    """To the end. The processor time is the driver's."""
    environment, log = project.environment(nodes.environment), project.path / "output.txt"
    return command(words(nodes, workers, *arguments), cwd=project.path, env=environment, log=log)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with Nodes() as cluster:
        yield cluster


def test_records_through_the_driver(benchmark, figure):
    rounds = 2
    found: dict[str, dict[str, float]] = {}

    def all_ways() -> None:
        for way, records, size in (("direct", 20_000, 10), ("ray", 20_000, 10), ("ray", 10_000, 1)):
            best = min((probe(way, records, size) for _ in range(rounds)), key=lambda done: done["seconds"])
            found[f"{way} {size}"] = {**best, "speed": records / best["seconds"]}

    benchmark.pedantic(all_ways, rounds=1)
    figure("records of 6 KB a second, without Ray", found["direct 10"]["speed"], "records/s", least=3000)
    figure("records of 6 KB a second through Ray, ten in a message", found["ray 10"]["speed"], "records/s", least=3000)
    figure("messages of one record a second through Ray", found["ray 1"]["speed"], "messages/s")
    both = found["ray 1"]["cpu"] / 10_000  # a message and a record
    record = (found["ray 10"]["cpu"] - 2_000 * both) / 18_000
    figure("driver: processor time of a record", 1e6 * record, "µs")
    figure("driver: processor time of a message through Ray", 1e6 * (both - record), "µs")


def test_against_a_plain_run(tmp_path, benchmark, figure, nodes):
    one, four, many = (toy_project(tmp_path / str(count), count) for count in (1, 4, CASES))
    costs = {}
    with endpoint(0.0) as (url, _):
        plain, far = toy(url, "-n", "0"), toy(url)
        contestants = {
            "plain, one case": lambda: run(one, *plain),
            "plain": lambda: run(many, *plain),
            "one case": lambda: launch(one, nodes, 1, *far),
            "four shards": lambda: launch(four, nodes, 1, *far),
            "launch": lambda: launch(many, nodes, 1, *far),
        }
        contestants["one case"]()  # compiles modules
        benchmark.pedantic(lambda: costs.update(alternate(contestants, 2)), rounds=1)
    walls = {name: wall(cost) for name, cost in costs.items()}
    a_shard = (walls["four shards"] - walls["one case"]) / 3
    figure("launch - plain run, one case: wall", walls["one case"] - walls["plain, one case"], "s", most=8)
    figure("launch: wall of each further shard on the same worker", a_shard, "s", most=3)
    a_case = (walls["launch"] - walls["four shards"]) / (CASES - 4)
    figure("plain run: wall of a case", 1000 * (walls["plain"] - walls["plain, one case"]) / (CASES - 1), "ms")
    figure("launch: wall of a case, one worker", 1000 * a_case, "ms")
    a_case = (cpu(costs["launch"]) - cpu(costs["four shards"])) / (CASES - 4)
    figure("launch: processor time of a case on the driver", 1000 * a_case, "ms", most=2)
    figure("launch: processor time of the driver with one case", cpu(costs["one case"]), "s")
    figure("launch: memory of the driver", max(cost.own for cost in costs["launch"]), "MB")


def test_one_two_and_four_nodes(tmp_path, benchmark, figure, nodes):
    many = toy_project(tmp_path / "many", WAITING)
    costs = {}
    added: list[subprocess.Popen[bytes]] = []
    with endpoint(0.2) as (url, _):
        options = toy(url, "--in-flight", "16")

        def all_sizes() -> None:
            costs["plain"] = run(many, *options, "-n", "0")
            for count in (1, 2, 4):
                while len(added) + 1 < count:
                    added.append(nodes.add())
                costs[count] = launch(many, nodes, count, *options)

        try:
            benchmark.pedantic(all_sizes, rounds=1)
        finally:
            for node in added:
                nodes.kill(node)
    figure(f"{WAITING} cases, 16 in flight, plain run: wall", costs["plain"].wall, "s")
    for count in (1, 2, 4):
        figure(f"{WAITING} cases, 16 in flight, launch, nodes: {count}: wall", costs[count].wall, "s")


@pytest.mark.parametrize("way", ["is killed", "falls silent"])
def test_a_node_dies(tmp_path, benchmark, figure, way):
    """A node that falls silent closes no connection, as if its machine had lost its power."""
    project = toy_project(tmp_path / "project", 40)
    with endpoint(1.0) as (url, done), Nodes(head=0) as nodes:
        both = [nodes.add(), nodes.add()]
        log = (project.path / "output.txt").open("wb")
        with (
            log,
            subprocess.Popen(
                words(nodes, 1, *toy(url, "--in-flight", "2")),
                cwd=project.path,
                env=project.environment(nodes.environment),
                stdout=log,
                stderr=log,
            ) as process,
        ):
            while so_far(url)["requests"] < 4:
                assert process.poll() is None, (project.path / "output.txt").read_text()
                time.sleep(0.05)
            (shard,) = having(nodes.token, SHARD)
            (node,) = (node for node in both if shard in below(node.pid))
            (nodes.kill if way == "is killed" else nodes.freeze)(node)
            died = time.monotonic()
            before = so_far(url)["requests"]
            try:
                benchmark.pedantic(lambda: _wait_for_more(url, before, process), rounds=1)
            finally:
                process.kill()
    first = next(at for at in done["arrivals"] if at > died)
    figure(f"a node {way}: until its cases run elsewhere", first - died, "s", most=60)


def _wait_for_more(url: str, before: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 100
    while so_far(url)["requests"] <= before:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
