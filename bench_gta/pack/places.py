"""Which files count: plain ones below a base folder, reached without a link.

A pack names files, and a judge sends them away; an agent leaves files, and links among them may lead anywhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_FILES = 5_000
"""Files that a task may deliver. More are noted, not taken."""


@dataclass(slots=True)
class Found:
    """What lies below a folder."""

    files: list[str] = field(default_factory=list)  # relative to the folder, sorted, with forward slashes
    skipped: list[str] = field(default_factory=list)  # "link: is a link": what was not taken, and why


def plain_files(folder: Path) -> Found:
    """All plain files below a folder, at any depth. Links are never followed; they and special files are noted.

    A folder that is not there, or is a link itself, holds nothing.
    """
    found = Found()
    if folder.is_symlink():
        found.skipped.append(f"{folder.name}: is a link")
    elif folder.is_dir():
        for name, problem in sorted(_below(str(folder), "")):
            if problem:
                found.skipped.append(f"{name}: {problem}")
            elif len(found.files) < MOST_FILES:
                found.files.append(name)
            else:
                found.skipped.append(f"{name}: beyond {MOST_FILES} files")
    return found


def problem_of(base: Path, name: str) -> str | None:
    """Why a file of a pack must not be used: ``outside ...``, ``a link ...``; ``missing`` where there is none. None: use it.

    ``base`` is resolved; ``name`` is absolute or relative to it.
    """
    if "\0" in name:
        return "not a path"
    place = Path(os.path.normpath(base / name))
    if not place.is_relative_to(base) or place == base:
        return "outside the base folder"
    walked = base
    for part in place.relative_to(base).parts:
        walked /= part
        try:
            mode = walked.lstat().st_mode
        except OSError:
            return "missing"
        if stat.S_ISLNK(mode):
            return "a link, or below one"
    return None if stat.S_ISREG(mode) else "not a plain file"


def place_of(base: Path, name: str) -> Path:
    """The file itself; to be asked where ``problem_of`` has none."""
    return Path(os.path.normpath(base / name))


def _below(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        yield prefix.rstrip("/") or ".", f"cannot be read ({error.strerror})"
        return
    for entry in entries:
        name = prefix + entry.name
        if entry.is_symlink():
            yield name, "is a link"
        elif entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, name + "/")
        elif entry.is_file(follow_symlinks=False):
            yield name, ""
        else:
            yield name, "is no plain file"
