"""The files that an agent program delivers: copied out of its folder, which may hold anything."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agentgauge.core.redaction import redact_file
from agentgauge.sandbox.scratch import remove_tree

FOLDER = "files"
"""The folder for deliveries, in the agent's folder and among the files of the case."""

MOST_FILES, MOST_BYTES = 1000, 1 << 30
_MOST_CLEANED = 16 << 20  # bytes of a file that is looked through for keys


def take_files(folder: Path, target: Path) -> None:
    """Copy plain files with UTF-8 names, at any depth, up to the bounds. Links and special files are not copied.
    ``folder`` itself may have become a link, for example to the gold."""
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
            _make_way(copy, target)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(redact_file(content) if len(content) <= _MOST_CLEANED else content)


def _make_way(copy: Path, target: Path) -> None:
    """Remove what an earlier call of the agent has delivered: a file where a folder has to be, and the reverse."""
    above = copy.parents[: len(copy.relative_to(target).parents) - 1]
    for place in filter(Path.is_file, above):
        place.unlink()
    if copy.is_dir():
        remove_tree(copy)


def plain_file(path: Path, most: int) -> bytes | None:
    """The content of a plain file of at most so many bytes; None for a link, a pipe, a folder, a larger file and no
    file."""
    try:
        with open(path, "rb", opener=_opened) as file:
            found = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(found.st_mode) and found.st_size <= most else None
    except OSError:
        return None


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _is_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
