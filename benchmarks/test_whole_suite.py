"""All benchmarks at official size in one process, 128 in flight, against requests × latency / in flight.

The data is made by benchmarks.official. The endpoint answers with a word, so that cases end wrong, after few turns; what the
tools and the judged programs of a good model cost is not in here.
"""

from __future__ import annotations

import time

import pytest

from benchmarks.measure import ROOT, Cost, endpoint, run
from benchmarks.official import write_all
from tests.plugin.project import Project, summary

LATENCY = 0.2  # seconds
IN_FLIGHT = 128
MOST = 1.35
FIRST = 1.0  # seconds


@pytest.mark.perf
def test_the_whole_suite_at_official_size(tmp_path, benchmark, figure):
    write_all(tmp_path / "data", 1.0)
    project = Project(tmp_path)
    suite = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), *(str(ROOT / f"bench_{name}") for name in ("gta", "wild", "mmau")))
    run(project, *suite, "--data", str(tmp_path / "data"), "--collect-only", "-qq")  # builds the indices
    costs: list[Cost] = []
    began: list[float] = []
    with endpoint(LATENCY) as (url, done):

        def all_of_it() -> None:
            began.append(time.monotonic())
            options = ("-q", "--data", str(tmp_path / "data"), "-n", "0", "--in-flight", str(IN_FLIGHT), "--run-dir", str(tmp_path / "run"))
            costs.append(run(project, *suite, *options, "--model", "m", "--model-url", url))

        benchmark.pedantic(all_of_it, rounds=1)
    tasks = summary(tmp_path / "run")["tasks"].values()
    limit = done["requests"] * LATENCY / IN_FLIGHT
    figure("whole suite: cases", sum(task["planned"] for task in tasks))
    figure("whole suite: requests", done["requests"])
    figure(f"whole suite: wall, start-up included / limit of {limit:.1f} s", costs[0].wall / limit, most=MOST)
    figure(f"whole suite: first request to last answer / limit of {limit:.1f} s", (done["last_answer"] - done["first_arrival"]) / limit)
    figure("whole suite: start to first request", done["first_arrival"] - began[0], "s", most=FIRST)
    figure("whole suite: CPU a request", 1000 * costs[0].cpu / done["requests"], "ms")
    figure("whole suite: memory of the one process", costs[0].own, "MB")
    assert sum(task["broken"] + task["missing"] for task in tasks) == 0
