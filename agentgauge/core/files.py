"""Files and folders: written whole, read within bounds, kept to their owner; the user's own folders."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, TypeGuard

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import dumps
from agentgauge.core.types import Json

# -- Writes files that are complete or absent, whenever the process ends.


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


# -- Files of a run folder, which may come from anywhere: only plain ones are opened, and what is read has a bound.


LONGEST = 64 << 20
"""Bytes of a JSON file, of a line, and of a transcript that a line holds compressed."""

TOO_LONG = f"longer than {LONGEST >> 20} MB"

_BLOCK = 1 << 20


class TextLine(NamedTuple):
    number: int  # from 1
    start: int  # bytes
    size: int
    is_whole: bool  # it has its end
    kept: bytes | None  # None: it is longer than LONGEST

    @property
    def content(self) -> bytes:
        """Raises ValueError for a line that is too long to be read."""
        if self.kept is None:
            raise ValueError(f"it is {TOO_LONG}")
        return self.kept


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading. Raises FileNotFoundError, and UsageProblem for another one that cannot be opened, or is
    a folder, a pipe or a device."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would wait for a writer
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageProblem(f"{path} cannot be read ({why}); it must be a file that you may read") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UsageProblem(f"{path} is not a plain file; move it away, and restore the file that the run wrote")
    return os.fdopen(file, "rb")


def whole(stream: BinaryIO) -> bytes:
    """The content of a file. Raises ValueError where it is longer than LONGEST."""
    if (size := os.fstat(stream.fileno()).st_size) > LONGEST:
        raise ValueError(f"it is {TOO_LONG}")
    return stream.read(size)


def lines(stream: BinaryIO, start: int = 0) -> Iterator[TextLine]:
    """The lines from ``start`` bytes on. They end at line feeds only; the last one may lack its end."""
    stream.seek(start)
    number = 0
    while text := stream.readline(LONGEST + 1):
        number += 1
        size = len(text)
        kept: bytes | None = text
        if size > LONGEST:
            kept = None
            while not text.endswith(b"\n") and (text := stream.readline(_BLOCK)):
                size += len(text)
        yield TextLine(number, start, size, text.endswith(b"\n"), kept)
        start += size


# -- The limit of open files of a process.


USUAL = 1024
LEAST = 64
"""Below, imports, sockets and records of a run fail one after the other."""


def raise_file_limit(wanted: int) -> int:
    """Raise this process's limit of open files to ``wanted``, as far as the hard limit allows. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def require_files() -> None:
    """Let a run open as many files as usual. Raises UsageProblem where it cannot do with what the hard limit allows."""
    most = raise_file_limit(USUAL)
    if most < LEAST:
        raise UsageProblem(
            f"this process may open {most} files at a time, and a run needs {LEAST} or more: raise the limit (ulimit"
            f" -n {USUAL})"
        )


# -- Temporary folders that end with their process, and the removal of folders in any state.


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


# -- The user's home folder, also where there is none: users of containers may have no passwd entry, and a home that
# does
# not exist or can only be read.


def home() -> Path:
    """The user's home, also where it can only be read; else a folder of the user's own among the temporary files."""
    given = expanded_if_known("~")
    usable = given.is_absolute() and given.is_dir() and os.access(given, os.X_OK)
    return given if usable else _substitute()


def cache_base() -> Path:
    """``$XDG_CACHE_HOME`` or ``~/.cache``; where that cannot be written, a folder among the temporary files."""
    base = os.environ.get("XDG_CACHE_HOME")
    # the specification of that variable says to ignore relative values
    if base and Path(base).is_absolute():
        return Path(base)
    cache = home() / ".cache"
    usable = os.access(cache if cache.is_dir() else home(), os.W_OK | os.X_OK)
    return cache if usable else _substitute() / ".cache"


def cache_folder() -> Path:
    """The user's folder for what is kept between runs and can be made again."""
    return cache_base() / "agentgauge"


def home_variables() -> Mapping[str, str]:
    """The environment variables that a process lacks whose libraries keep files in the user's home or ask for the
    user's name."""
    variables = {} if (folder := home()) == expanded_if_known("~") else {"HOME": str(folder)}
    if not any(os.environ.get(name) for name in ("LOGNAME", "USER", "LNAME", "USERNAME")) and not _has_entry():
        variables["USER"] = f"user-{os.getuid()}"
    return variables


def expanded_if_known(path: str) -> Path:
    """The path with the home for ``~``; unchanged where there is none."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - that of pathlib raises RuntimeError


def expanded(path: str | Path) -> Path:
    """The path with the home for ``~``. Raises UsageProblem where there is none."""
    found = expanded_if_known(str(path))
    if found.parts[:1] == Path(path).parts[:1] and str(path).startswith("~"):
        raise UsageProblem(f"{path}: there is no home folder that {found.parts[0]} could mean; give the whole path")
    return found


def _has_entry() -> bool:
    import pwd

    try:
        return bool(pwd.getpwuid(os.getuid()))
    except KeyError:
        return False


def _substitute() -> Path:
    import tempfile

    folder = Path(tempfile.gettempdir()) / f"agentgauge-home-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return _private()
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if mine else _private()  # another user may have made it


@cache
def _private() -> Path:
    import atexit

    folder = OwnFolder("home")
    atexit.register(folder.close)
    return folder.path
