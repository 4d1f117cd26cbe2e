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
    content = path.read_bytes()  # once, because a pipe cannot be read again
    text = content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")
