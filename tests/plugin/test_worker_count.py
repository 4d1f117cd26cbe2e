"""The number of workers, and what cases waited for."""

from __future__ import annotations

import json
import os

import pytest

from agentgauge import read_run
from agentgauge.core.registry import Registry
from agentgauge.run.thread_pools import processors
from tests.plugin.conftest import slow
from tests.plugin.project import PYTEST, ROOT, Project, python, records, summary
from tests.plugin.toy import TOY

# -- How many workers are started, at first and for those that died.


USABLE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("quota", "found"),
    [
        ("max 100000\n", USABLE),
        ("100000 100000\n", 1),
        ("10000 100000\n", 1),
        ("100000000 100000\n", USABLE),
        ("", USABLE),
        (None, USABLE),
    ],
)
def test_a_quota_of_the_container_counts(tmp_path, quota, found):
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    assert processors(file) == found


OWN = """
import pytest

@pytest.mark.parametrize("number", range(8))
def test_own(number):
    pass
"""


@pytest.mark.parametrize(
    ("paths", "is_limited"),
    [
        ((), True),
        (("bench_gta", "bench_wild/test_wild.py"), True),
        (("bench_gta", "OWN"), False),
    ],
)
def test_benchmarks_get_no_more_workers_than_processors_and_the_header_says_so(tmp_path, paths, is_limited):
    (tmp_path / "test_own.py").write_text(OWN)
    asked = processors() + 1
    words = [str(tmp_path) if path == "OWN" else path for path in paths]
    kept = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    result = python(*PYTEST, *words, "-n", str(asked), "-k", "nothing", cwd=ROOT, env=kept)
    assert (f"instead of {asked}" in " ".join(result.output.split())) is is_limited, result.output


def test_a_projects_own_tests_get_all_workers(project):
    (project.path / "test_toy.py").write_text(OWN)
    asked = processors() + 1
    result = project.run_process("-n", str(asked), "-v")
    assert result.status == 0, result.output
    assert "instead of" not in result.output
    assert all(f"[gw{number}]" in result.output for number in range(asked))


def test_tx_starts_as_many_as_it_says(project, model):
    asked = processors() + 1
    result = project.run_process(*model, "--tx", f"{asked}*popen", "--dist", "load", "--run-dir", "run")
    assert result.status == 0, result.output
    assert "instead of" not in result.output
    assert len(workers_of(project)) == asked


DIES = """
import os
import subprocess
if "PYTEST_XDIST_WORKER" in os.environ:
    os._exit(1)
"""


@pytest.mark.parametrize(
    ("options", "most"), [((), 4), (("--max-worker-restart", "1"), 1)], ids=["preset", "as asked for"]
)
def test_workers_that_never_start_are_not_replaced_for_ever(project, model, options, most):
    with (project.path / "conftest.py").open("a") as conftest:
        conftest.write(DIES)
    result = project.run_process(*model, "--tx", "popen", "--dist", "load", *options, seconds=60)
    assert result.status == 5, result.output
    assert f"maximum crashed workers reached: {most}" in result.output
    assert result.output.count("replacing crashed worker") == most


def workers_of(project: Project) -> set[str]:
    return {record["worker"] for record in records(project.path / "run")}


# -- What a case waited for is stored apart: slots, the endpoint, scoring.


WAIT = 0.3


def test_waiting_for_a_slot_is_no_working_time(tmp_path, endpoint):
    """The first 8 requests are sent at once; the others wait for them here."""
    endpoint.choose = slow(WAIT)
    project = Project.make(tmp_path / "project", 16)
    result = project.run_process("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", "-v")
    assert result.status == 0, result.output
    for record in records(project.path / "run"):
        transcript = record["transcript"]
        [event], times = transcript["events"], transcript["times"]
        assert WAIT <= times["endpoint"] == pytest.approx(event["seconds"], abs=0.1)
        assert times["slots"] + times["endpoint"] <= transcript["seconds"] + 1e-4
        assert times["tools"] == 0 <= times["scoring"]
    waited = [record["transcript"]["times"]["slots"] for record in records(project.path / "run")]
    assert sum(one >= WAIT / 2 for one in waited) == 8 and sum(one < WAIT / 2 for one in waited) == 8
    usage = summary(project.path / "run")["usage"]
    times = {kind: one["seconds"] for kind, one in usage["times"].items()}
    assert times["working"] == pytest.approx(usage["seconds"] - times["slots"], abs=0.01)
    assert times["slots"] == pytest.approx(sum(waited), abs=0.01)
    assert f"working time summed over cases: {times['working']:.1f} s; {times['slots']:.1f} s" in " ".join(
        result.output.split()
    )
    working = sum(sample.working_seconds for sample in read_run(project.path / "run", Registry([TOY])).samples)
    assert working == pytest.approx(times["working"], abs=0.01)
    again = project.run_process("--rescore", "run", "--run-dir", "again")
    assert again.status == 0
    assert summary(project.path / "again")["usage"]["times"]["slots"]["seconds"] == times["slots"]


@pytest.mark.uses("page")
def test_records_of_earlier_versions_load_without_these_times(project, model):
    assert project.run_process(*model, "--run-dir", "run").status == 0
    file = project.path / "run" / "records.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        del line["transcript"]["times"]
    file.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))
    assert project.run_process("--resume", "run", *model).status == 0
    usage = summary(project.path / "run")["usage"]
    assert "times" not in usage and usage["seconds"] > 0
    assert '"working": false' in (project.path / "run" / "report.html").read_text().replace('":', '": ')
