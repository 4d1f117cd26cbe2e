"""A run folder belongs to one process at a time, and the next one is told to whom."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.store.folder_lock import FILE, FolderLock

HOLDER = """
import sys, time
from pathlib import Path
from agentgauge.store.folder_lock import FolderLock
hold = FolderLock(Path(sys.argv[1]), shared=len(sys.argv) > 2)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def other():
    """Starts processes that hold a folder."""
    started = []

    def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDER, str(folder), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout and process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def no_locks(file: int, operation: int) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_a_second_process_is_told_who_has_the_folder_and_a_killed_one_has_it_no_longer(tmp_path, other):
    folder = tmp_path / "run"
    process = other(folder)
    with pytest.raises(UsageProblem) as caught:
        FolderLock(folder)
    told = str(caught.value)
    assert told.startswith(f"{folder} is in use by process {process.pid} on {os.uname().nodename} since 2")
    assert f"(`-c {folder}`); wait for its end, or name another folder" in told
    process.send_signal(signal.SIGKILL)
    process.wait()
    with FolderLock(folder):
        assert json.loads((folder / FILE).read_text())["pid"] == os.getpid()


def test_a_folder_that_was_made_for_nothing_is_taken_away_and_no_other(tmp_path):
    FolderLock(tmp_path / "a" / "b").release()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    FolderLock(tmp_path / "mine").release()
    hold = FolderLock(tmp_path / "runs" / "one")
    (tmp_path / "runs" / "one" / "kept").write_text("")
    hold.release()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["kept", "mine", "one", "runs"]


def test_readers_share_a_folder_and_keep_writers_out(tmp_path, other):
    folder = tmp_path / "run"
    folder.mkdir()
    one, two = FolderLock(folder, shared=True), other(folder, "shared")
    with pytest.raises(UsageProblem, match="in use"):
        FolderLock(folder)
    one.release()
    with pytest.raises(UsageProblem, match=f"in use by process {two.pid} "):
        FolderLock(folder)
    two.kill()
    two.wait()
    with FolderLock(folder), pytest.raises(UsageProblem, match=f"in use by process {os.getpid()} "):
        FolderLock(folder, shared=True)


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path, monkeypatch):
    opened = os.open

    def read_only(path, flags, *mode, **named):
        if str(path).endswith(FILE):
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, flags, *mode, **named)

    monkeypatch.setattr(os, "open", read_only)
    FolderLock(tmp_path, shared=True).release()
    with pytest.raises(OSError, match="Read-only"):
        FolderLock(tmp_path)


@pytest.mark.parametrize("shared", [False, True])
def test_a_file_system_without_locks_is_refused(tmp_path, monkeypatch, shared):
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(UsageProblem, match=r"is on a file system without locks \(No locks available\).*local disk"):
        FolderLock(tmp_path, shared=shared)
    assert list(tmp_path.iterdir()) == []
