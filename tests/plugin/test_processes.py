"""How many workers are started, at first and for those that died."""

from __future__ import annotations

import os

import pytest

from agentgauge.run.thread_pools import processors
from tests.plugin.project import PYTEST, ROOT, Project, python, records

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
    result = project.run("-n", str(asked), "-v")
    assert result.status == 0, result.output
    assert "instead of" not in result.output
    assert all(f"[gw{number}]" in result.output for number in range(asked))


def test_tx_starts_as_many_as_it_says(project, model):
    asked = processors() + 1
    result = project.run(*model, "--tx", f"{asked}*popen", "--dist", "load", "--run-dir", "run")
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
    result = project.run(*model, "--tx", "popen", "--dist", "load", *options, seconds=60)
    assert result.status == 5, result.output
    assert f"maximum crashed workers reached: {most}" in result.output
    assert result.output.count("replacing crashed worker") == most


def workers_of(project: Project) -> set[str]:
    return {record["worker"] for record in records(project.path / "run")}
