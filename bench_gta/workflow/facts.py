"""Collects facts about a delivered file that need no judgement: its kind, its measures and its text
(docs/benchmarks/gta_workflow.md#judges).

Deliverables are untrusted, so they are opened in the sandbox (``facts.child``); a file that ends the child is
``broken``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentgauge import sandbox
from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json
from bench_gta.workflow.confined import Unfit, copy, run_child
from bench_gta.workflow.inside.kinds import DOCUMENTS, SHEETS, SLIDES, kind_of, suffix_of

CHILD = "bench_gta.workflow.inside.facts"
AHEAD = ("bench_gta.workflow.inside.facts", "bench_gta.workflow.inside.sheets", "tool_impls.documents.read_office")
READER = ("rapidocr.main",)
"""The module for reading pictures. Its import takes most of a child's time."""

SECONDS = 60.0  # of one child
PATIENCE = 300.0  # seconds for all files; what is not looked at by then stays so
MOST_FILES = 200
TOGETHER = 256 << 20  # bytes of the files that one child gets, of which it sees copies in memory

KINDS: Mapping[str, str] = {
    **dict.fromkeys(DOCUMENTS, "Word document"),
    **dict.fromkeys(SLIDES, "presentation"),
    **dict.fromkeys(SHEETS, "workbook"),
    **{".csv": "CSV table", ".tsv": "CSV table", ".json": "JSON file", ".zip": "archive", ".rtf": "text"},
    **{"pdf": "PDF", "page": "HTML page", "picture": "picture", "audio": "sound", "video": "video"},
    **{"markdown": "Markdown text", "drawing": "text", "plain": "text", "notebook": "text", "text": "text"},
}
"""What a file is opened as, by its suffix, or else by its kind (``kinds``). All others are ``other``."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about a file.

    ``measures``: whole numbers, or seconds, decibels and hertz as floats; only those that the kind of file has
    (``MEASURES`` names all). ``text``: what can be read in it, bounded; cells are separated by ``" | "``. ``shown``:
    what can be read in the picture, in three frames of the video, or in the pictures and charts of a document; only
    where it was asked for. ``look``: of a picture, or of a video's first frame, the brightness of 8 by 8 fields, two
    hexadecimal digits each. ``links``: where the links of a page lead. ``parsed``: the value that a JSON file holds.
    ``broken``: why it cannot be read, empty where it can.
    """

    name: str  # without folders
    kind: str  # of KINDS, or "other"
    bytes: int
    measures: Mapping[str, float] = field(default_factory=dict)
    text: str = ""
    shown: str = ""
    look: str = ""
    links: tuple[str, ...] = ()
    parsed: Json = None
    broken: str = ""


MEASURES: Mapping[str, str] = {
    "bytes": "size of the file",
    "pages": "pages of a PDF",
    "slides": "slides of a presentation",
    "sheets": "sheets of a workbook",
    "rows": (
        "rows with content, the heading included: of a CSV table, of the longest sheet, of all tables of a document or"
        " page"
    ),
    "columns": "columns of the widest row",
    "tables": "tables",
    "charts": "charts of a workbook, a presentation or a Word document, made with the program's own means",
    "pictures": "pictures in a document, a presentation, a workbook or a page",
    "drawings": (
        "lines and areas on the page of a PDF that has most of them; a chart that is no picture has 15 and more"
    ),
    "headings": "headings",
    "paragraphs": "paragraphs that are not empty",
    "links": "links of an HTML page that lead somewhere",
    "words": "words of the text",
    "lines": "lines that are not empty",
    "width": "of a picture or a video, in pixels",
    "height": "of a picture or a video, in pixels",
    "colours": "different colours of a picture, at most 65536",
    "seconds": "length of a sound or a video",
    "channels": "channels of a sound; of a video's sound, 0 without one",
    "rate": "samples a second",
    "loudness": "of a sound, in decibels below full scale (0); -120 is silence",
    "pitch": "strongest frequency of a sound, in hertz",
    "frames": "frames of a video",
    "members": "files in an archive",
}
"""Every measure, with what it counts."""


def facts(files: Sequence[Path], *, folder: Path, read: bool = False) -> list[Facts]:
    """The facts about each file, in order.

    ``folder``: an existing folder, where the child that looks at them gets a scratch folder. ``read``: also read the
    text in pictures and videos, and in pictures in documents, which takes a second a picture.

    Raises SandboxFault if the child cannot be started, and UsageProblem if this machine cannot confine it; a problem of
    a file is in its ``broken``.
    """
    known = {path: _basic(path) for path in files}
    open_ = [path for path, found in known.items() if found.kind != "other" and not found.broken]
    for path in open_[MOST_FILES:]:
        known[path] = _broken(known[path], f"it was not looked at, because only the first {MOST_FILES} files are")
    first = {path: known[path] for path in open_[:MOST_FILES]}
    known |= _looked_at(first, folder, read, time.monotonic() + PATIENCE)
    return [known[path] for path in files]


def _basic(path: Path) -> Facts:
    kind = KINDS.get(suffix_of(path.name)) or KINDS.get(kind_of(path.name), "other")
    try:
        size = path.stat().st_size
    except OSError as error:
        return Facts(path.name, kind, 0, broken=f"there is no such file ({error.strerror})")
    return Facts(path.name, kind, size, {"bytes": size}, broken="" if size else "the file is empty")


def _looked_at(files: Mapping[Path, Facts], folder: Path, read: bool, deadline: float) -> dict[Path, Facts]:
    """All files in one child; where it fails, or they are too large together, each half in its own, so that one file
    does not take the others along."""
    if not files:
        return {}
    if time.monotonic() > deadline:
        late = "it was not looked at, because the files before it took too long"
        return {path: _broken(basic, late) for path, basic in files.items()}
    if len(files) == 1 or sum(basic.bytes for basic in files.values()) <= TOGETHER:
        try:
            return _ask(files, folder, read)
        except DataProblem as problem:
            if len(files) == 1:
                return {path: _broken(basic, str(problem)) for path, basic in files.items()}
    items, half = list(files.items()), len(files) // 2
    halves = (_looked_at(dict(part), folder, read, deadline) for part in (items[:half], items[half:]))
    return {path: found for part in halves for path, found in part.items()}


def _ask(files: Mapping[Path, Facts], folder: Path, read: bool) -> dict[Path, Facts]:
    """What one child says of the files. Raises DataProblem where it fails."""
    known, asked, named = dict(files), [], []
    with sandbox.scratch_folder(folder) as scratch:
        for number, (path, basic) in enumerate(files.items()):
            own = scratch / str(number)
            own.mkdir()
            try:
                copy(path, own / path.name)
            except Unfit as unfit:
                known[path] = _broken(basic, str(unfit))
                continue
            asked.append(path)
            named.append({"path": f"{number}/{path.name}", "kind": basic.kind})
        if not named:
            return known
        order, ahead = {"files": named, "read": read}, (*AHEAD, *READER) if read else AHEAD
        answer = run_child(CHILD, order, folder=scratch, ahead=ahead, keep=False, seconds=SECONDS)
    if not isinstance(answer, list) or len(answer) != len(asked) or not all(isinstance(one, dict) for one in answer):
        raise DataProblem("the program that looked at it gave an answer of another form")
    return known | {path: _merged(files[path], one) for path, one in zip(asked, answer, strict=True)}


def _merged(basic: Facts, answer: Mapping[str, Json]) -> Facts:
    """The child's answer, taken only where it has the form it should have: what it read is as untrusted as the file."""
    broken = answer.get("broken")
    if isinstance(broken, str) and broken:
        return _broken(basic, broken)
    given, links = answer.get("measures"), answer.get("links")
    measures = {
        name: value
        for name, value in (given if isinstance(given, dict) else {}).items()
        if name in MEASURES and isinstance(value, int | float) and not isinstance(value, bool)
    }
    texts = {name: answer[name] for name in ("text", "shown", "look") if isinstance(answer.get(name), str)}
    return replace(
        basic,
        measures={**measures, **basic.measures},
        links=tuple(link for link in links if isinstance(link, str)) if isinstance(links, list) else (),
        parsed=answer.get("parsed"),
        **texts,
    )


def _broken(basic: Facts, reason: str) -> Facts:
    return replace(basic, broken=reason)
