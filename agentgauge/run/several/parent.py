"""The folder of several runs: which runs it has, with which arguments, and which of them are finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import without_logins
from agentgauge.store import RunFolder
from agentgauge.store.folder_names import file_name

FILE = "several.json"
"""In the folder: its members."""


@dataclass(frozen=True)
class Member:
    """One run of several. ``name``: of its folder. ``words``: pytest's arguments besides model and folder."""

    name: str
    model: str
    words: tuple[str, ...]


def named(names: Sequence[str]) -> list[str]:
    """Names of folders for names that may hold anything: equal ones get numbers."""
    found: list[str] = []
    for name in map(file_name, names):
        number, free = 1, name
        while free in found:
            number += 1
            free = f"{name}-{number}"
        found.append(free)
    return found


def is_parent(folder: Path) -> bool:
    return (folder / FILE).is_file()


def write(folder: Path, members: Sequence[Member], in_flight: int | None) -> None:
    """``in_flight``: concurrent requests to one provider, as given. Logins of addresses are left out."""
    kept = [{**asdict(member), "words": [without_logins(word) for word in member.words]} for member in members]
    RunFolder(folder).write_json(FILE, {"in_flight": in_flight, "members": kept})


def read(folder: Path) -> tuple[list[Member], int | None]:
    """Raises UsageProblem where the file is damaged."""
    try:
        found: Mapping[str, Any] = RunFolder(folder).read_json(FILE)
        members = [Member(one["name"], one["model"], tuple(one["words"])) for one in found["members"]]
        return members, found["in_flight"]
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageProblem(f"{folder / FILE} cannot be read: {error!r}; restore it, or start again") from None


def is_begun(folder: Path) -> bool:
    """Whether a member has a run that can be resumed."""
    return (folder / "run.json").exists()


def is_finished(folder: Path) -> bool:
    """Whether a member's run has ended with exit status 0: no case is broken or missing, and all gates hold."""
    if not (is_begun(folder) and (folder / "summary.json").exists()):
        return False
    run = RunFolder(folder)
    about, summary = run.read_json("run.json"), run.read_json("summary.json")
    lacking = sum(part["broken"] + part["missing"] for part in summary["tasks"].values())
    return bool(about["finished"]) and not lacking and not any(gate["problem"] for gate in about["gates"])
