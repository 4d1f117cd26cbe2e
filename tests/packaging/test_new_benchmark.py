"""``agentgauge new``: what it writes is installed, runs green, is typed and formatted; which names it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from agentgauge.cli.new import PLACEHOLDER, TEMPLATE
from tests.plugin.project import ROOT, Project, records

NAME = "bench_puzzles"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "of-mine"
    assert main(["new", NAME, "--folder", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def installed(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which its wheel is installed, offline."""
    source, made, site = (tmp_path_factory.mktemp(name) for name in ("source", "wheel", "site"))
    shutil.copytree(project, source, dirs_exist_ok=True)  # since setuptools leaves files of its own there
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(made)!r})"
    call(sys.executable, "-c", build, cwd=source)
    (wheel,) = made.iterdir()
    zipfile.ZipFile(wheel).extractall(site)
    return site


def call(*command: str, cwd: Path, path: str = "") -> str:
    environment = Project(cwd).environment({"PYTHONPATH": path})
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def module(name: str, *arguments: str, project: Path, installed: Path) -> str:
    """What ``python -m NAME`` prints in the project's folder, where the package is installed."""
    path = os.pathsep.join(map(str, (installed, ROOT, ROOT / "reports")))
    return call(sys.executable, "-m", name, *arguments, cwd=project, path=path)


def pytest_in(project: Path, installed: Path, *arguments: str) -> str:
    without = ("-p", "no:cacheprovider", "-p", "no:anyio")
    return module("pytest", *without, *arguments, project=project, installed=installed)


def counts(run: Path) -> tuple[int, int, float]:
    """Passed, wrong, and the metric."""
    task: dict[str, Any] = json.loads((run / "summary.json").read_text())["tasks"][NAME]
    return task["passed"], task["wrong"], task["metrics"]["Accuracy"]["value"]


def test_it_has_every_file_of_the_template_under_the_name(project: Path) -> None:
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.suffix in (".py", ".toml", ".json")}
    assert {"pyproject.toml", f"{NAME}/test_{NAME}.py", f"{NAME}/published.json"} <= files
    assert [file for file in files if PLACEHOLDER in file or PLACEHOLDER in (project / file).read_text()] == []
    assert PLACEHOLDER in (TEMPLATE / "pyproject.toml").read_text()


def test_it_is_typed_and_formatted(project: Path) -> None:
    path = os.pathsep.join(map(str, (ROOT, ROOT / "reports")))
    call(sys.executable, "-m", "ruff", "check", "--no-cache", ".", cwd=project)
    call(sys.executable, "-m", "ruff", "format", "--check", "--no-cache", ".", cwd=project)
    call(sys.executable, "-m", "mypy", "--cache-dir", os.devnull, ".", cwd=project, path=path)


def test_its_own_tests_pass_of_which_two_run_it_with_oracle_and_baseline(project: Path, installed: Path) -> None:
    assert "8 passed" in pytest_in(project, installed, "tests")


def test_it_runs_on_two_workers_and_goes_on_where_it_stopped(project: Path, installed: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    pytest_in(project, installed, "--model=oracle", "-n", "2", f"--run-dir={run}")
    assert counts(run) == (6, 0, 100)
    assert "to be replaced" in (run / "leaderboard.md").read_text()  # the published row
    table = module("agentgauge.cli.main", "report", str(run), "--table", "md", project=project, installed=installed)
    assert f"## {NAME}: Figures\n" in table and "| Accuracy | 100.00 |" in table and "| clock | 2 |" in table
    lines = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(lines[:4]))
    pytest_in(project, installed, f"--resume={run}")
    assert counts(run) == (6, 0, 100)
    assert sorted(record["worker"][:2] for record in records(run)) == ["gw"] * 4 + ["ma"] * 2  # 2 of them run again


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "'' cannot name a package"),
        ("My", "'My' cannot name a package"),
        ("my-bench", "'my-bench' cannot name a package"),
        ("2nd", "'2nd' cannot name a package"),
        ("_own", "'_own' cannot name a package"),
        ("own_", "'own_' cannot name a package"),
        ("größe", "'größe' cannot name a package"),
        ("../up", "'../up' cannot name a package"),
        ("class", "taken by Python's own word"),
        ("match", "taken by Python's own word"),
        ("skip", "taken by a marker of pytest"),
        ("tests", "taken by the folder of the package's own tests"),
        ("wild", "taken by an announced task"),
        ("gta_atomic_e2e", "taken by an announced task"),
        ("json", "taken by a module that is installed"),
        ("bench_mmau", "taken by a module that is installed"),
        ("pytest_xdist", "taken by a distribution that is installed"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_and_nothing_is_written(
    name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", name, "--folder", str(tmp_path / "made")]) == 4
    assert why in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert main(["new", NAME, "--folder", str(tmp_path)]) == 4
    assert capsys.readouterr().err == (
        f"agentgauge: {tmp_path} is there already, and nothing in it was changed; give another --folder\n"
    )
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("README.md", "mine")]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["new", NAME, "--folder", str(tmp_path / "file" / "made")]) == 4
    assert "cannot be written: Not a directory; give another --folder" in capsys.readouterr().err
