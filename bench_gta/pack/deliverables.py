"""A pack from deliverables alone: each task's folder is what the app produced, without a final answer (GTA-Workflow
spec 6.1).

What a judge is to see is copied to a folder beside the pack (``copies``), so that the two can be moved together.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from bench_gta.pack.create import Outcome
from bench_gta.pack.file_selection import escaped, plain_files
from bench_gta.pack.tasks import SetTask
from bench_gta.workflow.judging.parts import IMAGES, PAGES, PDF, SOUNDS, VIDEOS, Converter

UNDERSTOOD = (*PDF, *IMAGES, *SOUNDS, *VIDEOS, *PAGES)
OFFICE = (".docx", ".pptx", ".xlsx")
AS_TEXT = (
    *(
        ".csv",
        ".tsv",
        ".py",
        ".js",
        ".ts",
        ".jsx",
        ".tsx",
        ".css",
        ".xml",
        ".yaml",
        ".yml",
        ".toml",
        ".sql",
        ".sh",
        ".r",
    ),
    *(
        ".c",
        ".h",
        ".cpp",
        ".hpp",
        ".cs",
        ".java",
        ".kt",
        ".swift",
        ".go",
        ".rs",
        ".rb",
        ".php",
        ".lua",
        ".tex",
        ".ipynb",
    ),
)
"""CSV and code: copied to ``<name>.txt``."""

NEVER = ("__pycache__", "node_modules")
"""Folders of caches; hidden files and folders (``.git``, ``.cache``, ``.DS_Store``) are left out as well."""


@dataclass(slots=True)
class _Task:
    """What is gathered of one task."""

    folder: Path
    target: Path
    files: list[str] = field(default_factory=list)  # relative to ``target``
    notes: list[str] = field(default_factory=list)


def from_deliverables(task: SetTask, folder: Path, *, base: Path, convert: Converter) -> Outcome:
    """Copies below ``base/<task id>`` what a judge can be shown; the answer lists it.

    Office files become PDF unless a PDF of the same stem lies beside them, archives a listing, CSV and code text. What
    cannot be converted is copied as it is, since the judge's own conversion may fare better; other kinds are left out.
    Both are noted. ``base``: a new folder.
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
    """The final answer that stands for deliverables (GTA-Workflow spec 6.1)."""
    return (
        "\n".join(["Produced files (for evaluation):", *(f"- {path}" for path in files)])
        if files
        else "(no output files found)"
    )


def _take(task: _Task, name: str, wanted: Sequence[str], convert: Converter) -> None:
    path = PurePosixPath(name)
    suffix = path.suffix.lower()
    if suffix in UNDERSTOOD:
        _copy(task, name, name)
    elif suffix in OFFICE:
        if any(
            PurePosixPath(other).with_suffix("") == path.with_suffix("")
            for other in wanted
            if other.lower().endswith(".pdf")
        ):
            task.notes.append(f"left out: {name}: the PDF beside it stands for it")
        else:
            _as_pdf(task, name, convert)
    elif suffix == ".zip":
        _as_listing(task, name, convert)
    elif suffix in AS_TEXT:
        _copy(task, name, f"{name}.txt")
    else:
        task.notes.append(f"left out: {name}: a judge cannot be shown {suffix or 'files without a suffix'}")


def _copy(task: _Task, name: str, as_name: str) -> None:
    _put(task, task.folder / name, as_name)


def _as_pdf(task: _Task, name: str, convert: Converter) -> None:
    shown = convert.show(str(task.folder / name), 1)
    pdf = next((path for path in shown.files if path.lower().endswith(".pdf")), None)
    if pdf is None:
        task.notes.append(f"not converted: {name}: {shown.why or 'no PDF came of it'}")
        _copy(task, name, name)
    else:
        _put(task, Path(pdf), str(PurePosixPath(name).with_suffix(".pdf")))


def _as_listing(task: _Task, name: str, convert: Converter) -> None:
    shown = convert.show(str(task.folder / name), 1)
    if shown.why:
        task.notes.append(f"left out: {name}: {shown.why}")
        return
    target = _free(task, f"{name}.txt")
    place = task.target / target
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{PurePosixPath(name).name}\n{shown.note}\n{shown.text}\n", encoding="utf-8", errors="replace")
    task.files.append(target)


def _put(task: _Task, source: Path, name: str) -> None:
    target = _free(task, name)
    place = task.target / target
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place, follow_symlinks=False)
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
