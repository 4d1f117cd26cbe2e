"""Opens a file below a folder without following links, because an agent may have left links there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_beneath(folder: Path, parts: list[str]) -> BinaryIO:
    """Open ``folder``/``parts`` for reading, following no link and no ``..`` in ``parts``.

    Raises OSError if that is not a regular file.
    """
    if not parts or any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts):
        raise FileNotFoundError("no file has that name")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for number, part in enumerate(parts):
        kind = os.O_DIRECTORY if number < len(parts) - 1 else 0
        try:
            inner = os.open(part, flags | kind, dir_fd=place)
        finally:
            os.close(place)
        place = inner
    if not stat.S_ISREG(os.fstat(place).st_mode):
        os.close(place)
        raise FileNotFoundError("it is not a regular file")
    return os.fdopen(place, "rb")
