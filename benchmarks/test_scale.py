"""What a sample costs when there are many: from 1,000 to 100,000, with cases that ask nobody, so that only the harness is left."""

from __future__ import annotations

import pytest

from benchmarks.measure import alternate, cpu, run, wall
from benchmarks.projects import bare_project, toy_project

POINTS = (1_000, 10_000, 30_000, 100_000)
FLAT = 1.25
"""How much more a sample may cost among the most than among the fewest. Start-up is taken off."""

FEW, MANY = 2_000, 20_000


@pytest.mark.perf
def test_cost_of_a_sample_from_1000_to_100000(tmp_path, benchmark, figure, curve):
    projects = {samples: toy_project(tmp_path / str(samples), samples, "SilentToy") for samples in (1, *POINTS)}
    contestants = {samples: lambda project=project: run(project, *toy_alone("0")) for samples, project in projects.items()}
    costs = {}
    benchmark.pedantic(lambda: costs.update(alternate(contestants, 2)), rounds=1)
    cost = {samples: 1000 * (cpu(costs[samples]) - cpu(costs[1])) / samples for samples in POINTS}
    curve("samples", "CPU a sample, ms", [(samples, cost[samples]) for samples in POINTS])
    curve("samples", "wall a sample, ms", [(samples, 1000 * (wall(costs[samples]) - wall(costs[1])) / samples) for samples in POINTS])
    for samples in POINTS:
        figure(f"{samples:,} samples: CPU a sample", cost[samples], "ms")
    figure(f"CPU a sample among {POINTS[-1]:,} / among {POINTS[0]:,}", cost[POINTS[-1]] / cost[POINTS[0]], most=FLAT)
    figure(f"{POINTS[-1]:,} samples: memory", costs[POINTS[-1]][0].own, "MB")


@pytest.mark.perf
def test_memory_of_a_worker_does_not_grow_with_the_samples_behind_it(tmp_path, benchmark, figure):
    """Every worker holds pytest's items of all cases, with us as without; what is beyond that is asked here."""
    peaks = {}

    def measure() -> None:
        for samples in (FEW, MANY):
            ours = toy_project(tmp_path / f"ours{samples}", samples, "SilentToy")
            bare = bare_project(tmp_path / f"bare{samples}", samples)
            peaks["ours", samples] = run(ours, *toy_alone("2")).child
            peaks["bare", samples] = run(bare, "-q", "-n", "2").child

    benchmark.pedantic(measure, rounds=1)
    growth = {name: 1e6 / 1024 * (peaks[name, MANY] - peaks[name, FEW]) / (MANY - FEW) for name in ("ours", "bare")}
    figure("-n 2: KiB that a case adds to the peak of a worker", growth["ours"], "KiB")
    figure("the same of bare pytest, whose items are as many", growth["bare"], "KiB")
    figure(f"-n 2: memory of a worker among {MANY:,} samples", peaks["ours", MANY], "MB")


def toy_alone(workers: str) -> tuple[str, ...]:
    """Options of a run whose cases ask no model; the address is never used."""
    return ("-q", "--data", "toy", "--model", "m", "--model-url", "http://127.0.0.1:9/v1", "-n", workers, "--in-flight", "128")
