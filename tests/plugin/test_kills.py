"""A run can be killed at any moment: what is finished stays, and the resumed run ends as one that nothing disturbed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say, slow
from tests.plugin.project import PYTEST, Project, python, records, summary, without_times

SAMPLES = 24
MOMENTS = [0, *(pytest.param(seed, marks=pytest.mark.faults) for seed in range(1, 22))]
"""Seeds of random moments; most are for ``make test-heavy``."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[dict, float]:
    """The summary, and the seconds that a run takes from its first process to its end."""
    project = Project.make(tmp_path_factory.mktemp("undisturbed") / "project", samples=SAMPLES)
    with FaultServer(choose=slow(0.05)) as endpoint:
        begin = time.monotonic()
        result = project.run("--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "--run-dir", "run")
        assert result.status == 0, result.output
        return without_times(summary(project.path / "run")), time.monotonic() - begin


@pytest.mark.parametrize("seed", MOMENTS)
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_controller_that_is_killed(tmp_path, undisturbed, workers, seed):
    expected, seconds = undisturbed
    moments = random.Random(f"controller {workers} {seed}")
    project = Project.make(tmp_path / "project", samples=SAMPLES)
    run = project.path / "run"
    with FaultServer(choose=slow(0.05)) as endpoint:
        arguments = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers)

        def command() -> tuple[str, ...]:
            resumes = (run / "run.json").exists()
            return ("--resume", "run", *arguments[2:]) if resumes else (*arguments, "--run-dir", "run")

        for _ in range(2):  # the resumed one is killed too
            process = project.start(*command())
            time.sleep(moments.uniform(0, 1.1 * seconds))
            process.kill()
            process.communicate(timeout=20)
        endpoint.choose = say
        kept = finished(run)
        result = project.run(*command())
        assert result.status == 0, result.output
        assert kept <= {(record["sample"], record["finished"]) for record in records(run)}  # nothing was run twice
        assert without_times(summary(run)) == expected
        assert not list(run.glob("lock*")) and not list(run.glob("reserve"))


def finished(run: Path) -> set[tuple[str, float]]:
    """Cases with a whole record."""
    files = (*run.glob("records/*.jsonl"), *run.glob("records.jsonl"))
    lines = [line for file in files for line in file.read_bytes().split(b"\n")[:-1]]
    return {(record["sample"], record["finished"]) for record in map(json.loads, lines)}


@pytest.mark.parametrize("seed", MOMENTS)
def test_a_worker_that_is_killed(tmp_path, undisturbed, seed):
    expected, seconds = undisturbed
    moments = random.Random(f"worker {seed}")
    project = Project.make(tmp_path / "project", samples=SAMPLES)
    with FaultServer(choose=slow(0.05)) as endpoint:
        arguments = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "-n", "2")
        process = project.start(*arguments, "--run-dir", "run")
        time.sleep(moments.uniform(0, 1.1 * seconds))
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            if children:
                os.kill(int(moments.choice(children)), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
        output, _ = process.communicate(timeout=60)
        endpoint.choose = say
        if process.returncode != 0:  # it was killed before xdist had begun with it
            assert "INTERNALERROR" not in output or "in setup_nodes" in output, output  # xdist's own: no answer
            is_planned = (project.path / "run" / "run.json").exists()  # a run without a plan leaves nothing
            again = ("--resume", "run", *arguments[2:]) if is_planned else (*arguments, "--run-dir", "run")
            resumed = project.run(*again)
            assert resumed.status == 0, resumed.output
        assert without_times(summary(project.path / "run")) == expected
        assert len(records(project.path / "run")) == SAMPLES


SLOW_COLLECTION = """
import time
def pytest_collection_modifyitems():
    open("collecting", "w").close()
    time.sleep(20)
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["serial", "n1"])
def test_a_run_that_is_killed_before_it_has_a_plan_is_resumed_with_its_own_selection(tmp_path, workers):
    project = Project.make(tmp_path / "project", samples=12)
    conftest = (project.path / "conftest.py").read_text()
    (project.path / "conftest.py").write_text(conftest + SLOW_COLLECTION)
    (project.path / "test_ordinary.py").write_text("def test_other():\n    raise AssertionError\n")
    with FaultServer(choose=say) as endpoint:
        selection = ("--limit", "4", "-k", "odd", "test_toy.py")
        process = project.start("--model", "m", "--model-url", endpoint.url, *workers, "--run-dir", "run", *selection)
        deadline = time.monotonic() + 30
        while not (project.path / "collecting").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=20)
        run = project.path / "run"
        assert (run / "run.json").exists() and not (run / "planned.json").exists()
        (project.path / "conftest.py").write_text(conftest)
        result = python(*PYTEST, "--resume", str(run), *workers, cwd=project.path)
        assert result.status == 0, result.output
        expected = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "expected", *selection)
        assert expected.status == 0, expected.output
    assert without_times(summary(run)) == without_times(summary(project.path / "expected"))


def test_a_run_that_was_killed_before_its_plan_may_also_begin_anew_in_its_folder(project, model):
    (project.path / "run").mkdir()
    (project.path / "run" / "run.json").write_text(json.dumps({"planned": 0, "settings": {}}))
    (project.path / "run" / "lock").write_text("")
    result = project.run(*model, "--run-dir", "run")
    assert result.status == 0, result.output
