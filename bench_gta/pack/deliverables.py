"""Makes a pack from deliverables alone: each task's folder has the files that the app produced, and no final answer
(GTA-Workflow spec 6.1).

The files for a judge are copied to a folder beside the pack, so that the two can be moved together.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import remove_tree
from bench_gta.pack.create import Outcome, is_task
from bench_gta.pack.file_selection import escaped, plain_files
from bench_gta.pack.tasks import SetTask
from bench_gta.workflow.judging.parts import IMAGES, PAGES, PDF, SOUNDS, VIDEOS, Converter

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


def from_deliverables(task: SetTask, folder: Path, *, base: Path, convert: Converter) -> Outcome:
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
    return Outcome(answer(files), files, tuple(map(escaped, gathered.notes)))


def answer(files: Sequence[str]) -> str:
    """The final answer of a task that has only deliverables (GTA-Workflow spec 6.1)."""
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
