"""The merged file takes the place of the workers' files, and a kill at any moment loses nothing."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from pathlib import Path

import pytest

from agentgauge.core.types import Record, Transcript
from agentgauge.store import RunFolder

pytestmark = pytest.mark.slow

SAMPLES = [f"s{number}" for number in range(40)]
ORDER = {("t", sample, 1): place for place, sample in enumerate(reversed(SAMPLES))}


def fill(folder: RunFolder, worker: str, samples: list[str], status: str = "passed", at: float = 1.0) -> None:
    appender = folder.appender(worker)
    for sample in samples:
        appender.append(
            Record("t", sample, 1, "c", status, Transcript(sample * (5000 if sample == "s7" else 5)), finished=at)
        )
    appender.close()


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    """Two workers' files, some cases in both, some broken in one."""
    made = RunFolder(tmp_path / "run")
    made.create()
    fill(made, "gw0", SAMPLES[:25])
    fill(made, "gw1", SAMPLES[25:])
    fill(made, "gw1", SAMPLES[:10], "broken", 2.0)
    return made


def test_one_copy_of_each_record_is_left(folder):
    merged = folder.merge_records(ORDER)
    assert [path.name for path in folder.path.iterdir()] == ["records.jsonl"]
    assert [case.sample for case in merged.values()] == SAMPLES[::-1]
    assert list(merged.values()) == list(folder.outlines())
    assert {line.status for line in folder.lines().values()} == {"passed"}


def test_what_comes_later_is_merged_into_what_is_there(folder):
    fill(folder, "gw2", ["new"], "broken", 1.0)
    folder.merge_records(ORDER)
    fill(folder, "gw0", ["new", "s3"], "wrong", 3.0)
    folder.merge_records({**ORDER, ("t", "new", 1): 100})
    found = [(case.sample, case.status) for case in folder.outlines()]
    assert len(found) == 41
    assert found[-1] == ("new", "wrong")
    assert ("s3", "wrong") in found
    before = (folder.path / "records.jsonl").read_bytes()
    folder.merge_records({**ORDER, ("t", "new", 1): 100})
    assert (folder.path / "records.jsonl").read_bytes() == before


def test_a_worker_that_is_still_writing_loses_nothing(folder, monkeypatch):
    appender = folder.appender("gw0")
    write = RunFolder.write_records

    def late(self, lines):
        appender.append(Record("t", "late", 1, "c", "passed"))
        write(self, lines)

    monkeypatch.setattr(RunFolder, "write_records", late)
    assert len(folder.merge_records(ORDER)) == 40
    monkeypatch.undo()
    appender.close()
    assert [path.name for path in (folder.path / "records").iterdir()] == ["gw0.jsonl"]
    assert ("t", "late", 1) in folder.lines()
    assert len(folder.lines()) == 41


def killed_at(call: int, folder: RunFolder) -> bool:
    """Merge in a process that is killed at its so manieth change of the disk. False where it has fewer."""
    child = os.fork()
    if child == 0:
        left = [call]

        def counted(function):
            def step(*arguments, **named):
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
                return function(*arguments, **named)

            return step

        os.pread, os.fsync = counted(os.pread), counted(os.fsync)
        for name in ("replace", "unlink", "rmdir"):
            setattr(Path, name, counted(getattr(Path, name)))
        try:
            folder.merge_records(ORDER)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)  # by other tests; the fork needs no thread
def test_a_kill_at_any_moment_of_merging_loses_nothing(folder, tmp_path):
    whole = RunFolder(Path(shutil.copytree(folder.path, tmp_path / "whole")))
    whole.merge_records(ORDER)
    expected = (whole.path / "records.jsonl").read_bytes()
    states, call = set(), 0
    while True:
        again = RunFolder(Path(shutil.copytree(folder.path, tmp_path / f"at{call}")))
        if not killed_at(call, again):
            break
        states.add(tuple(sorted(path.name for path in again.path.rglob("*.jsonl"))))
        assert {line.status for line in again.lines().values()} == {"passed"}
        assert len(again.lines()) == 40
        again.merge_records(ORDER)
        assert (again.path / "records.jsonl").read_bytes() == expected
        assert [path.name for path in again.path.iterdir()] == ["records.jsonl"]
        call += 1
    assert call == 40 + 2 + 1 + 2 + 1  # read, sync, replace, unlink, rmdir
    assert states == {
        ("gw0.jsonl", "gw1.jsonl"),
        ("gw0.jsonl", "gw1.jsonl", "records.jsonl"),
        ("gw1.jsonl", "records.jsonl"),
        ("records.jsonl",),
    }


@pytest.mark.parametrize("size", [0, 10, 70_000, 200_000])
def test_a_torn_end_is_cut_off_however_long_it_is(tmp_path, size):
    folder = RunFolder(tmp_path / "run")
    folder.create()
    file = folder.path / "records" / "gw0.jsonl"
    for before in ([], ["s1", "s2"]):
        file.unlink(missing_ok=True)
        fill(folder, "gw0", before)
        whole = file.read_bytes()
        with file.open("ab") as stream:
            stream.write(b"x" * size)
        fill(folder, "gw0", ["s3"])
        assert file.read_bytes().startswith(whole + b'{"task":"t","sample":"s3"')
        assert [sample for _, sample, _ in folder.lines()] == [*before, "s3"]


def test_a_full_disk_leaves_no_half_line_that_would_spoil_the_next_record(tmp_path, monkeypatch):
    appender, write, full = RunFolder(tmp_path).appender("gw0"), os.write, []

    def half(file: int, data: memoryview) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        full.append(data)
        return write(file, data[: len(data) // 2])

    first = appender.append(Record("t", "s1", 1, "c", "passed"))
    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space"):
        appender.append(Record("t", "s2", 1, "c", "passed"))
    monkeypatch.undo()
    third = appender.append(Record("t", "s3", 1, "c", "passed"))
    appender.close()
    assert (first.read().sample, third.read().sample) == ("s1", "s3")
    assert [sample for _, sample, _ in RunFolder(tmp_path).lines()] == ["s1", "s3"]
