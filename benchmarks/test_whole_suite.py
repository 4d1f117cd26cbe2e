"""All benchmarks at official size in one process, 128 in flight, against requests × latency / in flight.

The data is made by benchmarks.official. The endpoint answers with a word, so that cases end wrong, after few turns. Tasks that
run a model's programs are left out: the word would be run as one, hundreds of times, and that is the processor's time.
"""

from __future__ import annotations

import re
import time

import pytest

from benchmarks.measure import ROOT, Cost, endpoint, run
from benchmarks.official import write_all
from harness.task import known_tasks
from tests.plugin.project import Project, summary

LATENCY = 0.2  # seconds
IN_FLIGHT = 128
MOST = 1.35
FIRST = 1.0  # seconds


_TASK = re.compile(r'@benchmark_task\("(.+)"\)\ndef (\w+)')


def _functions() -> list[str]:
    """The test functions of all tasks that run no program."""
    found = [(file, *match.groups()) for file in sorted(ROOT.glob("bench_*/test_*.py")) for match in _TASK.finditer(file.read_text())]
    assert {task for _, task, _ in found} == set(known_tasks()), "a task has no function that looks like the others"
    return [f"{file}::{function}" for file, task, function in found if not known_tasks()[task].runs_code]


@pytest.mark.perf
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_whole_suite_at_official_size(tmp_path, benchmark, figure, workers):
    write_all(tmp_path / "data", 1.0)
    project = Project(tmp_path)
    suite = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), *_functions())
    # builds what is kept between runs: the indices, the digest of the detector's weights
    run(project, *suite, "--data", str(tmp_path / "data"), "--limit", "1", "--model", "baseline", "--run-dir", str(tmp_path / "first"))
    costs: list[Cost] = []
    began: list[float] = []
    with endpoint(LATENCY) as (url, done):

        def all_of_it() -> None:
            began.append(time.monotonic())
            options = (
                "-q",
                "--data",
                str(tmp_path / "data"),
                "-n",
                workers,
                "--in-flight",
                str(IN_FLIGHT),
                "--run-dir",
                str(tmp_path / "run"),
            )
            costs.append(run(project, *suite, *options, "--model", "m", "--model-url", url))

        benchmark.pedantic(all_of_it, rounds=1)
    tasks = summary(tmp_path / "run")["tasks"].values()
    limit = done["requests"] * LATENCY / IN_FLIGHT
    who = f"whole suite, -n {workers}"
    figure(f"{who}: cases", sum(task["planned"] for task in tasks))
    figure(f"{who}: requests", done["requests"])
    figure(f"{who}: wall, start-up included / limit of {limit:.1f} s", costs[0].wall / limit, most=MOST)
    figure(f"{who}: first request to last answer / limit of {limit:.1f} s", (done["last_answer"] - done["first_arrival"]) / limit)
    figure(f"{who}: start to first request", done["first_arrival"] - began[0], "s", most=FIRST)
    figure(f"{who}: CPU a request", 1000 * costs[0].cpu / done["requests"], "ms")
    figure(f"{who}: memory of the first process", costs[0].own, "MB")
    assert sum(task["broken"] + task["missing"] for task in tasks) == 0
