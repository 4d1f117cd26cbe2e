"""What a finished case leaves in the memory of the process that holds the run together."""

from __future__ import annotations

import json

import pytest

from benchmarks.measure import endpoint, run, toy
from benchmarks.projects import toy_project

FEW, MANY = 1000, 5000
LIMIT = 2  # KiB


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_finished_case_leaves_less_than_2_kib(tmp_path, benchmark, figure, workers):
    """Growth of the peak from 1,000 to 5,000 cases, summing up included.

    Without workers the same process also holds pytest's items; those are there before the first case runs, so the
    memory after collection is taken off. Records are 6 KB long, so that one which is not let go shows.
    """
    grown: dict[int, int] = {}

    def measure() -> None:
        for cases in (FEW, MANY):
            project = toy_project(tmp_path / str(cases), cases, "LongToy")
            probe = project.path / "memory.json"
            with endpoint(0.0) as (url, _):
                run(
                    project, "-p", "benchmarks.memory_probe", *toy(url, "-n", workers), env={"MEMORY_PROBE": str(probe)}
                )
            seen = json.loads(probe.read_text())
            grown[cases] = seen["peak"] - seen["collected"]

    benchmark.pedantic(measure, rounds=1)
    growth = (grown[MANY] - grown[FEW]) / (MANY - FEW)
    figure(f"-n {workers}: memory that a finished case leaves in the controller", growth, "KiB", most=LIMIT)
    assert growth < LIMIT
