"""A run folder: who may write there, who may read it, and the commits of a run."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.store import RunFolder, revisions
from agentgauge.store.folder_lock import FILE, FolderLock
from agentgauge.store.revisions import Revisions, own_revision, revision_of

# -- A run folder belongs to one process at a time, and the next one is told to whom.


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


# -- What a run holds is for the user who runs it: answers, files that agents made, logs.


@pytest.fixture
def usual_mask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_mask")
def test_a_new_run_folder_is_closed_to_other_users_and_the_folders_above_are_as_usual(tmp_path: Path) -> None:
    RunFolder(tmp_path / "runs" / "first").create()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("runs", "runs/first", "runs/first/records")]
    assert modes == [0o755, 0o700, 0o700]


@pytest.mark.usefixtures("usual_mask")
def test_a_folder_that_was_there_keeps_its_rights(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    RunFolder(tmp_path / "mine").create()
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o755


# -- Which commits a run was made with.


def git(folder: Path, *words: str) -> str:
    named = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | named | {"GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(
        ["git", "-C", str(folder), *words], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("one")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_a_clean_tree_and_a_changed_one(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    (repository / "new.txt").touch()  # not tracked
    assert revision_of(repository) == {"commit": commit, "dirty": False}
    (repository / "sub").mkdir()
    (repository / "a.txt").write_text("two")
    assert revision_of(repository / "sub") == {"commit": commit, "dirty": True}


def test_a_hook_of_another_repository_does_not_matter(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(repository / "nowhere"))
    assert revision_of(repository) is not None


def test_without_a_repository_a_commit_or_git_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert revision_of(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert revision_of(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision_of(tmp_path) is None


def test_ours_is_that_of_the_checkout_or_of_the_installation(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_revision(repository) == revision_of(repository)

    class Installed:
        def read_text(self, name: str) -> str:
            assert name == "direct_url.json"
            return json.dumps({"url": "x", "vcs_info": {"vcs": "git", "commit_id": "abc"}})

    monkeypatch.setattr(revisions, "distribution", lambda name: Installed())
    assert own_revision(repository / "site-packages") == {"commit": "abc", "dirty": False}


def test_both_are_found_in_the_background(repository: Path) -> None:
    found = Revisions(repository)
    assert found.known().keys() == found.known(wait=True).keys() == {"agentgauge", "project"}
    assert found.known(wait=True)["project"] == revision_of(repository)
