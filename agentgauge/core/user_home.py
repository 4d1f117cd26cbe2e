"""The user's home folder, also where there is none: users of containers may have no passwd entry, and a home that does
not exist or can only be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from agentgauge.core.errors import UsageProblem


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

    from agentgauge.core.own_folder import OwnFolder

    folder = OwnFolder("home")
    atexit.register(folder.close)
    return folder.path
