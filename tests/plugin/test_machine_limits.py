"""What the machine refuses a run is said in one sentence, and nothing that was paid for is lost: output that cannot be
written, too few open files, folders of other users."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say
from tests.plugin.project import PYTEST, Project, Result, records

UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner") if os.geteuid() == 0 else ()
"""Before a command: as a user whom the modes of files bind."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with FaultServer(choose=say) as endpoint:
        yield endpoint.url


def shell(project: Project, line: str, *arguments: str, before: tuple[str, ...] = ()) -> Result:
    """pytest by a shell; ``line`` has ``"$@"`` for it."""
    command = ["sh", "-c", line, "sh", *before, sys.executable, *PYTEST, "--data", "toy", *arguments]
    done = subprocess.run(
        command, cwd=project.path, env=project.environment(), capture_output=True, text=True, timeout=120, check=False
    )
    output = done.stdout + done.stderr
    assert "Traceback" not in output and "INTERNALERROR" not in output, output
    return Result(done.returncode, output, project.path)


@pytest.mark.parametrize(
    ("line", "workers", "status", "says"),
    [
        ('"$@" > /dev/full', (), 1, "standard output cannot be written (No space left on device); the run goes on"),
        ('"$@" > /dev/full', ("-n", "2"), 1, "and its results are in "),
        ('"$@" > /dev/full 2>&1', (), 1, ""),
        ('"$@" >&- 2>&- <&-', (), 0, ""),
        ('{ "$@"; echo "status $?" >&2; } | true', ("-v",), 0, "standard output cannot be written (Broken pipe)"),
    ],
    ids=["full", "full n2", "both full", "closed", "no reader"],
)
def test_output_that_cannot_be_written(tmp_path, url, line, workers, status, says):
    project = Project.make(tmp_path)
    result = shell(project, line, "--model", "m", "--model-url", url, "--run-dir", "run", *workers)
    assert result.status == status, result.output
    assert says in result.output
    assert len(records(tmp_path / "run")) == 6
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_report_of_another_plugin_that_cannot_be_written(tmp_path, url, workers):
    project = Project.make(tmp_path)
    arguments = ("--model", "m", "--model-url", url, "--run-dir", "run", "--junitxml=/dev/full", *workers)
    result = shell(project, '"$@"', *arguments)
    assert result.status == 1
    assert "a report of _pytest.junitxml cannot be written (No space left on device)" in result.output
    assert len(records(tmp_path / "run")) == 6


@pytest.mark.parametrize(
    ("line", "option", "says"),
    [
        ('"$@"', "--alluredir=/dev/full", "ERROR: /dev/full cannot be used (File exists)"),
        ('"$@"', "--alluredir=/dev/null/x", "ERROR: /dev/null/x cannot be used (Not a directory)"),
        ('ulimit -n 24; "$@"', "-v", "may open 24 files at a time, and a run needs 64 or more: raise the limit"),
    ],
)
def test_what_is_refused_before_the_run(tmp_path, line, option, says):
    result = shell(Project.make(tmp_path), line, "--model", "m", "--model-url", "http://127.0.0.1:1/v1", option)
    assert result.status == 4
    assert says in result.output


def test_a_low_limit_of_open_files_is_raised(tmp_path, url):
    arguments = ("--model", "m", "--model-url", url, "--run-dir", "run")
    result = shell(Project.make(tmp_path), 'ulimit -S -n 24; "$@"', *arguments)
    assert result.status == 0, result.output


@pytest.fixture(scope="module")
def finished(tmp_path_factory, url) -> Project:
    project = Project.make(tmp_path_factory.mktemp("finished"))
    assert project.run("--model", "m", "--model-url", url, "--run-dir", "run").status == 0
    (project.path / "run" / "records").mkdir()
    return project


@pytest.mark.parametrize(
    ("path", "mode", "named"),
    [
        ("run", 0o500, "run cannot be used (Permission denied): give this user access to it"),
        ("run", 0o000, "run/several.json cannot be used (Permission denied)"),
        ("run/run.json", 0o000, "run/run.json cannot be read (Permission denied); it must be a file that you may read"),
        ("run/planned.json", 0o000, "run/planned.json cannot be used (Permission denied)"),
        ("run/records.jsonl", 0o000, "run/records.jsonl cannot be read (Permission denied); it must be a file"),
        ("run/records", 0o500, "run/records cannot be used (Permission denied)"),
    ],
)
def test_a_run_that_this_user_may_not_resume(finished, path, mode, named):
    place: Path = finished.path / path
    usual = place.stat().st_mode
    place.chmod(mode)
    try:
        result = shell(finished, '"$@"', "--resume", "run", before=UNPRIVILEGED)
    finally:
        place.chmod(usual)
    assert result.status == 4, result.output
    assert named in result.output


def test_a_file_in_place_of_the_run_folder(tmp_path):
    project = Project.make(tmp_path)
    (tmp_path / "run").write_text("x")
    result = shell(project, '"$@"', "--resume", "run")
    assert result.status == 4
    assert "run/run.json cannot be read (Not a directory)" in result.output


FAILS = """
import pytest
@pytest.hookimpl
def pytest_sessionfinish(session):
    raise RuntimeError("of another plugin")
"""


def test_a_plugin_that_fails_at_the_end_costs_no_results(tmp_path, url):
    project = Project.make(tmp_path)
    project.add_to_conftest(FAILS)
    project.run("--model", "m", "--model-url", url, "--run-dir", "run")
    assert (tmp_path / "run" / "summary.json").exists()
    assert len(records(tmp_path / "run")) == 6


def test_files_of_one_case_that_this_user_may_not_read(tmp_path, url):
    project = Project.make(tmp_path)
    assert project.run("--model", "m", "--model-url", url, "--run-dir", "run").status == 0
    stored = tmp_path / "run" / "records.jsonl"
    stored.write_bytes(b"".join(stored.read_bytes().splitlines(keepends=True)[:-1]))
    closed = tmp_path / "run" / "files" / "toy.say"
    closed.mkdir(parents=True)
    closed.chmod(0o000)
    try:
        result = shell(project, '"$@"', "--resume", "run", "test_toy.py", before=UNPRIVILEGED)
    finally:
        closed.chmod(0o700)
    assert result.status == 1, result.output
    assert "files/toy.say/s5-a1 cannot be used (Permission denied): give this user access to it" in result.output


@pytest.mark.parametrize(
    "line", ['"$@" > /dev/full', '{ "$@"; echo "status $?" >&2; } | true'], ids=["full", "no reader"]
)
def test_several_runs_whose_output_cannot_be_written(tmp_path, url, line):
    project = Project.make(tmp_path)
    result = shell(project, line, "--model", "m", "--model", "n", "--model-url", url, "--run-dir", "runs")
    assert "standard output cannot be written" in result.output
    assert result.status == 1 or "status 1\n" in result.output
    assert [len(records(tmp_path / "runs" / name)) for name in "mn"] == [6, 6]
