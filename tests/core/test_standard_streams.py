"""Commands whose output cannot be written, and what the machine refuses them: one sentence, no traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentgauge.core.files import append_whole, cannot_write, refusal, remove_left, replacing, write_whole

COMMAND = f"{sys.executable} -m agentgauge.cli.main"


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("{command} cite > /dev/full", 1, "agentgauge: standard output cannot be written (No space left on device)"),
        ("{command} --help > /dev/full", 1, "agentgauge: standard output cannot be written (No space left on device)"),
        ("{command} cite > /dev/full 2>&1", 1, ""),
        ("{command} cite >&- 2>&- <&-", 0, ""),
        ("{command} report no-such-run --table md 2>/dev/full", 4, ""),
        ("TMPDIR=/nonexistent {command} cite > /dev/null", 0, ""),
    ],
)
def test_a_command_whose_output_is_lost(line: str, status: int, says: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", line.format(command=COMMAND)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (status, says)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            OSError(errno.EACCES, "Permission denied", "a"),
            "a cannot be used (Permission denied): give this user access",
        ),
        (
            OSError(errno.EMFILE, "Too many open files"),
            "Too many open files: raise the limit of open files (ulimit -n)",
        ),
        (OSError(errno.ENOTDIR, "Not a directory", "a/b"), "a/b cannot be used (Not a directory)"),
        (OSError("no number"), "no number"),
    ],
)
def test_what_the_machine_refuses(error: OSError, text: str) -> None:
    assert refusal(error).startswith(text)


def test_the_advice_fits_the_reason() -> None:
    full = cannot_write(Path("run"), OSError(errno.ENOSPC, "No space left on device", "run/x"))
    assert full == "run/x cannot be written (No space left on device): free disk space; finished cases are kept"
    denied = cannot_write(Path("run"), OSError(errno.EROFS, "Read-only file system"))
    assert "make the file system writable" in denied and "disk space" not in denied


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    link = tmp_path / "output"
    link.symlink_to("/dev/null")
    with pytest.raises(OSError, match="it is a device; name a file"):
        write_whole(link, b"x")
    assert link.is_char_device()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EIO])
def test_an_incomplete_piece_is_removed_with_the_true_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    file, write = tmp_path / "file", os.write
    file.write_bytes(b"whole\n")
    pieces = [3, 0]

    def half(descriptor: int, content: bytes) -> int:
        if size := pieces.pop(0):
            return write(descriptor, content[:size])
        raise OSError(number, os.strerror(number))

    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND)
    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match=os.strerror(number)) as raised:
        append_whole(file, descriptor, b"incomplete\n")
    monkeypatch.undo()
    os.close(descriptor)
    assert (file.read_bytes(), raised.value.filename) == (b"whole\n", str(file))


def test_what_a_killed_process_has_left_is_removed(tmp_path: Path) -> None:
    kills_itself = (
        "import os, pathlib; from agentgauge.core.files import write_whole\n"
        "pathlib.Path.chmod = lambda *_: os.kill(os.getpid(), 9)\n"
        f"write_whole(pathlib.Path({str(tmp_path / 'run.json')!r}), b'new')"
    )
    (tmp_path / "run.json").write_bytes(b"old")
    subprocess.run([sys.executable, "-c", kills_itself], check=False, timeout=60)
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / ".a-folder_7").mkdir()
    remove_left(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [".a-folder_7", "run.json"]


def write(target: Path, content: bytes, number: int = 0) -> None:
    with replacing(target) as scratch:
        scratch.write_bytes(content)
        if number:
            raise OSError(number, os.strerror(number))


def test_a_file_is_replaced_at_the_end_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match="No space"):
        write(target, b"ne", errno.ENOSPC)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("page.html", b"old")]
    write(target, b"new")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("page.html", b"new")]
    with pytest.raises(OSError, match="Not a directory") as raised:
        write(target / "x.html", b"new")
    assert raised.value.filename == str(target / "x.html"), "the name that the user has given"
