"""What a case takes in memory in each process of a run: how the peak grows with the cases, page and summary included.

Of these KB pytest's own items take 2.9 in each process that collects. benchmarks/test_scale.py holds a run of 100,000
cases to its limits; here few cases show what grows with them. What the end of a run needs for a moment is a good part
of it.
"""

from __future__ import annotations

from benchmarks.measure import run
from benchmarks.projects import toy_project

PROCESS, CONTROLLER, WORKER = 6.5, 2.5, 4.5
"""KB (1,000 bytes) a case. With every report kept and outlines held twice the first two were 8.6 and 4.6."""


def peaks(folder, workers, cases):
    """MB, of pytest's first process and of the largest below it."""
    project = toy_project(folder, cases, "HalfWrongToy")
    cost = run(project, "-q", "--data", "toy", "--model", "m", "--model-url", "http://127.0.0.1:9/v1", "-n", workers)
    return cost.own, cost.child


def growth(less, more, cases):
    """KB a case."""
    return [1000 * (after - before) / cases for before, after in zip(less, more, strict=True)]


def test_a_run_in_one_process(tmp_path):
    own, _ = growth(peaks(tmp_path / "few", "0", 500), peaks(tmp_path / "many", "0", 3_000), 2_500)
    assert own < PROCESS


def test_a_controller_and_its_workers(tmp_path):
    """The controller's peak varies between 1.6 and 2.8 KB from run to run, so the least of up to three counts."""
    least = float("inf")
    for attempt in range(3):
        few = peaks(tmp_path / f"few{attempt}", "2", 1_000)
        controller, worker = growth(few, peaks(tmp_path / f"many{attempt}", "2", 5_000), 4_000)
        assert worker < WORKER
        least = min(least, controller)
        if least < CONTROLLER:
            break
    assert least < CONTROLLER
