"""A pack from an agent app's folders: ``<task id>/final.txt`` and ``files/``, or deliverables alone, which are copied
for a judge to a folder beside the pack, so that the two can be moved together (docs/benchmarks/gta_workflow.md#packs).
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import remove_tree
from agentgauge.core.text import read_text
from agentgauge.core.types import Json
from bench_gta.pack.format import Pack, PackTask, SetTask, TaskSet
from bench_gta.pack.task_folder import escaped, plain_files, problem_of, read_record
from bench_gta.workflow.rendering import IMAGES, PAGES, PDF, SOUNDS, VIDEOS, Converter

FINAL, FILES = "final.txt", "files"

MOST_ANSWER = 1 << 20  # bytes of a final answer. A longer one is cut, with a note


@dataclass(frozen=True, slots=True)
class TaskContent:
    """The content of one task's folder."""

    answer: str
    files: tuple[str, ...]  # relative to the pack's base folder
    notes: tuple[str, ...] = ()


Gather = Callable[[SetTask, Path], TaskContent]  # a task and its folder → what it holds. Raises DataProblem


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
                raise UsageProblem(f"{file}, line {number}: {word[:40]!r} is not a task id; write one integer a line")
            ids.append(int(word))
    if not ids:
        raise UsageProblem(f"{file} holds no task id; write one integer a line, or leave --task-ids out")
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


def from_folder(folder: Path, base: Path) -> TaskContent:
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
    return TaskContent(answer, files, tuple(notes + [f"left out: {FILES}/{what}" for what in found.skipped]))


def read_answer(file: Path) -> tuple[str, list[str]]:
    """A final answer, and a note where it is cut. Raises OSError."""
    with file.open("rb") as stream:
        content = stream.read(MOST_ANSWER + 1)
    notes = [f"{FINAL} is cut at {MOST_ANSWER} bytes"] if len(content) > MOST_ANSWER else []
    return content[:MOST_ANSWER].decode("utf-8", "replace"), notes


def _packed(task: SetTask, folder: Path, outcome: TaskContent) -> PackTask:
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


UNDERSTOOD = (*PDF, *IMAGES, *SOUNDS, *VIDEOS, *PAGES)
OFFICE = (".docx", ".pptx", ".xlsx")
_AS_TEXT = (
    ".csv .tsv .py .js .ts .jsx .tsx .css .xml .yaml .yml .toml .sql .sh .r .c .h .cpp .hpp .cs .java .kt .swift .go"
    " .rs .rb .php .lua .tex .ipynb"
)
"""CSV and code: copied to ``<name>.txt``."""

NEVER = ("__pycache__", "node_modules")
"""Folders of caches; hidden files and folders (``.git``, ``.cache``, ``.DS_Store``) are left out as well."""

MARK = ".agentgauge-pack-files"
"""A file in every folder of copies. A folder without it was made by the user and is never replaced."""


@dataclass(slots=True)
class _Task:
    """What is gathered of one task."""

    folder: Path
    target: Path
    files: list[str] = field(default_factory=list)  # relative to ``target``
    notes: list[str] = field(default_factory=list)


def from_deliverables(task: SetTask, folder: Path, *, base: Path, convert: Converter) -> TaskContent:
    """Copy the files that a judge can be shown below ``base/<task id>``; the answer lists them.

    Office files become PDF unless a PDF of the same stem lies beside them, archives a listing, CSV and code text. A
    file that cannot be converted is copied unchanged, because the judge's own conversion may succeed; other kinds are
    left out. Both cases are noted. ``base``: a new folder.
    """
    gathered = _Task(folder, base / str(task.id))
    found = plain_files(folder)
    wanted = [name for name in found.files if not _unwanted(name)]
    gathered.notes += [f"left out: {what}" for what in found.skipped if not _unwanted(what)]
    for name in wanted:
        try:
            _take(gathered, name, wanted, convert)
        except OSError as error:  # its rights, or a name that becomes too long
            gathered.notes.append(f"left out: {name}: it cannot be copied ({error.strerror})")
    files = tuple(f"{task.id}/{name}" for name in gathered.files)
    return TaskContent(answer(files), files, tuple(map(escaped, gathered.notes)))


def answer(files: Sequence[str]) -> str:
    """The final answer of a task that has only deliverables (docs/benchmarks/gta_workflow.md#packs)."""
    listed = "".join(f"\n- {path}" for path in files)
    return f"Produced files (for evaluation):{listed}" if files else "(no output files found)"


@contextlib.contextmanager
def new_copies(pack: Path, results: Path) -> Iterator[tuple[Path, Path]]:
    """A new folder for the copies of a pack, and the folder ``<pack>_files`` beside the pack, a real path, whose place
    it takes at the end; after an error everything is as it was.

    Raises UsageProblem where that folder would be, hold or lie among the deliverables, was not made by this command, or
    cannot be made.
    """
    folder = pack.absolute().parent.resolve() / f"{pack.stem}_files"
    deliverables = results.resolve()
    below = folder.relative_to(deliverables).parts if folder.is_relative_to(deliverables) else ()
    if deliverables.is_relative_to(folder) or (below and is_task(below[0])):
        raise UsageProblem(
            f"the copies for {pack} would go to {folder}, among the deliverables in {deliverables}; give another"
            " --out-pack"
        )
    if folder.is_symlink() or (folder.exists() and not (folder / MARK).is_file()):
        raise UsageProblem(f"{folder} exists and was not made by this command; move it, or give another --out-pack")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name[:80]}-", dir=folder.parent))
    except OSError as error:
        raise UsageProblem(
            f"no folder can be made in {folder.parent} ({error.strerror}); give another --out-pack"
        ) from None
    old = new.with_name(f"{new.name}-old")
    try:
        new.chmod(0o755)
        (new / MARK).touch()
        yield new, folder
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
        remove_tree(old)
    finally:
        remove_tree(new)


def _take(task: _Task, name: str, wanted: Sequence[str], convert: Converter) -> None:
    path = PurePosixPath(name)
    suffix = path.suffix.lower()
    if suffix in UNDERSTOOD:
        _copy(task, task.folder / name, name)
    elif suffix in OFFICE:
        pdfs = [PurePosixPath(other) for other in wanted if other.lower().endswith(".pdf")]
        if any(pdf.with_suffix("") == path.with_suffix("") for pdf in pdfs):
            task.notes.append(f"left out: {name}: the PDF beside it is sent instead")
        else:
            _as_pdf(task, name, convert)
    elif suffix == ".zip":
        _as_listing(task, name, convert)
    elif suffix in _AS_TEXT.split():
        _copy(task, task.folder / name, f"{name}.txt")
    else:
        task.notes.append(f"left out: {name}: a judge cannot be shown {suffix or 'files without a suffix'}")


def _as_pdf(task: _Task, name: str, convert: Converter) -> None:
    shown = convert.show(str(task.folder / name), 1)
    pdf = next((path for path in shown.files if path.lower().endswith(".pdf")), None)
    if pdf is None:
        task.notes.append(f"not converted: {name}: {shown.why or 'no PDF came of it'}")
        _copy(task, task.folder / name, name)
    else:
        _copy(task, Path(pdf), str(PurePosixPath(name).with_suffix(".pdf")))


def _as_listing(task: _Task, name: str, convert: Converter) -> None:
    shown = convert.show(str(task.folder / name), 1)
    if shown.why:
        task.notes.append(f"left out: {name}: {shown.why}")
        return
    listing = f"{PurePosixPath(name).name}\n{shown.note}\n{shown.text}\n"
    with _new_file(task, f"{name}.txt") as file:
        file.write_text(listing, encoding="utf-8", errors="replace")


def _copy(task: _Task, source: Path, name: str) -> None:
    with _new_file(task, name) as file:
        shutil.copyfile(source, file, follow_symlinks=False)


@contextlib.contextmanager
def _new_file(task: _Task, name: str) -> Iterator[Path]:
    """Where a copy goes; once it is there, it is one of the task's files."""
    target = _free(task, name)
    (task.target / target).parent.mkdir(parents=True, exist_ok=True)
    yield task.target / target
    task.files.append(target)


def _free(task: _Task, name: str) -> str:
    """The name, numbered where another file has become one of that name (``a.csv`` beside ``a.csv.txt``)."""
    path, number = PurePosixPath(name), 1
    while name in task.files:
        number += 1
        name = str(path.with_name(f"{path.stem}-{number}{path.suffix}"))
    return name


def _unwanted(name: str) -> bool:
    return any(part.startswith(".") or part in NEVER for part in name.partition(": ")[0].split("/"))
