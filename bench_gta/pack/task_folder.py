"""What a task's folder holds: the plain files that count, the record of how the agent ended (``run.json``, which
becomes the task's ``meta`` in the pack), and the figures of its tool calls.

A pack names files, and a judge sends them to an endpoint. An agent leaves files, and links among them may lead
anywhere. Only plain files below a base folder, reached without a link, count. No content of a folder makes this module
fail.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json
from bench_gta.workflow.rendering import UNFIT

MOST_FILES = 5_000  # files that a task may deliver. More are noted, not taken

MOST_NOTES = 100  # things left out that are named; of more, only their number is printed


@dataclass(slots=True)
class FolderFiles:
    """The content of a folder."""

    files: list[str] = field(default_factory=list)  # relative to the folder, sorted, with forward slashes
    skipped: list[str] = field(default_factory=list)  # "link: is a link": what was not taken, and why


def plain_files(folder: Path) -> FolderFiles:
    """All plain files below a folder, at any depth. Links are never followed; they, special files, folders that cannot
    be read and names that are not UTF-8 are noted. A folder that is not there, or is a link itself, holds nothing."""
    found = FolderFiles()
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


RECORD = "run.json"

_MOST = 1 << 20  # bytes of a record


def read_record(folder: Path) -> dict[str, Json]:
    """The record in a task's folder; empty where there is none. Raises DataProblem for one that is damaged."""
    file = folder / RECORD
    problem = problem_of(folder.resolve(), RECORD)
    if problem == "missing":
        return {}
    if problem:
        raise DataProblem(f"{file} is {problem}; remove it, or write a plain file with elapsed_sec and usd")
    value = _small_object(file)
    if value is None:
        raise DataProblem(f"{file} is not one JSON object of at most {_MOST} bytes; correct or remove it")
    for name in ("elapsed_sec", "usd"):
        if value.get(name) is not None and number(value[name]) is None:
            raise DataProblem(f"{file}: {name} is {str(value[name])[:40]!r}; accepted is a number from 0 on, or null")
    return value


def number(value: Json) -> float | None:
    """A finite number from 0 on as it is; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= 1e15 and math.isfinite(value) else None


def score_of(value: Json) -> float | None:
    """A score, which may be a text; None for everything that is no finite number
    (docs/benchmarks/gta_workflow.md#scoring-a-pack)."""
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def _small_object(file: Path) -> dict[str, Json] | None:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST + 1)
        value = json.loads(content) if len(content) <= _MOST else None
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
