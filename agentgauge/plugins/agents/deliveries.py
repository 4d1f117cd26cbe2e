"""The files that an agent delivers: copied out of its folder, which may hold anything."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from agentgauge.core.files import remove_tree
from agentgauge.core.redaction import redact_file

FOLDER = "files"
"""The folder for deliveries, in the agent's folder and among the files of the case."""

MOST_FILES, MOST_BYTES = 1000, 1 << 30
_MOST_CLEANED = 16 << 20  # bytes of a file that is looked through for keys


Files = Iterable[tuple[str, Path]]
"""Files by the names under which they are delivered, which may hold slashes."""


def files_below(folder: Path) -> Files:
    """What lies in a folder, at any depth. ``folder`` itself may have become a link, for example to the gold: then
    nothing does."""
    for place, folders, names in os.walk(folder) if not folder.is_symlink() else ():
        folders.sort()
        yield from ((str(Path(place, name).relative_to(folder)), Path(place, name)) for name in sorted(names))


def opened(files: Files) -> Iterator[tuple[str, BufferedReader]]:
    """Plain files with UTF-8 names, up to the bounds. Links and special files are left out."""
    count = size = 0
    for name, path in files:
        if not _is_name(name):
            continue
        with _opened_plain(path, MOST_BYTES - size) as file:
            if file is None:
                continue
            count += 1
            if count > MOST_FILES:
                return
            size += os.fstat(file.fileno()).st_size
            yield name, file


def take_files(files: Files, target: Path) -> None:
    """Copy files, as far as they count, to a folder."""
    for name, file in opened(files):
        _copy(file, target / name, target)


def _copy(file: BufferedReader, copy: Path, target: Path) -> None:
    """Copy a file; one of text without keys."""
    _make_way(copy, target)
    copy.parent.mkdir(parents=True, exist_ok=True)
    content = file.read(_MOST_CLEANED)
    size = os.fstat(file.fileno()).st_size
    with copy.open("wb") as kept:
        kept.write(redact_file(content) if size <= _MOST_CLEANED else content)
        shutil.copyfileobj(file, kept)


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
    with _opened_plain(path, most) as file:
        return file.read() if file else None


@contextmanager
def _opened_plain(path: Path, most: int) -> Iterator[BufferedReader | None]:
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb", opener=_opened))
        except OSError:
            yield None
            return
        found = os.fstat(file.fileno())
        yield file if stat.S_ISREG(found.st_mode) and found.st_size <= most else None


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _is_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
