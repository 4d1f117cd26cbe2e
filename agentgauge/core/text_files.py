"""Text files that people write: their editors may begin them with a byte order mark, and some write UTF-16."""

from __future__ import annotations

import codecs
import errno
import stat
from pathlib import Path

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def odd_kind(path: Path) -> str:
    """What a path that a user gave is besides a file or folder, in words; empty for these and where there is nothing.
    Raises OSError for what cannot be a path."""
    try:
        return _KINDS.get(stat.S_IFMT(path.stat().st_mode), "")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except ValueError:
        raise OSError(errno.EINVAL, "it has a NUL", str(path)) from None


def read_text(path: Path) -> str:
    """The text without its byte order mark, with ``\\n`` at the end of each line. Raises OSError and
    UnicodeDecodeError."""
    return _decoded(path).replace("\r\n", "\n").replace("\r", "\n")


def json_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a JSON Lines file that are not blank, with their numbers from 1. They end at ``\\n`` alone: values
    may hold U+2028, U+0085 and other signs at which ``str.splitlines`` ends a line. Raises OSError and
    UnicodeDecodeError."""
    return [(number, line) for number, line in enumerate(_decoded(path).split("\n"), 1) if line.strip(" \t\r")]


def _decoded(path: Path) -> str:
    content = path.read_bytes()  # once, because a pipe cannot be read again
    return content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")
