"""All benchmarks at official size in one process, 128 in flight, against requests × latency / in flight.

The data is made by benchmarks.official. The endpoint answers with a word, so that cases end wrong, after few turns.
Tasks that run a model's programs are left out: the word would be run as one, hundreds of times, and that is the
processor's time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentgauge.core.task_registry import known_tasks
from benchmarks.measure import ROOT, Cost, endpoint, run
from benchmarks.official import write_all
from tests.plugin.project import Project, summary

LATENCY = 0.2  # seconds
IN_FLIGHT = 128
MOST = 1.35
FIRST = {"0": 1.0, "2": 2.5}  # seconds, by the number of workers
ROUNDS = 2


class Round(NamedTuple):
    cost: Cost
    served: Mapping[str, Any]  # what the endpoint counted
    first: float  # seconds from the start to the first request
    folder: Path


_TASK = re.compile(r'@benchmark_task\("(.+)"\)\ndef (\w+)')


def _functions() -> list[str]:
    """The test functions of all tasks that run no program."""
    found = [
        (file, *match.groups())
        for file in sorted(ROOT.glob("bench_*/test_*.py"))
        for match in _TASK.finditer(file.read_text())
    ]
    ours = {
        name for name, task in known_tasks().items() if type(task).__module__.startswith("bench_")
    }  # other benchmarks here have toys
    assert {task for _, task, _ in found} == ours, "a task has no function that looks like the others"
    return [f"{file}::{function}" for file, task, function in found if not known_tasks()[task].runs_code]


@pytest.mark.perf
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_whole_suite_at_official_size(tmp_path, benchmark, figure, workers):
    write_all(tmp_path / "data", 1.0)
    project = Project(tmp_path)
    suite = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), *_functions())
    # builds what is kept between runs: the indices, the digest of the detector's weights
    run(
        project,
        *suite,
        "--data",
        str(tmp_path / "data"),
        "--limit",
        "1",
        "--model",
        "baseline",
        "--run-dir",
        str(tmp_path / "first"),
    )
    rounds: list[Round] = []

    def all_of_it() -> None:
        with endpoint(LATENCY) as (url, served):
            options = ("-q", "--data", str(tmp_path / "data"), "-n", workers, "--in-flight", str(IN_FLIGHT))
            folder = tmp_path / f"run{len(rounds)}"
            began = time.monotonic()
            cost = run(project, *suite, *options, "--run-dir", str(folder), "--model", "m", "--model-url", url)
        rounds.append(Round(cost, served, served["first_arrival"] - began, folder))

    benchmark.pedantic(all_of_it, rounds=ROUNDS)
    best = min(rounds, key=lambda one: one.cost.wall)
    tasks = summary(best.folder)["tasks"].values()
    done = best.served
    limit = done["requests"] * LATENCY / IN_FLIGHT
    who = f"whole suite, -n {workers}"
    figure(f"{who}: cases", sum(task["planned"] for task in tasks))
    figure(f"{who}: requests", done["requests"])
    figure(f"{who}: wall, start-up included / limit of {limit:.1f} s", best.cost.wall / limit, most=MOST)
    figure(
        f"{who}: first request to last answer / limit of {limit:.1f} s",
        (done["last_answer"] - done["first_arrival"]) / limit,
    )
    figure(f"{who}: start to first request", min(one.first for one in rounds), "s", most=FIRST[workers])
    figure(f"{who}: CPU a request", 1000 * best.cost.cpu / done["requests"], "ms")
    figure(f"{who}: memory of the first process", best.cost.own, "MB")
    assert sum(task["broken"] + task["missing"] for task in tasks) == 0
