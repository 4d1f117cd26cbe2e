"""AgentGauge and the examples as others use them: from its wheel and theirs, in an empty folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.plugin.project import ROOT, records, summary, without_times

pytestmark = pytest.mark.slow

NAMES = ("function_calls", "library_desk")
TOOLS = ("find_loans", "renew", "hold", "clear_fine")


def call(*words: str, cwd: Path, **more: str) -> str:
    ours = ("PYTHON", "PYTEST_", "AGENTGAUGE_", "GIT_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment = {**clean, "XDG_CACHE_HOME": str(cwd / ".cache"), **more}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of an environment with the three wheels; what they depend on is that of this one."""
    folder = tmp_path_factory.mktemp("installed")
    call(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=folder)
    (site,) = (folder / "venv").glob("lib/python3*/site-packages")
    (site / "others.pth").write_text(str(Path(pytest.__file__).parents[1]))
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*", "tests", "benchmarks", "node_modules")
    made = folder / "made"
    for source in (ROOT, *(ROOT / "examples" / name for name in NAMES)):
        copy = shutil.copytree(source, folder / source.name, ignore=leave)  # setuptools leaves files of its own there
        build = f"from setuptools.build_meta import build_wheel; build_wheel({str(made)!r})"
        call(sys.executable, "-c", build, cwd=copy)
    for wheel in made.iterdir():
        zipfile.ZipFile(wheel).extractall(site)
    return str(folder / "venv" / "bin" / "python")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def run(python: str, folder: Path):
    """The module of pytest, with both examples unless others are named, or another module."""

    def run(*words: str, module: str = "pytest", tests: tuple[str, ...] = ("--pyargs", *NAMES)) -> str:
        arguments = ("-p", "no:cacheprovider", "-p", "no:anyio", *tests) if module == "pytest" else ()
        return call(python, "-m", module, *arguments, *words, cwd=folder)

    return run


@pytest.fixture(scope="module")
def first(run, folder: Path) -> dict:
    """The tasks of a run of the oracle with two workers."""
    run("--model=oracle", "-n", "2", "--run-dir=first", "--alluredir=allure")
    return without_times(summary(folder / "first")["tasks"])


@pytest.mark.uses("allure")
def test_the_oracle_reaches_100_and_allure_has_every_case(first, folder: Path) -> None:
    for name in NAMES:
        assert first[name]["passed"] == first[name]["planned"] >= 6
    cases = [file.read_text() for file in (folder / "allure").glob("*-result.json")]
    assert len(cases) == sum(task["planned"] for task in first.values())
    assert any("find_loans" in case for case in cases)


@pytest.mark.uses("recording")
def test_it_is_recorded_and_played_again(first, run, folder: Path) -> None:
    run("--model=oracle", "-n", "2", "--run-dir=recorded", "--record=cassette.jsonl")
    run("--replay=cassette.jsonl", "--run-dir=played")
    assert without_times(summary(folder / "played")["tasks"]) == first


def test_it_is_resumed_and_scored_again(first, run, folder: Path) -> None:
    for words in (("--rescore=first", "--run-dir=scored", "-n", "2"), ("--resume=first",)):
        run(*words)
    for name in ("scored", "first"):
        assert without_times(summary(folder / name)["tasks"]) == first


def test_runs_are_compared_and_shown_as_tables(first, run) -> None:
    run("--model=baseline", "--run-dir=other", "-k", "parallel or hold")
    assert "hold" in run("compare", "first", "other", module="agentgauge.cli.main")
    table = run("report", "first", "--table", "md", module="agentgauge.cli.main")
    assert "Irrelevance" in table and "Told" in table and "parallel" in table


def test_a_conversation_is_logged_and_the_user_is_a_model_of_its_own(run, folder: Path) -> None:
    """The oracle plays the user; the baseline takes what tools it likes, and the record shows what became of it."""
    run("--model=baseline", "--user-model=oracle", "--dialect=react", "-k", "library_desk and hold", "--run-dir=talk")
    (record,) = records(folder / "talk")
    events = [event["name"] for event in record["transcript"]["events"]]
    used = [name for name in events if name in TOOLS]
    assert events[:2] == ["oracle", "baseline"] and used
    said = record["transcript"]["output"]["conversation"]
    assert said["messages"][1]["content"].startswith("You are Ida Berg.")
    assert [call["name"] for call in said["calls"]] == used
    assert said["state"].keys() == {"loans", "holds", "fines"}


@pytest.mark.parametrize("name", NAMES)
def test_its_own_tests_pass(name: str, run) -> None:
    run(tests=(str(ROOT / "examples" / name / "tests"), f"--rootdir={ROOT / 'examples' / name}"))


def test_the_bundled_benchmarks_run_and_go_on(run, folder: Path) -> None:
    tests = ("--pyargs", "bench_gta", "bench_wild", "bench_mmau")
    run("--model=oracle", "--limit=1", "-n", "2", "-k", "logic or not bench_gta", "--run-dir=bundled", tests=tests)
    done = summary(folder / "bundled")["tasks"]
    assert {name.partition(".")[0].partition("_")[0] for name in done} == {"gta", "wild", "mmau"}
    assert all(task["passed"] == task["planned"] for task in done.values())
    lines = (folder / "bundled" / "records.jsonl").read_text().splitlines(keepends=True)
    (folder / "bundled" / "records.jsonl").write_text("".join(lines[2:]))
    run("--resume=bundled", tests=tests)
    assert without_times(summary(folder / "bundled")["tasks"]) == without_times(done)


@pytest.mark.uses("own_tests")
def test_own_tests_run(run, folder: Path) -> None:
    """Its agent of another framework has a test in ``tests/plugin/test_beside.py``."""
    leave = shutil.ignore_patterns("__pycache__", "runs")
    shutil.copytree(ROOT / "examples" / "own_tests", folder / "own_tests", ignore=leave)
    run("-n", "2", "--run-dir=own", "--rootdir=own_tests", tests=("own_tests/test_receipt.py",))
    found = records(folder / "own")
    assert [record["status"] for record in found] == ["passed"] * 3
    events = {record["sample"].rpartition("::")[2]: record["transcript"]["events"] for record in found}
    assert [event["kind"] for event in events["test_the_model_reads_the_receipt"]] == ["model", "tool", "model"]
