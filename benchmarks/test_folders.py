"""What a case costs in run folders of 5,000 and of 100,000: finding, merging, summing up, and every report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.run_folders import SHARDS, WORK, write_data, write_run
from tests.plugin.project import ROOT

FEW, MANY = 5_000, 100_000
FLAT = 2
"""How much more CPU a case may cost among 100,000 than among 5,000. What grows with the square would show as 20; a
larger heap as 1.5."""

QUICK = ("plan", "write_plan")
"""One or two µs a case, of which a larger heap and the processor's cache are a good part: told, without a limit."""

LIMITS = {
    "plan": 1,
    "write_plan": 1,
    "lines": 1,
    "sum_up": 3,
    "load": 2,
    "page": 4,
    "compare": 8,
    "items": 8,
    "eval": 4,
    "merge": 4,
}
"""KB (1,000 bytes) that a case may add to the peak of memory. Reports hold the outlines of all cases of each run
that they read."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = tmp_path_factory.mktemp("folders")
    for cases in (FEW, MANY):
        data = write_data(made / f"data{cases}", cases)
        run = write_run(made / f"run{cases}", data, cases)
        for shard in range(SHARDS):
            work("sum_up", write_run(run.with_name(f"{run.name}-{shard}"), data, cases, shard=shard))
        work(
            "sum_up", shutil.copytree(run, made / f"copy{cases}")
        )  # reads all files once: the disk is not what is measured
        shutil.rmtree(made / f"copy{cases}")
    return made


def work(name: str, run: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.run_folders", name, str(run)]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, float] = json.loads(done.stdout)
    return told


@pytest.mark.perf
def test_a_case_costs_the_same_among_5000_and_among_100000(folders, benchmark, figure):
    costs = {}

    def measure() -> None:
        for name in WORK:  # in this order: a run is summed up before it is read
            for cases in (FEW, MANY):
                costs[name, cases] = work(name, folders / f"run{cases}")

    benchmark.pedantic(measure, rounds=1)
    for name in WORK:
        if name == "table":  # of the summary alone
            figure("100,000 cases: table", 1000 * costs[name, MANY]["cpu"], "ms")
            continue
        few, many = (costs[name, cases]["cpu"] / cases for cases in (FEW, MANY))
        figure(f"100,000 cases: {name}, CPU a case", 1e6 * many, "µs")
        figure(f"{name}: CPU a case among 100,000 / among 5,000", many / few, most=None if name in QUICK else FLAT)
        grown = 1000 * (costs[name, MANY]["memory"] - costs[name, FEW]["memory"]) / (MANY - FEW)
        figure(f"{name}: memory a case", grown, "KB", most=LIMITS[name])


@pytest.mark.perf
def test_a_run_is_on_the_disk_once(folders, benchmark, figure):
    run = benchmark.pedantic(lambda: folders / f"run{MANY}", rounds=1)
    work("sum_up", run)
    written = sum(file.stat().st_size for pattern in ("records.jsonl", "records/*") for file in run.glob(pattern))
    figure("100,000 cases: records on the disk", written / 1e6, "MB")
    figure("100,000 cases: page", (run / "report.html").stat().st_size / 1e6, "MB")
    assert not (run / "records").exists()
