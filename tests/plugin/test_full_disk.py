"""What the machine refuses a run: a full disk, damaged files, limits."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge.store.folder import RESERVED
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import say, undisturbed
from tests.plugin.project import PYTEST, Project, Result, prepared, records, summary, without_times

# -- A full disk and damaged files end a run with one sentence and status 1. What was finished stays.


SAMPLES = 40
TWO = ("-n", "2")
WORKERS = pytest.mark.parametrize("workers", [(), TWO], ids=["serial", "n2"])


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """2 MiB that belong to nobody else."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if sys.platform != "linux" or subprocess.run(mount, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(disk: Path, free: int) -> None:
    """Leave so many bytes, a multiple of 4096."""
    left = os.statvfs(disk)
    with (disk / "filler").open("ab") as file:
        file.write(b"x" * max(0, left.f_bavail * left.f_frsize - free))


def ended_well(result: Result, run: Path) -> None:
    """One sentence, with what to do."""
    assert result.status == 1, result.output
    assert "INTERNALERROR" not in result.output and "Traceback" not in result.output
    assert f"continue with --resume={run}" in result.output.replace("\n    ", " ")


@WORKERS
def test_a_disk_that_is_full_in_the_midst_costs_no_answer(tmp_path, disk, workers):
    project = Project.make(tmp_path / "project", samples=SAMPLES)
    with FaultServer(choose=say) as endpoint:
        before = len(endpoint.requests)

        def fills(request):
            if len(endpoint.requests) == before + 12:
                fill(disk, 0)
            return say(request)

        endpoint.choose = fills
        arguments = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers)
        result = project.run_process(*arguments, f"--run-dir={disk / 'run'}")
        ended_well(result, disk / "run")
        assert "No space left on device): free disk space; finished cases are kept" in result.output
        assert not (disk / "run" / "reserve").exists()
        (disk / "filler").unlink()
        endpoint.choose = say
        assert project.run_process(f"--resume={disk / 'run'}", "--model-url", endpoint.url, *workers).status == 0
        # answers on their way when a worker stops are given up, as after -x: all four; and where there is another
        # worker, that one may have taken over the two slots of the first before it comes to the full disk itself
        assert len(endpoint.requests) <= before + SAMPLES + (4 + 2 if workers else 4)
        assert without_times(summary(disk / "run")) == undisturbed(SAMPLES)


def test_a_disk_without_room_for_the_next_record(tmp_path, disk):
    """Not even for the reserve."""
    project = Project.make(tmp_path / "project", samples=SAMPLES)
    with FaultServer(choose=say) as endpoint:
        fill(disk, 40_960)
        arguments = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "4")
        result = project.run_process(*arguments, f"--run-dir={disk / 'run'}")
        ended_well(result, disk / "run")
        (disk / "filler").unlink()
        assert project.run_process(f"--resume={disk / 'run'}", "--model-url", endpoint.url).status == 0
        assert without_times(summary(disk / "run")) == undisturbed(SAMPLES)


def test_a_disk_that_is_full_at_the_end_of_the_run(tmp_path, disk):
    project = Project.make(tmp_path / "project", samples=6)
    with FaultServer(choose=say) as endpoint:
        conftest = (project.path / "conftest.py").read_text()
        (project.path / "conftest.py").write_text(conftest + AT_THE_END)
        arguments = ("--model", "m", "--model-url", endpoint.url, f"--run-dir={disk / 'run'}")
        result = project.run_process(*arguments, env={"DISK": str(disk)})
        ended_well(result, disk / "run")
        (disk / "filler").unlink()
        (project.path / "conftest.py").write_text(conftest)
        before = len(endpoint.requests)
        assert project.run_process(f"--resume={disk / 'run'}", "--model-url", endpoint.url).status == 0
        assert len(endpoint.requests) == before
        assert without_times(summary(disk / "run")) == undisturbed(6)


AT_THE_END = """
import os, pathlib, pytest
from agentgauge.store import RunFolder

merge = RunFolder.merge_records

def full(self, *arguments):
    left = os.statvfs(os.environ["DISK"])
    with open(os.environ["DISK"] + "/filler", "ab") as file:
        file.write(b"x" * (left.f_bavail * left.f_frsize))
    return merge(self, *arguments)

RunFolder.merge_records = full
"""


def limited(project: Project, size: int, *arguments: str) -> Result:
    """With files of at most ``size`` bytes."""
    done = subprocess.run(
        [*prepared(), *PYTEST, "--data", "toy", *arguments],
        cwd=project.path,
        env=project.environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Result(done.returncode, done.stdout + done.stderr, project.path)


@pytest.mark.parametrize(
    ("size", "workers"),
    [(5_000, ()), (5_000, TWO), (10_000, TWO), (20_000, ())],
    ids=["record", "record-n2", "records-n2", "page"],
)
def test_files_that_must_not_grow(tmp_path, size, workers):
    """A worker's file, the merged file, the page."""
    project = Project.make(tmp_path / "project", samples=SAMPLES)
    with FaultServer(choose=say) as endpoint:
        arguments = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers, "--run-dir", "run")
        result = limited(project, size, *arguments)
        ended_well(result, project.path / "run")
        assert "File too large" in result.output
        assert project.run_process("--resume", "run", "--model-url", endpoint.url, *workers).status == 0
        assert without_times(summary(project.path / "run")) == undisturbed(SAMPLES)
        assert not list((project.path / "run").glob(".*"))


@pytest.mark.uses("allure")
def test_allure_results_without_room(tmp_path, disk):
    project = Project.make(tmp_path / "project", samples=6)
    fill(disk, 0)
    with FaultServer(choose=say) as endpoint:
        arguments = ("--model", "m", "--model-url", endpoint.url, "--run-dir", "run")
        result = project.run_process(*arguments, f"--alluredir={disk}/allure")
    assert result.status == 1, result.output
    assert "INTERNALERROR" not in result.output
    assert f"{disk}/allure cannot be written (No space left on device)" in result.output
    assert summary(project.path / "run")["tasks"]["toy.say"]["missing"] == 0


@pytest.mark.uses("recording")
def test_a_cassette_without_room(tmp_path, disk):
    project = Project.make(tmp_path / "project", samples=SAMPLES)
    with FaultServer(choose=say) as endpoint:
        arguments = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *TWO)
        fill(disk, 4096)
        result = project.run_process(*arguments, "--run-dir", "run", f"--record={disk}/tape.jsonl")
        ended_well(result, project.path / "run")
        assert len(endpoint.requests) < SAMPLES / 2  # nothing more is asked that could not be recorded
        assert summary(project.path / "run")["tasks"]["toy.say"]["causes"]["disk full"] >= 1
        assert (disk / "tape.jsonl").read_bytes().endswith(b"}\n")
        (disk / "filler").unlink()
        assert project.run_process("--resume", "run", *arguments[2:], f"--record={disk}/tape.jsonl").status == 0
    replayed = project.run_process(f"--replay={disk}/tape.jsonl", "--run-dir", "again")
    assert replayed.status == 0, replayed.output
    assert without_times(summary(project.path / "again")) == without_times(summary(project.path / "run"))


FILES = """
async def run(case):
    case.folder.mkdir(parents=True, exist_ok=True)
    (case.folder / "made").write_bytes(b"x" * 20_000)
    return await say(case)

MAKING = toy(run=run)
"""


def test_files_of_tools_without_room(tmp_path, disk):
    project = Project.make(tmp_path / "project", samples=SAMPLES)
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(FILES)
    fill(disk, RESERVED + 200_704)
    with FaultServer(choose=say) as endpoint:
        arguments = ("--model", "m", "--model-url", endpoint.url, "--in-flight", "2")
        result = project.run_process(*arguments, f"--run-dir={disk / 'run'}")
        ended_well(result, disk / "run")
        assert len(records(disk / "run")) >= 3
        (disk / "filler").unlink()
        resumed = project.run_process(f"--resume={disk / 'run'}", "--model-url", endpoint.url)
        assert resumed.status == 0, resumed.output


@pytest.mark.parametrize(
    ("which", "workers"), [("records.jsonl", TWO), ("records/main.jsonl", ())], ids=["records.jsonl", "main.jsonl"]
)
def test_damaged_lines_cost_their_cases_only(tmp_path, which, workers):
    project = Project.make(tmp_path / "project", samples=8)
    run = project.path / "run"
    with FaultServer(choose=say) as endpoint:
        arguments = ("--model", "m", "--model-url", endpoint.url)
        assert project.run_process(*arguments, "--run-dir", "run").status == 0
        whole = without_times(summary(run))
        lines = (run / "records.jsonl").read_bytes().splitlines(keepends=True)
        (run / "records.jsonl").unlink()
        unknown = lines[5].replace(b'"task":"toy.say"', b'"task":"toy.gone"')
        (run / which).parent.mkdir(exist_ok=True)
        (run / which).write_bytes(
            b"".join([*lines[:2], b"\xff\x00{\n", lines[3][:50] + b"\n", b"[]\n", unknown, *lines[6:7], lines[7][:40]])
        )
        before = len(endpoint.requests)
        result = project.run_process("--resume", "run", *arguments[2:], *workers)
        assert result.status == 0, result.output
        assert f"{run}/{which} is damaged in line 3 and 2 more (" in result.output
        assert f"{run}/{which} has 1 record of other settings" in result.output
        assert "INTERNALERROR" not in result.output
        assert len(endpoint.requests) == before + 5
        assert without_times(summary(run)) == whole
        assert len((run / "left-out.jsonl").read_bytes().splitlines()) == 4


def test_a_line_that_is_damaged_while_the_run_goes_on(tmp_path):
    project = Project.make(tmp_path / "project", samples=12)
    run = project.path / "run"

    with FaultServer(choose=say) as endpoint:
        with (project.path / "conftest.py").open("a") as stream:
            stream.write(DAMAGING)
        result = project.run_process("--model", "m", "--model-url", endpoint.url, *TWO, "--run-dir", "run")
        assert result.status == 1, result.output
        assert "INTERNALERROR" not in result.output
        assert "is damaged in line " in result.output and f"--resume={run}" in result.output
        assert summary(run)["tasks"]["toy.say"]["missing"] == 1
        before = len(endpoint.requests)
        assert project.run_process("--resume", "run", "--model-url", endpoint.url, *TWO).status == 0
        assert len(endpoint.requests) == before + 1
        assert without_times(summary(run)) == undisturbed(12)


DAMAGING = """
from agentgauge.store.records import Appender

append = Appender.append

def damaging(self, record):
    line = append(self, record)
    if record.sample == "s5" and not hasattr(Appender, "done"):
        import os
        import pathlib
        if not pathlib.Path("damaged").exists():
            pathlib.Path("damaged").write_text("")
            with line.file.open("r+b") as file:
                file.seek(line.start)
                file.write(b"#####")
    return line

Appender.append = damaging
"""


def test_damaged_files_of_a_run_are_told_in_one_sentence(tmp_path):
    project = Project.make(tmp_path / "project", samples=4)
    with FaultServer(choose=say) as endpoint:
        assert project.run_process("--model", "m", "--model-url", endpoint.url, "--run-dir", "run").status == 0
    run = project.path / "run"
    for name, damage in (
        ("planned.json", "[[1"),
        ("run.json", "{"),
        ("run.json", "{}"),
        ("planned.json", '[["toy.say"]]'),
    ):
        whole = (run / name).read_text()
        (run / name).write_text(damage)
        result = project.run_process("--resume", "run")
        assert result.status == 4, result.output
        assert name in result.output and "INTERNALERROR" not in result.output and "Traceback" not in result.output
        (run / name).write_text(whole)
    (run / "run.json").unlink()
    for arguments in (("--resume", "run"), ("--run-dir", "run"), ("--rescore", "run")):
        result = project.run_process(*arguments)
        assert result.status == 4, result.output
        assert "records but no run.json, which describes them; restore run.json, or" in result.output
    assert json.loads((run / "summary.json").read_text())


# -- What the machine refuses a run is said in one sentence, and nothing that was paid for is lost: output that
# cannot be written, too few open files, folders of other users.


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
    assert (tmp_path / "run" / "leaderboard.md").exists()


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
    assert project.run_process("--model", "m", "--model-url", url, "--run-dir", "run").status == 0
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
    project.run_process("--model", "m", "--model-url", url, "--run-dir", "run")
    assert (tmp_path / "run" / "summary.json").exists()
    assert len(records(tmp_path / "run")) == 6


def test_files_of_one_case_that_this_user_may_not_read(tmp_path, url):
    project = Project.make(tmp_path)
    assert project.run_process("--model", "m", "--model-url", url, "--run-dir", "run").status == 0
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
