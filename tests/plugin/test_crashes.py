"""Cases that end their whole process: which one is blamed, and what becomes of the cases that ran beside it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.plugin.project import PYTEST, Result, python, records

BENCHMARK = """
import asyncio, ctypes, os, signal
from agentgauge import Score, benchmark

def die():
    if not os.path.exists("mended"):
        {how}

@benchmark("deadly", data="samples.jsonl", metrics={{"Accuracy": "mean right"}})
class Deadly:
    async def run(self, case):
        await asyncio.sleep({{"s1": 0.7, "s2": 0.7}}.get(case.sample["id"], 0))
        if {in_run} and case.sample["id"] in {guilty}:
            die()
        return await case.ask("?")

    def score(self, sample, answer):
        if {in_score} and sample["id"] in {guilty}:
            die()
        return Score(answer.text == "yes", {{"right": answer.text == "yes"}})

    def oracle(self, sample):
        return "yes"
"""

HOW = {
    "exit": "os._exit(1)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "segfault": "ctypes.string_at(0)",
}


def project(path: Path, *, how: str = "exit", where: str = "score", guilty: tuple[str, ...] = ("s3",)) -> Path:
    path.mkdir(exist_ok=True)
    parts = {"how": HOW[how], "in_run": where == "run", "in_score": where == "score", "guilty": guilty}
    (path / "deadly.py").write_text(BENCHMARK.format(**parts))
    lines = [json.dumps({"id": f"s{number}"}) for number in range(1, 7)]
    (path / "samples.jsonl").write_text("\n".join(lines) + "\n")
    (path / "pytest.ini").write_text("[pytest]\n")
    return path


def run(folder: Path, *arguments: str) -> Result:
    return python(*PYTEST, "deadly.py", "--run-dir=run", "--model=oracle", *arguments, cwd=folder, seconds=240)


def statuses(folder: Path) -> dict[str, str]:
    return {record["sample"]: record["status"] for record in records(folder / "run")}


ONLY_S3 = {f"s{number}": "broken" if number == 3 else "passed" for number in range(1, 7)}


@pytest.mark.parametrize(
    ("workers", "how", "where"),
    [
        (("-n", "1"), "exit", "score"),
        (("-n", "2"), "exit", "score"),
        (("--tx", "4*popen", "--dist", "loadscope"), "exit", "score"),
        (("-n", "2", "--dist", "loadfile"), "segfault", "run"),
        (("-n", "2", "--dist", "loadgroup"), "killed", "run"),
        (("-n", "2", "--dist", "worksteal", "-p", "no:terminal"), "exit", "run"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else value,
)
def test_only_the_case_that_kills_its_worker_is_broken(tmp_path, workers, how, where):
    folder = project(tmp_path / "project", how=how, where=where)
    result = run(folder, *workers)
    assert result.status == 1, result.output
    assert statuses(folder) == ONLY_S3, result.output
    (broken,) = [
        json.loads(line) for line in (folder / "run" / "records.jsonl").read_text().splitlines() if "s3" in line
    ]
    assert "with no other case running in it" in broken["error"]
    assert broken["cause"] == "worker died"
    assert not (folder / "run" / "suspects.json").exists()
    assert not (folder / "run" / "running").exists()


def test_two_guilty_cases_of_one_worker_are_both_found(tmp_path):
    folder = project(tmp_path / "project", guilty=("s3", "s5"))
    result = run(folder, "-n", "1")
    assert Counter(statuses(folder).values()) == {"passed": 4, "broken": 2}, result.output
    assert {sample for sample, status in statuses(folder).items() if status == "broken"} == {"s3", "s5"}


def test_the_terminal_says_what_was_running_and_that_it_runs_again(tmp_path):
    folder = project(tmp_path / "project")
    result = run(folder, "-n", "1")
    (line,) = [line for line in result.output.splitlines() if "worker gw0 died" in line]
    assert "deadly.py::test_deadly[s3]" in line
    assert "they run again, one at a time" in line
    assert "5 passed, 1 rerun, 1 broken" in result.output
    assert "failed" not in result.output.splitlines()[-1]


def test_where_no_worker_is_replaced_the_terminal_says_that_they_run_when_the_run_is_resumed(tmp_path):
    folder = project(tmp_path / "project")
    result = run(folder, "-n", "1", "--max-worker-restart=0")
    (line,) = [line for line in result.output.splitlines() if "worker gw0 died" in line]
    assert f"they run again, one at a time, when the run is resumed with --resume={folder / 'run'}" in line
    (folder / "mended").touch()
    assert python(*PYTEST, "deadly.py", "--resume=run", cwd=folder).status == 0
    assert set(statuses(folder).values()) == {"passed"}


def test_a_run_of_one_process_that_died_finds_the_guilty_case_when_it_is_resumed(tmp_path):
    """The first resumed run dies on it alone, and the second one knows."""
    folder = project(tmp_path / "project")
    run(folder)
    assert not (folder / "run" / "summary.json").exists()
    resumed = python(*PYTEST, "deadly.py", "--resume=run", cwd=folder)
    assert "with no other case in the process" in resumed.output
    assert not (folder / "run" / "summary.json").exists()
    resumed = python(*PYTEST, "deadly.py", "--resume=run", cwd=folder)
    assert resumed.status == 1, resumed.output
    assert "test_deadly[s3] is broken: the worker process died twice" in " ".join(resumed.output.split())
    assert statuses(folder) == ONLY_S3


def test_a_guilty_case_of_an_earlier_session_runs_first_and_alone_when_it_is_resumed(tmp_path):
    folder = project(tmp_path / "project")
    run(folder, "-n", "1")
    resumed = python(*PYTEST, "deadly.py", "--resume=run", "-n", "2", cwd=folder)
    assert resumed.status == 1, resumed.output
    assert statuses(folder) == ONLY_S3
    (folder / "mended").touch()
    repaired = python(*PYTEST, "deadly.py", "--resume=run", cwd=folder)
    assert repaired.status == 0, repaired.output
    assert set(statuses(folder).values()) == {"passed"}


OWN = """
import os, time

def test_dies(model):
    os._exit(1)

def test_lives(model):
    assert model.ask("?") is not None
"""


@pytest.mark.uses("own_tests")
@pytest.mark.parametrize(
    ("mode", "files"),
    [("load", ("test_own.py",)), ("load", ("test_own.py", "deadly.py")), ("loadscope", ("test_own.py", "deadly.py"))],
    ids=["alone", "beside cases", "beside cases, loadscope"],
)
def test_an_own_test_that_kills_its_worker_is_failed_and_breaks_no_other(tmp_path, mode, files):
    folder = project(tmp_path / "project", guilty=())
    (folder / "test_own.py").write_text(OWN)
    result = python(*PYTEST, *files, "--model=baseline", "-n", "2", "--dist", mode, "--run-dir=run", cwd=folder)
    assert "INTERNALERROR" not in result.output
    assert result.status == 1
    assert not (folder / "run" / "running").exists()
    assert "crashed while running 'test_own.py::test_dies'" in result.output
    assert {sample.rsplit("::")[-1]: status for sample, status in statuses(folder).items()} == {
        "test_lives": "passed",
        "test_dies": "broken",
        **({f"s{number}": "wrong" for number in range(1, 7)} if files[1:] else {}),
    }, result.output
