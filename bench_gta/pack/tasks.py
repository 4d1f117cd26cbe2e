"""The task set that a pack is made from: requests, files and trees out of end.json (GTA-Workflow spec 1.3 and 6.1)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.index import Entry
from agentgauge.core.types import Json
from bench_gta.pack.format import DataSet, Pack
from bench_gta.workflow.data import DATASET, entries, files_of, tools_of

BUNDLED = Path(__file__).parent.parent / "workflow" / "mini"
BUNDLED_NAME = "the bundled sample"


@dataclass(frozen=True, slots=True)
class SetTask:
    """One task as an agent app gets it."""

    id: int
    position: int  # in the data set, from 1
    prompt: str  # content of the first dialog entry
    turns: int  # of the user; an agent app gets the first one
    files: tuple[str, ...]  # relative to the data set's folder; ``files`` come before ``resources``
    tree: Json
    tools: tuple[str, ...] = ()  # those that the task names; an agent is offered all


@dataclass(frozen=True, slots=True)
class TaskSet:
    """The tasks by id, in the order of the file."""

    data: DataSet
    root: Path
    tasks: Mapping[int, SetTask]


def is_bundled(path: Path) -> bool:
    return path.resolve() in (BUNDLED, BUNDLED / DATASET)


def read_tasks(path: Path | None = None) -> TaskSet:
    """The tasks of a data folder or its end.json; of the bundled sample without one. Raises DataProblem.

    The fingerprint covers the content that a pack copies (ids, requests, trees), so that a file with other formatting
    has the same fingerprint.
    """
    path = path or BUNDLED
    file = path / DATASET if path.is_dir() else path
    if not file.is_file():
        raise DataProblem(f"{path} holds no tasks; give --data a folder with {DATASET}, or that file")
    found = (_task(file, entry, position) for position, entry in enumerate(entries(file), start=1))
    tasks = {task.id: task for task in found}
    if not tasks:
        raise DataProblem(f"{file} holds no task; get the file again, or name another with --data")
    content = json.dumps([[task.id, task.prompt, task.tree] for task in tasks.values()], sort_keys=True)
    name = BUNDLED_NAME if is_bundled(path) else file.absolute().parent.name
    return TaskSet(DataSet(name, hashlib.sha256(content.encode()).hexdigest()[:16]), file.parent, tasks)


def require_same(pack: Pack, tasks: TaskSet) -> None:
    """Raises UsageProblem, with both names, for a pack that was made from another task set."""
    if pack.data is not None and pack.data.fingerprint != tasks.data.fingerprint:
        raise UsageProblem(
            f"{pack.path} was made from the task set {pack.data.name!r} ({pack.data.fingerprint}), not from"
            f" {tasks.data.name!r} ({tasks.data.fingerprint}); give the folder of {pack.data.name!r} with --data"
        )


def input_files(tasks: TaskSet, task: SetTask) -> list[tuple[Path, str]]:
    """The task's files, each with the name of the agent app's copy: its base name, numbered if that is taken. Raises
    DataProblem for a file that is missing, or not in the data set's folder."""
    found: dict[str, Path] = {}
    root = tasks.root.resolve()
    for path in task.files:
        file = (root / path).resolve()
        if not file.is_relative_to(root):
            raise DataProblem(f"task {task.id}: the file {path!r} lies outside {root}; the data set is damaged")
        if not file.is_file():
            raise DataProblem(f"task {task.id}: the file {path!r} is missing below {root}; put it back")
        name, number = file.name, 1
        while name in found and found[name] != file:
            number += 1
            name = f"{file.stem}-{number}{file.suffix}"
        found[name] = file
    return [(file, name) for name, file in found.items()]


def _task(file: Path, entry: Entry, position: int) -> SetTask:
    where = f"{file}: task {entry.key!r}"
    if not (entry.key.isascii() and entry.key.isdigit() and len(entry.key) < 10):
        raise DataProblem(f"{where}: a task's key must be its number, such as '7'")
    task = entry.value
    dialogs = task.get("dialogs") if isinstance(task, dict) else None
    dialogs = dialogs if isinstance(dialogs, list) else []
    first = dialogs[0] if dialogs else None
    if not isinstance(first, dict) or not isinstance(first.get("content"), str):
        raise DataProblem(f"{where}: dialogs must begin with the request, an entry with a text as 'content'")
    if not isinstance(task.get("files", []), list):
        raise DataProblem(f"{where}: files must be a list")
    paths = [used["path"] for used in files_of(task)]
    if not all(isinstance(path, str) for path in paths):
        raise DataProblem(f"{where}: the path of a file must be a text")
    normal = tuple(os.path.normpath(path) for path in paths)
    turns = sum(isinstance(turn, dict) and turn.get("role") == "user" for turn in dialogs)
    tree, tools = task.get("sub_tasks", []), tuple(tools_of(task))
    return SetTask(int(entry.key), position, first["content"], turns, normal, tree, tools)
