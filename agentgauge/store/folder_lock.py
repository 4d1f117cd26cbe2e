"""One process at a time writes a run folder; several may read a finished one at once: ``--rescore``, ``merge``.

The kernel releases a lock when its process ends, also after kill -9. A file system without locks is refused.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import encoded

FILE = "lock"
"""In the run folder while a process works in it; names the process."""

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
_MOST = 100_000  # bytes of a lock file that are read
_LONGEST = 300  # characters of a command that a message shows


class FolderLock:
    """This process's lock on a run folder, until ``release`` or the end of the process."""

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        """Makes the folder if it is missing. ``shared``: a lock for reading, beside other readers.

        Raises UsageProblem where another process has the lock and on a file system without locks, and OSError where the
        folder cannot be made.
        """
        self.folder = folder
        self._shared = shared
        self._made: list[Path] = [] if shared else _make(folder)
        self._lock: int | None = None
        try:
            self._take()
        except BaseException:
            self._remove_made()
            raise

    @property
    def is_alone(self) -> bool:
        """Whether nothing else is in the folder."""
        return all(path.name == FILE for path in self.folder.iterdir())

    def release(self) -> None:
        """Release the lock, and remove the folder if this process made it and it is empty."""
        if self._lock is not None:
            with contextlib.suppress(OSError):
                # fails where others read the folder, whose lock this file is too
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (self.folder / FILE).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None
        self._remove_made()

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def _take(self) -> None:
        path = self.folder / FILE
        while True:
            try:
                lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError:
                if self._shared:
                    return  # a folder that cannot be written does not change while it is read
                raise
            try:
                fcntl.flock(lock, (fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                if _is_still(path, lock):
                    break  # else its last holder has just removed the file, and another process may have made a new one
                os.close(lock)
            except BlockingIOError:
                holder = _read(path)
                os.close(lock)
                raise self._taken(holder) from None
            except OSError as error:
                os.close(lock)
                if error.errno not in _NO_LOCKS:
                    raise
                path.unlink(missing_ok=True)
                raise UsageProblem(
                    f"{self.folder} is on a file system without locks ({error.strerror}), where two runs could write to"
                    " one folder; name a folder on a local disk, or mount the file system with locks"
                ) from None
        self._lock = lock
        os.ftruncate(lock, 0)
        os.pwrite(lock, encoded(_this_process()), 0)

    def _taken(self, holder: dict[str, Any]) -> UsageProblem:
        command = str(holder.get("command", "?"))
        shown = command if len(command) <= _LONGEST else command[:_LONGEST] + "..."
        pid, host, since = (holder.get(name, "?") for name in ("pid", "host", "since"))
        who = f"process {pid} on {host} since {since} (`{shown}`)"
        return UsageProblem(f"{self.folder} is in use by {who}; wait for its end, or name another folder")

    def _remove_made(self) -> None:
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # it holds something
                folder.rmdir()


def is_in_use(folder: Path) -> bool:
    """Whether a process works in the folder, according to its lock file. Takes no lock, because that would block a run
    that starts now."""
    holder = _read(folder / FILE)
    return bool(holder) and not _has_ended(holder)


def _make(folder: Path) -> list[Path]:
    """Make a folder and its parents. Returns those that were missing, the outermost first."""
    missing = []
    for one in (folder, *folder.parents):
        if one.exists():
            break
        missing.append(one)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what a run holds is for no other user
    return missing[::-1]


def _this_process() -> dict[str, Any]:
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": since, "command": " ".join(sys.argv)}


def _is_still(path: Path, lock: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(lock))
    return False


def _read(path: Path) -> dict[str, Any]:
    """What the lock file says of its process; empty while that process writes it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe holds up nothing
        with os.fdopen(file, "rb") as stream:
            found = json.loads(stream.read(_MOST) or b"{}")
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _has_ended(holder: dict[str, Any]) -> bool:
    """Whether a process of this machine is known to be gone."""
    pid = holder.get("pid")
    if holder.get("host") != socket.gethostname() or not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False
