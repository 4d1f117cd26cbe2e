"""Writes files that are complete or absent, whenever the process ends."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from agentgauge.core.redaction import dumps
from agentgauge.core.types import Json

DISK_FULL = "disk full"
"""Cause of a case that ended because the disk was full, or a quota or limit of the user was reached."""
RUN_FOLDER = "run folder"
"""Cause of a case that ended because a file of its run could not be used, for another reason."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ADVICE = {
    errno.ENOSPC: "free disk space",
    errno.EDQUOT: "free disk space, or raise your quota",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close other programs, because this machine has too many open files",
    errno.ENOMEM: "free memory, or raise the limit (ulimit -v)",
    errno.EROFS: "make the file system writable",
    errno.EACCES: "give this user access to it",
    errno.EPERM: "give this user access to it",
}
_LINE = json.JSONEncoder(ensure_ascii=False)  # json.dumps would make one for each value


def encoded(value: Json, *, indent: int | None = None) -> bytes:
    """JSON in UTF-8, without secrets. A lone surrogate, which a model may write, cannot be encoded and stays an
    escape."""
    text = dumps(value, _LINE if indent is None else json.JSONEncoder(ensure_ascii=False, indent=indent))
    return text.encode("utf-8", "backslashreplace")


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Replace a file in one step. A link of that name is replaced, not followed. ``mode``: who may read and write the
    file. Raises OSError."""
    refuse_device(path)
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name[:80]}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(scratch).chmod(mode)
        Path(scratch).replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):  # it has become the file
            Path(scratch).unlink()


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A file to write, which replaces ``target`` at the end, and is removed where that fails. Raises OSError with the
    target's name."""
    refuse_device(target)
    scratch = target.with_name(f".{target.name[:80]}-{os.getpid()}")
    try:
        yield scratch
        scratch.replace(target)
    except OSError as error:
        if error.filename != str(scratch):
            raise
        raise OSError(error.errno, error.strerror, str(target)) from None
    finally:
        with contextlib.suppress(OSError):  # it has become the target, or could not be made
            scratch.unlink()


def remove_left(folder: Path) -> None:
    """Remove what ``write_whole`` has left where its process was killed, from a folder that no other process writes
    to."""
    for scratch in folder.glob(".*-????????"):
        with contextlib.suppress(OSError):  # a folder of that name, or another user's file: it does no harm
            scratch.unlink()


def append_whole(path: Path, descriptor: int, content: bytes) -> None:
    """Append to an open file, to which other processes may append, too. What was written of an incomplete piece is
    removed, or it would spoil the next one. Raises OSError."""
    written = 0
    try:
        while written < len(content):  # a regular file takes it all at once, unless the next call says why not
            written += os.write(descriptor, content[written:])
    except OSError as error:
        end = os.lseek(descriptor, 0, os.SEEK_CUR)
        if written and os.fstat(descriptor).st_size == end:  # no other process has written behind it
            os.ftruncate(descriptor, end - written)
        raise OSError(error.errno, error.strerror, str(path)) from None


def refuse_device(path: Path) -> None:
    """Raises OSError for a device, such as /dev/full and /dev/stdout, which a file would replace for everyone."""
    try:
        found = path.stat()
    except OSError:
        return
    if (
        stat.S_ISCHR(found.st_mode)
        or stat.S_ISBLK(found.st_mode)
        or (path.is_symlink() and stat.S_ISFIFO(found.st_mode))
    ):
        raise OSError(errno.EEXIST, "it is a device; name a file", str(path))


def is_disk_full(error: BaseException) -> TypeGuard[OSError]:
    """Whether the error means that the disk is full, or a quota or limit of the user is reached."""
    return isinstance(error, OSError) and error.errno in _FULL


def advice(error: OSError) -> str:
    """What the user can do about an error of a file; empty where that is not known."""
    return _ADVICE.get(error.errno or 0, "")


def refusal(error: OSError) -> str:
    """The message for the user about something that the operating system refuses."""
    what = f"{error.filename} cannot be used ({error.strerror})" if error.filename else error.strerror or str(error)
    return f"{what}{': ' if advice(error) else ''}{advice(error)}"


def cannot_write(run: Path, error: OSError) -> str:
    """The message for the user about a file of a run that cannot be written. ``run``: the run's folder."""
    what = f"{error.filename or run} cannot be written ({error.strerror or error})"
    return f"{what}{': ' if advice(error) else ''}{advice(error)}; finished cases are kept"
