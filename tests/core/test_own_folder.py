"""Temporary folders that end with their process."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agentgauge.core.files import OwnFolder

HOLDS = """
import sys
from agentgauge.core.files import OwnFolder
print(OwnFolder(sys.argv[1]).path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holder(kind: str, temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, kind],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_has_left_is_removed_by_the_next_of_its_kind(temporary):
    killed, left = holder("view", temporary)
    running, kept = holder("view", temporary)
    other, of_another_kind = holder("code", temporary)
    (left / "page.html").write_text("x")
    for process in (killed, other):
        process.kill()
        process.communicate()
    assert left.exists()
    with OwnFolder("view") as folder:
        assert {*temporary.iterdir()} == {folder, kept, of_another_kind}
    running.communicate("")
    assert {*temporary.iterdir()} == {kept, of_another_kind}  # this one has ended without closing it


def test_folders_and_links_that_are_no_processs_own_stay(temporary):
    foreign = temporary / "elsewhere"
    foreign.mkdir()
    (temporary / "agentgauge-view-1-x").symlink_to(foreign)
    (temporary / "agentgauge-view-7").mkdir()
    (temporary / "agentgauge-view-2-file").write_text("x")
    names = {path.name for path in temporary.iterdir()}
    with OwnFolder("view") as folder:
        assert {path.name for path in temporary.iterdir()} == {*names, folder.name}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_folders_of_other_users_stay(temporary):
    other = temporary / "agentgauge-view-1-x"
    other.mkdir()
    os.chown(other, 65534, 65534)
    with OwnFolder("view"):
        assert other.exists()


def test_a_folder_that_another_process_has_just_taken_for_a_left_one_is_made_anew(temporary, monkeypatch):
    made = tempfile.mkdtemp
    taken: list[int] = []

    def interrupted(**options):
        path = made(**options)
        if not taken:
            taken.append(os.open(path, os.O_RDONLY))
            fcntl.flock(taken[0], fcntl.LOCK_EX)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with OwnFolder("view") as folder:
        assert not os.path.samestat(folder.stat(), os.fstat(taken[0]))
    os.close(taken[0])


def test_a_folder_that_another_process_has_removed_at_once_is_made_anew(temporary, monkeypatch):
    made = tempfile.mkdtemp
    removed: list[str] = []

    def interrupted(**options):
        path = made(**options)
        if not removed:
            removed.append(path)
            Path(path).rmdir()
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with OwnFolder("view") as folder:
        assert removed and folder.is_dir() and str(folder) not in removed
