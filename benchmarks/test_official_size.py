"""The four benchmarks on data sets in the official layout: everything runs through, and what that costs.

``OFFICIAL_SCALE=1`` gives the official numbers of samples; on two cores most of that time goes to programs that the
tasks themselves run in the sandbox and to real tools. Without it the data sets are a twentieth as large.
"""

from __future__ import annotations

import json
import os
from itertools import product
from pathlib import Path

import pytest

from benchmarks.measure import Cost, run
from benchmarks.memory import machine_cpu
from benchmarks.official import MMAU, QUERIES, SESSIONS, TASKS, scaled, write_all
from benchmarks.projects import every_call_works
from tests.plugin.project import ROOT, Project

SCALE = float(os.environ.get("OFFICIAL_SCALE", "0.05"))

# turns of notebooks are asked in four tasks, contest problems in two, problems of mathematics in three
_ASKED = {"code_kaggle": 4, "code_contests_regular": 2, "math_standard": 3}
PLANNED = {
    "gta_atomic": 2 * QUERIES,
    "gta_workflow": TASKS,
    "wild": 4 * SESSIONS,
    "mmau": sum(count * _ASKED.get(name, 1) for name, (count, _) in MMAU.items()),
}
PATHS = {
    "gta_atomic": ("bench_gta/test_step.py", "bench_gta/test_e2e.py"),
    "gta_workflow": ("bench_gta/test_workflow.py",),
    "wild": ("bench_wild",),
    "mmau": ("bench_mmau",),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("official")
    write_all(folder, SCALE)
    return folder


CASES = [*product(PATHS, ["baseline", "oracle"]), ("mmau", "half wrong")]
OPTIONS = {"half wrong": ("-p", "benchmarks.half_wrong_oracle", "--model", "oracle")}


@pytest.mark.parametrize(("name", "model"), CASES)
def test_a_data_set_of_official_size(tmp_path, benchmark, figure, data, name, model):
    peaks = tmp_path / "peaks"
    peaks.mkdir()
    project = Project(tmp_path)
    files = [str(ROOT / path) for path in PATHS[name]]
    shared = (*every_call_works(project), *files, f"--data={data}")
    collected: list[Cost] = [run(project, *shared, "--collect-only", "-qq") for _ in range(2)]
    costs: list[Cost] = []
    used: list[float] = []

    def run_all() -> None:
        options = OPTIONS.get(model, ("--model", model))
        arguments = ("-p", "benchmarks.peaks", "-n", "2", *options, "--run-dir", str(tmp_path / "run"))
        before = machine_cpu()
        costs.append(run(project, *shared, *arguments, env={"PEAKS": str(peaks)}))
        used.append(machine_cpu() - before)

    benchmark.pedantic(run_all, rounds=1)
    tasks = json.loads((tmp_path / "run" / "summary.json").read_text())["tasks"].values()
    planned = sum(task["planned"] for task in tasks)
    assert SCALE != 1 or planned == PLANNED[name]
    assert planned >= scaled(PLANNED[name], SCALE) * 0.9
    assert sum(task["broken"] + task["missing"] for task in tasks) == 0
    if model == "oracle":
        assert sum(task["passed"] for task in tasks) == planned
    workers = [int(path.read_text()) * 1024 / 1e6 for path in peaks.glob("gw*")]
    assert len(workers) == 2
    told = f"{name}, {planned} cases, {model}"
    figure(f"{told}: collecting, the first time", collected[0].wall, "s")
    figure(f"{told}: collecting", collected[1].wall, "s")
    figure(f"{told}: the run", costs[0].wall, "s")
    figure(f"{told}: processor time of the machine", used[0], "s")
    figure(f"{told}: controller", costs[0].own, "MB")
    figure(f"{told}: a worker", max(workers), "MB")
    figure(f"{told}: controller and workers", costs[0].own + sum(workers), "MB")
    figure(f"{told}: all processes, services included", costs[0].memory, "MB")
