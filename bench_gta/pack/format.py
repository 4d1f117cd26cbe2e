"""The file of an eval pack, read, checked and written, and the task set that it is made from: requests and trees out of
end.json (docs/benchmarks/gta_workflow.md#tasks and docs/benchmarks/gta_workflow.md#packs).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from agentgauge.core import checking
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import encoded, write_whole
from agentgauge.core.index import Entry
from agentgauge.core.text import counted, parse_json
from agentgauge.core.types import Json
from bench_gta.pack.task_folder import escaped, problem_of
from bench_gta.workflow import tree
from bench_gta.workflow.data import DATASET, entries
from bench_gta.workflow.prompts import NO_ANSWER, final_answer


def write_json(path: Path, value: Json) -> None:
    """Replace a file by a JSON value, in one step. Raises UsageProblem where it cannot be written."""
    _write(path, encoded(value, indent=1) + b"\n")


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise UsageProblem(f"{path} cannot be written ({error.strerror}); give a place that can be") from None


SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class SetIdentity:
    """The task set that a pack was made from."""

    name: str  # for people
    fingerprint: str  # of every task's id, request and tree


@dataclass(frozen=True, slots=True)
class PackTask:
    """The result of an agent app on one task."""

    task_id: int
    sample_idx: int  # from 1
    origin_prompt: Json  # a list of texts, one a turn; or a text; None if absent
    assistant_outputs: Json  # a list of turns, each a list of steps; other shapes occur (select_trace)
    attached_files: tuple[str, ...]  # relative to the pack's base folder, or absolute
    full_tree: Json
    meta: Mapping[str, Json] = field(default_factory=dict)  # elapsed_sec, usd ...


@dataclass(frozen=True, slots=True)
class Pack:
    """A whole pack. ``base`` is resolved; ``sha1`` is that of the file, empty for a pack that is not written yet."""

    tasks: tuple[PackTask, ...]
    base: Path
    data: SetIdentity | None = None  # None: the pack does not say
    generated_from: Mapping[str, Json] = field(default_factory=dict)
    path: Path | None = None
    sha1: str = ""


def read_pack(path: Path, base: Path | None = None) -> Pack:
    """Read a pack. Raises DataProblem, with task and field, for content that breaks
    docs/benchmarks/gta_workflow.md#packs.

    ``base``: the folder that relative paths start from. Without it, the folder that the pack names, which must lie in
    the pack's own folder, because the author of a pack must not show other files of this machine to a judge. A pack
    that names none starts from its own folder (upstream goes one level too high there).
    """
    try:
        content = path.read_bytes()
        value = parse_json(content)
    except OSError as error:
        give = "give the file that `agentgauge pack create` wrote"
        raise DataProblem(f"the pack {path} cannot be read ({error.strerror}); {give}") from None
    except ValueError as error:
        raise DataProblem(f"the pack {path} is not valid JSON: {error}; make it again") from None
    read = checking.read(_PackFile, value, str(path), error=DataProblem)
    ids = Counter(task.task_id for task in read.tasks)
    if repeated := [task_id for task_id, times in ids.items() if times > 1]:
        raise DataProblem(f"{path}: task {repeated[0]} is there twice; keep one of the two")
    return Pack(
        tasks=tuple(task.packed(position) for position, task in enumerate(read.tasks, start=1)),
        base=_base(path, read.base_dir, base),
        data=SetIdentity(read.data.name, read.data.fingerprint) if read.data else None,
        generated_from=read.generated_from,
        path=path,
        sha1=hashlib.sha1(content, usedforsecurity=False).hexdigest(),
    )


class _InFile(BaseModel):
    """Base of what stands in a pack's file. Further fields, which the released tool may write, are left out."""

    model_config = checking.STRICT | ConfigDict(extra="ignore")


def _texts(value: Json) -> Json:
    if value is None or isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        return value
    raise ValueError("a string or a list of strings")


Texts = Annotated[Any, AfterValidator(_texts)]


class _TaskInFile(_InFile):
    task_id: int
    sample_idx: int | None = Field(default=None, ge=1)
    origin_prompt: Texts = None
    assistant_outputs: Any = Field(description="the turns, an empty list if there are none")
    attached_files: Texts = None  # one file may be given as a text (docs/benchmarks/gta_workflow.md#scoring-a-pack)
    full_tree: list[Any] | dict[str, Any]
    meta: dict[str, Any] = {}

    def packed(self, position: int) -> PackTask:
        files = self.attached_files or []
        return PackTask(
            task_id=self.task_id,
            sample_idx=self.sample_idx or position,
            origin_prompt=self.origin_prompt,
            assistant_outputs=self.assistant_outputs,
            attached_files=tuple(files) if isinstance(files, list) else (files,) if files.strip() else (),
            full_tree=self.full_tree,
            meta=self.meta,
        )


class _SetInFile(_InFile):
    name: str
    fingerprint: str


class _PackFile(_InFile):
    schema_version: int = Field(ge=1, le=SCHEMA_VERSION)
    tasks: list[_TaskInFile]
    base_dir: str = "."
    data: _SetInFile | None = None
    generated_from: dict[str, Any] = {}


def write_pack(path: Path, pack: Pack) -> None:
    """Write a pack in one step. Its base folder is written relative to it, so that both can be moved together."""
    names = [field.name for field in fields(PackTask)]
    value: dict[str, Json] = {
        "schema_version": SCHEMA_VERSION,
        "base_dir": os.path.relpath(pack.base, path.absolute().parent.resolve()),
        "generated_from": dict(pack.generated_from),
        "tasks": [{name: getattr(task, name) for name in names} for task in pack.tasks],
    }
    if pack.data:
        value["data"] = asdict(pack.data)
    write_json(path, value)


def lies_beside(path: Path, base: Path) -> bool:
    """Whether a base folder lies in the folder of its pack, and so needs no ``--base-dir``."""
    return base.resolve().is_relative_to(path.absolute().parent.resolve())


def select_trace(outputs: Json) -> Json:
    """The turn that the released scorer judges: the first one (docs/benchmarks/gta_workflow.md#scoring-a-pack). A list
    whose first item is a list holds turns; anything else is the trace itself. Later turns are lost, which is kept under
    ``parity`` only."""
    return outputs[0] if isinstance(outputs, list) and outputs and isinstance(outputs[0], list) else outputs


def _base(path: Path, named: str, given: Path | None) -> Path:
    chosen = given if given is not None else path.absolute().parent / named
    resolved = chosen.resolve()
    if not resolved.is_dir():
        give = "give the folder that its files lie in with --base-dir"
        raise DataProblem(f"{path}: the base folder {chosen} is not there; {give}")
    if given is None and not lies_beside(path, resolved):
        raise DataProblem(
            f"{path}: base_dir is {named!r}, which is not in the pack's own folder; if a judge may see"
            f" its files, allow this with --base-dir {resolved}"
        )
    return resolved


BUNDLED = Path(__file__).parent.parent / "workflow" / "mini"
BUNDLED_NAME = "the bundled sample"


@dataclass(frozen=True, slots=True)
class SetTask:
    """One task as an agent app gets it."""

    id: int
    position: int  # in the data set, from 1
    prompt: str  # content of the first dialog entry
    turns: int  # of the user; an agent app gets the first one
    tree: Json


@dataclass(frozen=True, slots=True)
class TaskSet:
    """The tasks by id, in the order of the file."""

    data: SetIdentity
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
    return TaskSet(SetIdentity(name, hashlib.sha256(content.encode()).hexdigest()[:16]), file.parent, tasks)


def require_same(pack: Pack, tasks: TaskSet) -> None:
    """Raises UsageProblem, with both names, for a pack that was made from another task set."""
    if pack.data is not None and pack.data.fingerprint != tasks.data.fingerprint:
        raise UsageProblem(
            f"{pack.path} was made from the task set {pack.data.name!r} ({pack.data.fingerprint}), not from"
            f" {tasks.data.name!r} ({tasks.data.fingerprint}); give the folder of {pack.data.name!r} with --data"
        )


def _task(file: Path, entry: Entry, position: int) -> SetTask:
    where = f"{file}: task {entry.key!r}"
    if not (entry.key.isascii() and entry.key.isdigit() and len(entry.key) < 10):
        raise DataProblem(f"{where}: a task's key must be its number, such as '7'")
    task = entry.value
    dialogs = task.get("dialogs") if isinstance(task, dict) else None
    dialogs = dialogs if isinstance(dialogs, list) else []
    first = dialogs[0] if dialogs else None
    if not isinstance(first, dict) or not isinstance(first.get("content"), str):
        raise DataProblem(f"{where}: dialogs must begin with the request, an entry with a string as 'content'")
    turns = sum(isinstance(turn, dict) and turn.get("role") == "user" for turn in dialogs)
    return SetTask(int(entry.key), position, first["content"], turns, task.get("sub_tasks", []))


def problems_of(pack: Pack, tasks: TaskSet | None) -> list[str]:
    """All problems, in the order of the pack. ``tasks``: the data set that it was made from, if known."""
    return [
        f"task {task.task_id}: {what}"
        for task in pack.tasks
        for what in (*(_of_set(task, tasks) if tasks else ()), *_of_task(pack, task))
    ]


def notes_of_pack(pack: Pack) -> list[str]:
    """Notes about what may be intended, such as final answers that are empty."""
    return [f"task {task.task_id}: its final answer is empty" for task in pack.tasks if _is_blank(task)]


def file_problems(pack: Pack, task: PackTask) -> list[tuple[str, str]]:
    """Files of a task that cannot be used, and why: ``missing``, ``outside ...``, ``a link ...``."""
    return [(name, problem) for name in task.attached_files if (problem := problem_of(pack.base, name))]


def require_safe(pack: Pack) -> None:
    """Raises UsageProblem if a pack names files that a judge must not see. Missing files are not dangerous."""
    for task in pack.tasks:
        for name, problem in file_problems(pack, task):
            if problem != "missing":
                raise UsageProblem(
                    f"{pack.path}: task {task.task_id}: the file {name!r} is {problem} ({pack.base}), so it is not"
                    " shown to a judge; take it out, or give the folder that it lies in with --base-dir"
                )


def require_of_set(pack: Pack, tasks: TaskSet) -> None:
    """Raises UsageProblem for a task that differs from the task set's own, even if the pack names this task set."""
    for task in pack.tasks:
        if found := _of_set(task, tasks):
            raise UsageProblem(
                f"{pack.path}: task {task.task_id}: {found[0]}; make the pack again, or give the right data with --data"
            )


def missing_files(pack: Pack, task: PackTask) -> list[str]:
    return [name for name, problem in file_problems(pack, task) if problem == "missing"]


def _of_set(task: PackTask, tasks: TaskSet) -> list[str]:
    known = tasks.tasks.get(task.task_id)
    if known is None:
        return [f"it is not in the task set {tasks.data.name!r}"]
    found = []
    if task.full_tree != known.tree:
        found.append(f"full_tree differs from the one of the task set {tasks.data.name!r}")
    prompt = task.origin_prompt
    if (prompt[:1] if isinstance(prompt, list) else [prompt]) != [known.prompt]:
        found.append(f"origin_prompt differs from the request of the task set {tasks.data.name!r}")
    return found


def _of_task(pack: Pack, task: PackTask) -> list[str]:
    found = [f"the file {name!r} is {problem}" for name, problem in file_problems(pack, task)]
    try:
        tree.check_weights(tree.parse(task.full_tree))
    except DataProblem as problem:
        return [*found, f"full_tree: {problem}"]
    if final_answer(task.assistant_outputs) == NO_ANSWER and not _is_blank(task):
        found.append("it has no final answer")
    return found


def _is_blank(task: PackTask) -> bool:
    """Whether the last thing that the agent said is a text of blanks."""
    trace = select_trace(task.assistant_outputs)
    last = trace[-1] if isinstance(trace, list) and trace else None
    content = last.get("content") if isinstance(last, dict) and last.get("role") == "assistant" else None
    return isinstance(content, str) and not content.strip()


def open_pack(options: argparse.Namespace, path: Path) -> tuple[Pack, TaskSet | None]:
    """The pack, and the task set that it is of. Without --data, a pack that names a task set must be of the bundled
    one; one that names none (the released tool's) is taken as it stands."""
    pack = read_pack(path, options.base_dir)
    if options.data is None and pack.data is None:
        print("note: the pack does not name its task set, so it is not compared with one (give --data for that)")
        return pack, None
    tasks = read_tasks(options.data)
    require_same(pack, tasks)
    return pack, tasks


def print_problems(pack: Pack, tasks: TaskSet | None) -> int:
    """Print the problems of a pack. Returns the exit status."""
    problems = problems_of(pack, tasks)
    for problem in problems:
        print(escaped(problem))
    for note in notes_of_pack(pack):
        print(f"note: {note}")
    found = "1 problem" if len(problems) == 1 else f"{len(problems) or 'no'} problems"
    print(f"{pack.path}: {counted(len(pack.tasks), 'task')}, {found}")
    return 1 if problems else 0
