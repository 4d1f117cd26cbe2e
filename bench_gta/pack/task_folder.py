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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json
from agentgauge.sandbox import ended_from_outside
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


def is_finished(folder: Path) -> bool:
    """Whether an agent has worked on the task to its end: one that was killed from outside is to be run again. Raises
    DataProblem for a damaged record."""
    record = read_record(folder)
    return bool(record) and not ended_from_outside(record.get("status"), record.get("returncode"))


def read_usage(folder: Path, name: str) -> tuple[dict[str, float], list[str]]:
    """The usage that an agent reports (``usd``, ``prompt_tokens``, ``completion_tokens``), and notes if the file cannot
    be read. The agent wrote the file, so it may hold anything; a missing file gives no usage and no note."""
    problem = problem_of(folder.resolve(), name)
    if problem == "missing":
        return {}, []
    value = None if problem else _small_object(folder / name)
    if value is None:
        return {}, [f"{name} is not read: {problem or 'it is not one small JSON object'}"]
    given = {key: value[key] for key in ("usd", "prompt_tokens", "completion_tokens") if value.get(key) is not None}
    known = {key: amount for key in given if (amount := number(given[key])) is not None}
    if bad := given.keys() - known:
        return {}, [f"{name} is not read: {', '.join(key for key in given if key in bad)} must be a number from 0 on"]
    return known, []


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


TOOLS_KEY = "tools"
"""Key in a record: the names of the task's own tools, the log of the calls, and the number of calls that the log leaves
out."""


def step_figures(metas: Iterable[Mapping[str, Json]]) -> dict[str, Json] | None:
    """The figures over tasks by their records, in percent; None where no agent was given tools.

    ``Args accepted``: calls whose arguments fitted a known tool. ``Errors``: calls that ended in an error, those with
    bad arguments included. ``Tools used``: of the tools that the tasks name, those that were called for them. ``Tools
    named``: of the tools that were called, those that their task names. Both count a tool once a task.
    """
    logs = [log for meta in metas if isinstance(log := meta.get(TOOLS_KEY), Mapping)]
    if not logs:
        return None
    calls = accepted = failed = called = expected = both = 0
    for log in logs:
        of_task = [call for call in _list(log.get("calls")) if isinstance(call, Mapping)]
        calls += len(of_task)
        accepted += sum(call.get("accepted") is True for call in of_task)
        failed += sum("error" in call for call in of_task)
        used = {str(call.get("name")) for call in of_task}
        named = {str(name) for name in _list(log.get("expected"))}
        called, expected, both = called + len(used), expected + len(named), both + len(used & named)
    return {
        "Tasks": len(logs),
        "Calls": calls,
        "Args accepted": _percent(accepted, calls),
        "Errors": _percent(failed, calls),
        "Tools used": _percent(both, expected),
        "Tools named": _percent(both, called),
    }


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
