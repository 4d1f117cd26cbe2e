"""The files that an agent program delivers: copied out of its folder, which may hold anything."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agentgauge.core.redaction import redact_file

FOLDER = "files"
"""Where the agent puts what it delivers, and where that lies among the files of the case."""

MOST_FILES, MOST_BYTES = 1000, 1 << 30
_MOST_CLEANED = 16 << 20  # bytes of a file that is looked through for keys


def take_files(folder: Path, target: Path) -> None:
    """Copy plain files with UTF-8 names, at any depth, up to the bounds. Links, and what else is no plain file, stay
    behind; ``folder`` itself may have become a link, to the gold."""
    if folder.is_symlink():
        return
    count = size = 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            source = Path(place, name)
            if not _is_name(place + name) or (content := plain_file(source, MOST_BYTES - size)) is None:
                continue
            count, size = count + 1, size + len(content)
            if count > MOST_FILES:
                return
            copy = target / source.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(redact_file(content) if len(content) <= _MOST_CLEANED else content)


def plain_file(path: Path, most: int) -> bytes | None:
    """The content of a plain file of at most so many bytes; None for a link, a pipe, a larger file and no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        return file.read() if stat.S_ISREG(found.st_mode) and found.st_size <= most else None


def _is_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
