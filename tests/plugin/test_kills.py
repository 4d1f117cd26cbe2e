"""A run can be killed at any moment, and its folder belongs to one run at a time."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from agentgauge_reports.merge import merge

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say, slow
from tests.plugin.project import PYTEST, Project, interrupt, python, records, summary, without_times
from tests.plugin.test_faults import wait_for_records
from tests.plugin.toy import TOY

# -- A run can be killed at any moment: what is finished stays, and the resumed run ends as one that nothing
# disturbed.


SAMPLES = 24
MOMENTS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 22))]
"""Seeds of random moments; most are for ``-m long``."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[dict, float]:
    """The summary, and the seconds that a run takes from its first process to its end."""
    project = Project.make(tmp_path_factory.mktemp("undisturbed") / "project", samples=SAMPLES)
    with FaultServer(choose=slow(0.05)) as endpoint:
        begin = time.monotonic()
        words = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "4", "--run-dir", "run")
        result = project.run_process(*words)
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
        result = project.run_process(*command())
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
            resumed = project.run_process(*again)
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
        expected = project.run_process("--model", "m", "--model-url", endpoint.url, "--run-dir", "expected", *selection)
        assert expected.status == 0, expected.output
    assert without_times(summary(run)) == without_times(summary(project.path / "expected"))


# -- A run folder belongs to one run at a time: the second learns who has it. A summary has records of one run only.


HOLDER = """
import sys
from pathlib import Path
from agentgauge.store.folder_lock import FolderLock

hold = FolderLock(Path(sys.argv[1]))
print(flush=True)
input()
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_the_second_run_into_a_folder_is_refused_and_the_first_keeps_all_its_records(tmp_path, workers):
    project = Project.make(tmp_path / "project", samples=16)
    going_on = threading.Event()

    def waits(request):
        act = say(request)
        if request.body["messages"][-1]["content"] in ("say word0", "say word1"):
            return act
        return lambda *arguments: going_on.wait(60) and act(*arguments)

    with FaultServer(choose=waits) as one, FaultServer(choose=say) as other:
        first = project.start("--model", "m", "--model-url", one.url, "--in-flight", "4", *workers, "--run-dir", "run")
        wait_for_records(project.path / "run", 2)
        seconds = (
            ("--resume", "run"),
            ("--rescore", "run", "--run-dir", "again"),
            ("--model", "other", "--run-dir", "run"),
        )
        for arguments in seconds[:1] if workers else seconds:
            url = () if "--rescore" in arguments else ("--model-url", other.url)
            result = project.run_process(*arguments, *url, *workers)
            assert result.status == 4, result.output
            assert f"run is in use by process {first.pid} on " in result.output
            assert "--run-dir run`); wait for its end, or name another folder" in result.output.replace("\n", " ")
            assert not (project.path / "again").exists()
        going_on.set()
        output, _ = first.communicate(timeout=60)
        assert first.returncode == 0, output
        assert not other.requests
    assert {record["config"] for record in records(project.path / "run")} == set(configs(project.path / "run"))
    assert len(records(project.path / "run")) == 16
    assert not (project.path / "run" / "lock").exists()


def configs(run: Path) -> list[str]:
    return list(json.loads((run / "run.json").read_text())["configs"].values())


def test_a_killed_and_an_interrupted_run_leave_no_lock(tmp_path):
    project = Project.make(tmp_path / "project", samples=12)
    run = project.path / "run"
    with FaultServer(choose=slow(0.2)) as endpoint:
        killed = project.start("--model", "m", "--model-url", endpoint.url, "--in-flight", "2", "--run-dir", "run")
        wait_for_records(run, 2)
        killed.kill()
        killed.communicate(timeout=20)
        resumed = project.start("--resume", "run", "--in-flight", "2")
        wait_for_records(run, 6)
        interrupt(resumed)
        output, _ = resumed.communicate(timeout=30)
        assert resumed.returncode == 2, output
    assert not (run / "lock").exists()
    assert 6 <= len(records(run)) < 12


def test_a_run_that_plans_nothing_leaves_nothing(project):
    (project.path / "test_other.py").write_text("def test_ordinary():\n    pass\n")
    for arguments in (
        ("test_other.py",),
        ("test_other.py", "--run-dir", "deep/er"),
        ("--collect-only",),
    ):
        result = project.run_process(*arguments)
        assert result.status == 0 and "planned" not in result.output, result.output
        assert not [path for path in project.path.iterdir() if path.name in ("runs", "deep")], arguments


def test_records_of_another_run_are_left_out_and_nobody_is_asked_for_less(project, endpoint, model):
    """A folder in which an earlier version let two runs write."""
    for name, run in (("m", "run"), ("other", "foreign")):
        assert project.run_process("--model", name, "--model-url", endpoint.url, "--run-dir", run).status == 0
    expected = without_times(summary(project.path / "run"))
    merged = project.path / "run" / "records.jsonl"
    files = (merged, project.path / "foreign" / "records.jsonl")
    own, foreign = (file.read_text().splitlines(keepends=True) for file in files)
    merged.write_text("".join([*own[:2], *foreign[2:]]))
    before = len(endpoint.requests)
    result = project.run_process("--resume", "run", "--model-url", endpoint.url)
    assert result.status == 0, result.output
    assert "has 4 records of other settings (model, data, options), which are not this run's" in result.output
    assert len(endpoint.requests) == before + 4
    assert without_times(summary(project.path / "run")) == expected
    assert (project.path / "run" / "left-out.jsonl").read_text() == "".join(foreign[2:])


def test_merge_refuses_foreign_records_and_folders_in_use(project, model, monkeypatch):
    monkeypatch.chdir(project.path)
    tasks = Registry([TOY])
    for run, keyword in (("odd", "odd"), ("even", "even")):
        assert project.run_process(*model, "-k", keyword, "--run-dir", run).status == 0
    lines = Path(shutil.copytree("odd", "mixed")) / "records.jsonl"
    lines.write_text(lines.read_text().replace('"config":"', '"config":"x', 1))
    told = r"mixed/records.jsonl has 1 record of other settings .* with --resume=mixed"
    with pytest.raises(UsageProblem, match=told):
        merge([Path("mixed"), Path("even")], Path("out"), tasks=tasks)
    assert not Path("out").exists()
    for held in ("odd", "out"):
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER, held],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=project.environment(),
        ) as holder:
            holder.stdout.readline()
            with pytest.raises(UsageProblem, match=f"{held} is in use by process {holder.pid}"):
                merge([Path("odd"), Path("even")], Path("out"), tasks=tasks)
            holder.communicate(b"\n")
    assert merge([Path("odd"), Path("even")], Path("out"), tasks=tasks)["tasks"]["toy.say"]["missing"] == 0
