"""What a sample costs when there are many: from 1,000 to 100,000, with cases that ask nobody, so that only the
harness is left."""

from __future__ import annotations

import pytest

from benchmarks.measure import alternate, cpu, run, wall
from benchmarks.projects import bare_project, toy_project

POINTS = (1_000, 10_000, 30_000, 100_000)
FLAT = 1.25
"""How much more a sample may cost among the most than among the fewest. Start-up is taken off."""

FEW, MANY = 2_000, 20_000

PROCESS, CONTROLLER = 150 + 0.004 * POINTS[-1], 150 + 0.001 * POINTS[-1]
"""MB that a run of the most may take: a process that collects, and one that only distributes. Of pytest's own an
item takes 2.9 KB."""


@pytest.mark.perf
def test_cost_of_a_sample_from_1000_to_100000(tmp_path, benchmark, figure, curve):
    projects = {samples: toy_project(tmp_path / str(samples), samples, "SilentToy") for samples in (1, *POINTS)}
    contestants = {
        samples: lambda project=project: run(project, *toy_alone("0")) for samples, project in projects.items()
    }
    costs = {}
    benchmark.pedantic(lambda: costs.update(alternate(contestants, 2)), rounds=1)
    cost = {samples: 1000 * (cpu(costs[samples]) - cpu(costs[1])) / samples for samples in POINTS}
    curve("samples", "CPU a sample, ms", [(samples, cost[samples]) for samples in POINTS])
    curve(
        "samples",
        "wall a sample, ms",
        [(samples, 1000 * (wall(costs[samples]) - wall(costs[1])) / samples) for samples in POINTS],
    )
    for samples in POINTS:
        figure(f"{samples:,} samples: CPU a sample", cost[samples], "ms")
    figure(f"CPU a sample among {POINTS[-1]:,} / among {POINTS[0]:,}", cost[POINTS[-1]] / cost[POINTS[0]], most=FLAT)
    most = max(cost.own for cost in costs[POINTS[-1]])
    figure(f"{POINTS[-1]:,} samples, -n 0: memory", most, "MB", most=PROCESS)
    assert most <= PROCESS


@pytest.mark.perf
def test_memory_of_a_distributed_run_of_100000(tmp_path, benchmark, figure):
    """From the first to the last moment, collection, summary and page included."""
    project = toy_project(tmp_path / "ours", POINTS[-1], "SilentToy")
    cost = benchmark.pedantic(lambda: run(project, *toy_alone("2")), rounds=1)
    figure(f"{POINTS[-1]:,} samples, -n 2: memory of the controller", cost.own, "MB", most=CONTROLLER)
    figure(f"{POINTS[-1]:,} samples, -n 2: memory of the largest worker", cost.child, "MB", most=PROCESS)
    assert cost.own <= CONTROLLER
    assert cost.child <= PROCESS


@pytest.mark.perf
def test_memory_a_case_beside_bare_pytest(tmp_path, benchmark, figure):
    """Every worker holds pytest's items of all cases, and a bare controller the reports of all."""
    peaks = {}

    def measure() -> None:
        for samples in (FEW, MANY):
            ours = toy_project(tmp_path / f"ours{samples}", samples, "SilentToy")
            bare = bare_project(tmp_path / f"bare{samples}", samples)
            for workers in ("0", "2"):
                peaks["AgentGauge", workers, samples] = run(ours, *toy_alone(workers))
                peaks["bare pytest", workers, samples] = run(bare, "-q", "-n", workers)

    benchmark.pedantic(measure, rounds=1)
    for name in ("AgentGauge", "bare pytest"):
        for workers, process in (("0", "own"), ("2", "own"), ("2", "child")):
            few, many = (getattr(peaks[name, workers, samples], process) for samples in (FEW, MANY))
            which = {("0", "own"): "-n 0", ("2", "own"): "-n 2, the controller", ("2", "child"): "-n 2, a worker"}[
                workers, process
            ]
            figure(f"{name}, {which}: memory a case", 1000 * (many - few) / (MANY - FEW), "KB")


def toy_alone(workers: str) -> tuple[str, ...]:
    """Options of a run whose cases ask no model; the address is never used."""
    return (
        "-q",
        "--data",
        "toy",
        "--model",
        "m",
        "--model-url",
        "http://127.0.0.1:9/v1",
        "-n",
        workers,
        "--in-flight",
        "128",
    )
