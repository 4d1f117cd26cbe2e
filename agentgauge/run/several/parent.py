"""The folder of several runs: which runs it has, with which arguments, and which of them are finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.options import DIVIDED, OPTIONS
from agentgauge.core.redaction import without_logins
from agentgauge.run.several.command_line import read_command_line
from agentgauge.store import RunFolder
from agentgauge.store.folder import file_name

FILE = "several.json"
"""In the folder: its members."""

LOGS = "logs"
"""Folder in it: what each run and each tool server prints."""


@dataclass(frozen=True)
class Member:
    """One run of several. ``name``: of its folder. ``words``: pytest's arguments besides model and folder."""

    name: str
    model: str
    words: tuple[str, ...]

    @property
    def url(self) -> str | None:
        """The endpoint that the words name."""
        return read_command_line(self.words, OPTIONS).model_url


@dataclass(frozen=True)
class RunGroup:
    """The content of the folder's file."""

    members: tuple[Member, ...]
    totals: Mapping[str, int | None] = field(default_factory=dict)
    """Option of which members at one provider get parts → total; None: that of the project's settings, or the
    default."""
    side_by_side: int | None = None  # runs at a time; None: all
    finished: tuple[str, ...] = ()  # members that have ended with exit status 0


def totals(values: Mapping[str, Any]) -> dict[str, int | None]:
    """``RunGroup.totals``. ``values``: of options by their keys, None where none was given."""
    found: dict[str, int | None] = {}
    for option in DIVIDED:
        value, beside = values[option.key], option.default_beside(values)
        is_given = value is not None and value is not False
        found[option.name] = value if is_given else beside if beside != option.default else None
    return found


def named(names: Sequence[str]) -> list[str]:
    """Folder names for arbitrary names; equal ones get numbers."""
    found = [LOGS]
    for name in map(file_name, names):
        name = name if name.strip(".") else "model"
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name}-{number}"
        found.append(free)
    return found[1:]


def is_parent(folder: Path) -> bool:
    return (folder / FILE).is_file()


def refuse_taken(folder: Path) -> None:
    """Raises UsageProblem where the folder already holds a run, or several of which one has begun."""
    group = is_parent(folder) and any(is_begun(folder / member.name) for member in read(folder).members)
    if group or is_begun(folder):
        what = "runs of several models" if group else "a run"
        raise UsageProblem(f"{folder} already holds {what}; continue with --resume={folder}, or name another --run-dir")


def without_secrets(member: Member) -> Member:
    """The stored form: without logins of addresses."""
    return replace(member, words=tuple(map(without_logins, member.words)))


def write(folder: Path, group: RunGroup) -> None:
    content = {
        "members": [asdict(without_secrets(member)) for member in group.members],
        **{option.key: group.totals.get(option.name) for option in DIVIDED},
        "side_by_side": group.side_by_side,
        "finished": group.finished,
    }
    RunFolder(folder).write_json(FILE, content)


def read(folder: Path) -> RunGroup:
    """Raises UsageProblem where the file is damaged."""
    try:
        found: Mapping[str, Any] = RunFolder(folder).read_json(FILE)
        members = tuple(Member(one["name"], one["model"], tuple(one["words"])) for one in found["members"])
        totals = {option.name: found.get(option.key) for option in DIVIDED}
        return RunGroup(members, totals, found["side_by_side"], tuple(found["finished"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageProblem(f"{folder / FILE} cannot be read: {error!r}; restore it, or start again") from None


def is_begun(folder: Path) -> bool:
    """Whether a folder has a run that can be resumed."""
    return (folder / "run.json").exists()


def is_finished(parent: Path, name: str) -> bool:
    """Whether a member's run has ended with exit status 0, and is still there."""
    kept = is_parent(parent) and is_begun(parent / name) and (parent / name / "summary.json").exists()
    return kept and name in read(parent).finished


def note_finished(parent: Path, name: str) -> None:
    """Note that a member has ended with exit status 0. Raises OSError."""
    group = read(parent)
    write(parent, replace(group, finished=tuple(dict.fromkeys((*group.finished, name)))))
