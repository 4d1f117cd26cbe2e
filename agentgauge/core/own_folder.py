"""Temporary folders that end with their process, and the removal of folders in any state."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from types import TracebackType


class OwnFolder:
    """A new folder in the system's temporary folder, until ``close`` or the end of the process.

    The process holds a lock on it, which the kernel releases also after kill -9: the next process that makes a folder
    of the same kind removes those that no process holds any more. Where the file system has no locks they stay.
    """

    def __init__(self, kind: str) -> None:
        """``kind``: a word of its name. Raises OSError."""
        prefix = f"agentgauge-{kind}-"
        _remove_left(Path(tempfile.gettempdir()), prefix)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))
            try:
                self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:  # another process took it for one that was left, and has removed it
                continue
            if _lock(self._lock) is not False and self.path.exists():
                return
            os.close(self._lock)  # another process is about to remove it

    def close(self) -> None:
        remove_tree(self.path)
        os.close(self._lock)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@cache
def _remove_left(where: Path, prefix: str) -> None:
    """Remove the folders of this user's processes that have ended, once in a process."""
    for folder in where.glob(f"{prefix}*-*"):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # another user's, or it has just been removed
            continue
        try:
            if os.fstat(lock).st_uid == os.geteuid() and _lock(lock):
                remove_tree(folder)
        finally:
            os.close(lock)


def _lock(folder: int) -> bool | None:
    """Whether the folder was locked; None where that cannot be done."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno == errno.EWOULDBLOCK else None
    return True


def remove_tree(folder: Path) -> None:
    """Remove a folder also if it is nested too deep for Python, or has folders without rights. Links are not
    followed."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            subprocess.run(
                [*command, "--", str(folder)], check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
