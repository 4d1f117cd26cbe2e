"""A pack from an agent app's folders: ``<task id>/final.txt`` and ``files/`` (GTA-Workflow spec 6.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.text import read_text
from agentgauge.core.types import Json
from bench_gta.pack.file_selection import escaped, plain_files, problem_of
from bench_gta.pack.format import Pack, PackTask
from bench_gta.pack.records import read_record
from bench_gta.pack.tasks import SetTask, TaskSet

FINAL, FILES = "final.txt", "files"

MOST_ANSWER = 1 << 20  # bytes of a final answer. A longer one is cut, with a note


@dataclass(frozen=True, slots=True)
class Outcome:
    """The content of one task's folder."""

    answer: str
    files: tuple[str, ...]  # relative to the pack's base folder
    notes: tuple[str, ...] = ()


Gather = Callable[[SetTask, Path], Outcome]  # a task and its folder → what it holds. Raises DataProblem


def read_ids(file: Path) -> list[int]:
    """Task ids out of a file, one a line; blank lines and comments after ``#`` are ignored. Raises UsageProblem."""
    try:
        lines = read_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"the list of task ids {file} cannot be read: {error}") from None
    ids = []
    for number, line in enumerate(lines, start=1):
        if word := line.partition("#")[0].strip():
            if not is_task(word):
                raise UsageProblem(
                    f"{file}, line {number}: {word[:40]!r} is not a task id; write one whole number a line"
                )
            ids.append(int(word))
    if not ids:
        raise UsageProblem(f"{file} holds no task id; write one whole number a line, or leave --task-ids out")
    return list(dict.fromkeys(ids))


def folders_of(results: Path, tasks: TaskSet, ids: Sequence[int] | None) -> list[tuple[SetTask, Path]]:
    """The tasks to pack and their folders, in the data set's order or that of ``ids``; without ids, every folder named
    by a number. Raises UsageProblem for an unknown id, a missing folder, and if there is no folder at all."""
    if not results.is_dir():
        raise UsageProblem(
            f"{results} is not a folder; give the one that holds a folder for each task, named by its id"
        )
    if ids is None:
        try:
            numbers = {int(path.name) for path in results.iterdir() if is_task(path.name) and path.is_dir()}
        except OSError as error:
            correct = "correct its rights, or give another folder"
            raise UsageProblem(f"{results} cannot be read ({error.strerror}); {correct}") from None
        ids = [number for number in tasks.tasks if number in numbers] + sorted(numbers - tasks.tasks.keys())
    if not ids:
        raise UsageProblem(f"{results} holds no folder that is named by a task id, such as {results / '7'}")
    found = []
    for number in ids:
        if number not in tasks.tasks:
            raise UsageProblem(
                f"task {number} is not in the task set {tasks.data.name!r}, which has {some(list(tasks.tasks))}; "
                "give the right data with --data"
            )
        folder = results / str(number)
        if folder.is_symlink() or not folder.is_dir():
            leave = "make it, or leave the task out of --task-ids"
            raise UsageProblem(f"there is no folder {folder} for task {number}; {leave}")
        found.append((tasks.tasks[number], folder))
    return found


def is_task(name: str) -> bool:
    """Whether a folder's name is a task id."""
    return re.fullmatch(r"[0-9]{1,12}", name) is not None


def create(
    results: Path,
    tasks: TaskSet,
    *,
    ids: Sequence[int] | None = None,
    base: Path | None = None,
    gather: Gather | None = None,
) -> Pack:
    """The pack of a folder of results. ``base``: by default ``results``. Raises UsageProblem and DataProblem."""
    base = (base or results).resolve()
    gather = gather or (lambda task, folder: from_folder(folder, base))
    packed = [_packed(task, folder, gather(task, folder)) for task, folder in folders_of(results, tasks, ids)]
    return Pack(tuple(packed), base, tasks.data, {"tool": "agentgauge pack create"})


def from_folder(folder: Path, base: Path) -> Outcome:
    """final.txt and everything below files/. Links are left out, with a note."""
    problem = problem_of(folder.resolve(), FINAL)
    if problem:
        raise DataProblem(
            f"task {folder.name}: {folder / FINAL} is {problem}; write the final answer there (an empty file if there"
            " is none), or pack the files alone with --deliverables"
        )
    try:
        answer, notes = read_answer(folder / FINAL)
    except OSError as error:
        raise DataProblem(f"{folder / FINAL} cannot be read ({error.strerror}); correct its rights") from None
    found = plain_files(folder / FILES)
    place = folder.resolve().relative_to(base).as_posix()
    files = tuple(f"{place}/{FILES}/{name}" for name in found.files)
    return Outcome(answer, files, tuple(notes + [f"left out: {FILES}/{what}" for what in found.skipped]))


def read_answer(file: Path) -> tuple[str, list[str]]:
    """A final answer, and a note where it is cut. Raises OSError."""
    with file.open("rb") as stream:
        content = stream.read(MOST_ANSWER + 1)
    notes = [f"{FINAL} is cut at {MOST_ANSWER} bytes"] if len(content) > MOST_ANSWER else []
    return content[:MOST_ANSWER].decode("utf-8", "replace"), notes


def _packed(task: SetTask, folder: Path, outcome: Outcome) -> PackTask:
    meta: Mapping[str, Json] = read_record(folder)
    if outcome.notes:
        meta = {**meta, "notes": list(dict.fromkeys([*notes_of(meta), *outcome.notes]))}
    return PackTask(
        task_id=task.id,
        sample_idx=task.position,
        origin_prompt=[task.prompt],
        assistant_outputs=[[{"role": "assistant", "content": outcome.answer}]],
        attached_files=outcome.files,
        full_tree=task.tree,
        meta=meta,
    )


def notes_of(meta: Mapping[str, Json]) -> list[str]:
    """The notes in a record or in a pack task's meta, in any form, each as one line."""
    notes = meta.get("notes") or []
    return [escaped(str(note)) for note in (notes if isinstance(notes, list) else [notes])]


def with_metadata(pack: Pack, **metadata: Json) -> Pack:
    """The pack with more metadata on what it was generated from."""
    return replace(pack, generated_from={**pack.generated_from, **metadata})


def some(ids: Sequence[int]) -> str:
    """The first ids, and how many more there are."""
    shown = ", ".join(map(str, ids[:12]))
    return f"{shown} and {len(ids) - 12} more" if len(ids) > 12 else shown
