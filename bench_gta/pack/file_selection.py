"""Selects the files that count: plain files below a base folder, reached without a link.

A pack names files, and a judge sends them to an endpoint. An agent leaves files, and links among them may lead
anywhere. No content of a folder makes this module fail.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench_gta.workflow.rendering import UNFIT

MOST_FILES = 5_000  # files that a task may deliver. More are noted, not taken

MOST_NOTES = 100  # things left out that are named; of more, only their number is printed


@dataclass(slots=True)
class Found:
    """The content of a folder."""

    files: list[str] = field(default_factory=list)  # relative to the folder, sorted, with forward slashes
    skipped: list[str] = field(default_factory=list)  # "link: is a link": what was not taken, and why


def plain_files(folder: Path) -> Found:
    """All plain files below a folder, at any depth. Links are never followed; they, special files, folders that cannot
    be read and names that are not UTF-8 are noted. A folder that is not there, or is a link itself, holds nothing."""
    found = Found()
    if folder.is_symlink():
        found.skipped.append(f"{folder.name}: is a link")
    elif folder.is_dir():
        for name, problem in sorted(_below(str(folder))):
            if problem:
                found.skipped.append(f"{name}: {problem}")
            elif len(found.files) < MOST_FILES:
                found.files.append(name)
            else:
                found.skipped.append(f"{name}: beyond {MOST_FILES} files")
    found.skipped = [escaped(what) for what in found.skipped]
    if (more := len(found.skipped) - MOST_NOTES) > 0:
        found.skipped[MOST_NOTES:] = [f"and {more} more"]
    return found


def escaped(text: str) -> str:
    """An untrusted text, with escapes so that it fits on one line of a terminal and is valid UTF-8."""
    return UNFIT.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def made_harmless(folder: Path) -> list[str]:
    """Let a folder that an agent has worked in hold ordinary files, folders and links only, which the owner can read.

    Set-user-id, set-group-id and sticky bits are taken away; devices, named pipes and sockets are removed. Links are
    not followed. Notes what was removed, and what could not be changed.
    """
    notes = []
    waiting = [str(folder)]
    while waiting:
        path = waiting.pop()
        name = os.path.relpath(path, folder)[:200]
        try:
            mode = os.lstat(path).st_mode
            if stat.S_ISDIR(mode):
                _grant(path, mode, stat.S_IRWXU)
                waiting += [entry.path for entry in os.scandir(path) if not entry.is_symlink()]
            elif stat.S_ISREG(mode):
                if mode & (stat.S_ISUID | stat.S_ISGID):
                    notes.append(f"{name} would have run with the rights of its owner; they are taken away")
                _grant(path, mode, stat.S_IRUSR | stat.S_IWUSR)
            elif not stat.S_ISLNK(mode):
                os.unlink(path)  # noqa: PTH108 - texts throughout
                notes.append(f"{name} is not a plain file and is removed")
        except OSError as error:
            notes.append(f"{name} cannot be opened again ({error.strerror})")
    return [escaped(note) for note in notes[:MOST_NOTES]]


def _grant(path: str, mode: int, wanted: int) -> None:
    rights = mode & 0o777 | wanted
    if rights != stat.S_IMODE(mode):
        os.chmod(path, rights)  # noqa: PTH101


def problem_of(base: Path, name: str) -> str | None:
    """Why a file of a pack must not be used: ``outside ...``, ``a link ...``; ``missing`` where there is none. None:
    use it. ``base`` is resolved; ``name`` is absolute or relative to it."""
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
        except ValueError:  # a lone surrogate, out of a pack's JSON
            return "not a path"
        if stat.S_ISLNK(mode):
            return "a link, or below one"
    return None if stat.S_ISREG(mode) else "not a plain file"


def path_of(base: Path, name: str) -> Path:
    """The file itself. Call this only for a file without a ``problem_of``."""
    return Path(os.path.normpath(base / name))


def _below(folder: str) -> Iterator[tuple[str, str]]:
    """Every entry that is no folder, and why it does not count. Not recursive: folders may be nested very deep."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = list(os.scandir(os.path.join(folder, prefix)))  # noqa: PTH118 - texts throughout
        except OSError as error:
            yield prefix.rstrip("/") or ".", f"cannot be read ({error.strerror})"
            continue
        for entry in entries:
            name = prefix + entry.name
            if entry.is_symlink():
                yield name, "is a link"
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(name + "/")
            elif not entry.is_file(follow_symlinks=False):
                yield name, "is not a plain file"
            else:
                yield name, "its name is not UTF-8" if any("\ud800" <= sign <= "\udfff" for sign in name) else ""
