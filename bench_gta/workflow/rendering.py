"""Delivered files as parts of a judge's request, and their conversion in the sandbox into what a judge can see
(docs/benchmarks/gta_workflow.md#files-for-the-judge; docs/security.md#files-servers-and-secrets).

A deliverable is as untrusted as the code that made it. Each conversion sees a copy of it in a folder of its own, with
limits of time, memory and disk; what it leaves there is taken only where it is a regular file of the right kind.
A failure is returned, never raised.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Protocol

from agentgauge import sandbox
from agentgauge.agent.framing import quoted
from agentgauge.core.errors import DataProblem, ToolError
from agentgauge.core.types import Json
from bench_gta.workflow import confined
from bench_gta.workflow.confined import ChildEnded, DeliveredFile, Program, Unfit, opened, run_child, take
from bench_gta.workflow.inside.kinds import DOCUMENTS, SHEETS, SLIDES, Kind, kind_of
from tool_impls.documents.plain_text import decode

JudgePart = dict[str, Any]
"""``{"type": "text", "text"}``, or ``{"type": "local_file", "kind": "image"|"file", "path", "name", "instead"}``: a
file to send.

``path`` is absolute. ``name``: the name that the judge is given. ``instead``: the text that is sent where the
endpoint refuses the file; empty: nothing is.
"""

PDF, IMAGES = (".pdf",), (".png", ".jpg", ".jpeg", ".webp")
SOUNDS, VIDEOS, PAGES = (".mp3", ".wav", ".m4a"), (".mp4", ".mov", ".webm"), (".html", ".txt", ".md", ".json")
"""The table of docs/benchmarks/gta_workflow.md#files-for-the-judge; files of other suffixes are dropped upstream."""

MOST_FILES = 50  # shown to the judge; more are only named
MOST_TEXT_IN_ALL = 120_000  # characters of all texts of files together
MOST_NAMED = 200  # files in the closing list

UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ShownFile:
    """The form in which one file is shown.

    ``files``: absolute paths of PDFs and pictures that stand for it. ``note``: what it is, for the judge. ``text``:
    content shown as text. ``instead``: the text of ``files``, for endpoints that refuse them. ``why``: why nothing can
    be shown, else empty.
    """

    files: tuple[str, ...] = ()
    note: str = ""
    text: str = ""
    instead: str = ""
    why: str = ""


class Converter(Protocol):
    """Converts files into forms that judges accept. All calls block; a failure raises no exception."""

    def to_pdf(self, path: str) -> str | None:
        """A PDF of an HTML, text, Markdown or JSON file; None if that fails."""

    def frames(self, path: str) -> list[str]:
        """Pictures of a video, one every 2.5 s, in order; none if that fails."""

    def show(self, path: str, max_frames: int) -> ShownFile:
        """The shown form of any file; of a moving picture at most ``max_frames``."""


def flatten(attached: Json) -> list[str]:
    """The paths in a sample's list of files, in order and with repeats
    (docs/benchmarks/gta_workflow.md#files-for-the-judge). Texts are trimmed; blanks, nulls and numbers are left out.
    Raises DataProblem for an object without a ``path``."""
    if isinstance(attached, str):
        return [attached.strip()] if attached.strip() else []
    if isinstance(attached, list | tuple):
        return [path for item in attached for path in flatten(item)]
    if isinstance(attached, dict):
        path = attached.get("path")
        if not isinstance(path, str):
            shown = str(attached)[:80]
            raise DataProblem(f"attached_files holds an object without a path, {shown}; give its path as text")
        return flatten(path)
    return []


def upstream_parts(attached: Json, *, convert: Converter, upload: Callable[[str], bool]) -> list[JudgePart]:
    """The files as the released judge shows them, to the letter (docs/benchmarks/gta_workflow.md#files-for-the-judge).

    ``upload`` is asked for each file that upstream uploads, in order, and says whether that succeeded. A file that is
    missing, or that cannot be converted or uploaded, is dropped. Raises DataProblem as ``flatten``.
    """
    parts: list[JudgePart] = []
    for path in flatten(attached):
        if Path(path).is_file():
            parts += _upstream(path, convert, upload)
    return parts


def _upstream(path: str, convert: Converter, upload: Callable[[str], bool]) -> Iterator[JudgePart]:
    suffix = PurePath(path).suffix.lower()
    if suffix in PDF + IMAGES:
        if upload(path):
            yield _file_part(path, PurePath(path).name)
    elif suffix in SOUNDS:
        # QUIRK (docs/benchmarks/gta_workflow.md#files-for-the-judge): it is uploaded, though only its name is ever sent
        if upload(path):
            yield _text_part(f"[Attached audio file exists: {PurePath(path).name}]")
    elif suffix in VIDEOS:
        if upload(path):
            yield from (_file_part(frame, PurePath(frame).name) for frame in convert.frames(path) if upload(frame))
    elif suffix in PAGES:
        made = convert.to_pdf(path)
        if made is not None and upload(made):
            yield _file_part(made, PurePath(made).name)
    # QUIRK (docs/benchmarks/gta_workflow.md#files-for-the-judge): whatever else is there is dropped without telling the
    # judge


def extended_parts(files: Sequence[Path], *, convert: Converter, max_frames: int = 8) -> list[JudgePart]:
    """The files as shown by default (docs/benchmarks/gta_workflow.md#judges): each under its name; files that
    cannot be shown are named at the end.

    ``max_frames``: pictures of one video at most. At most MOST_FILES files and MOST_TEXT_IN_ALL characters are shown.
    """
    parts: list[JudgePart] = []
    unseen: list[tuple[str, str]] = []
    room = MOST_TEXT_IN_ALL
    names = shown_names(files)
    for name, file in zip(names[:MOST_FILES], files, strict=False):
        shown = convert.show(str(file), max_frames)
        if shown.why:
            unseen.append((name, shown.why))
            continue
        parts.append(_text_part(f"[File {name}: {shown.note}]"))
        for number, path in enumerate(shown.files, start=1):
            title = _title(name, path, number if len(shown.files) > 1 else 0)
            text = shown.instead if number == 1 else ""
            instead = _framed(name, text) if text else f"[{title} could not be sent to you]"
            parts.append(_file_part(path, title, instead))
        if shown.text:
            text = shown.text if len(shown.text) <= room else f"{shown.text[:room]}\n[cut here: too much text in all]"
            room -= min(len(shown.text), room)
            parts.append(_text_part(_framed(name, text)))
    unseen += [(name, f"only the first {MOST_FILES} files are shown") for name in names[MOST_FILES:]]
    if unseen:
        lines = [f"- {name}: {why}" for name, why in unseen[:MOST_NAMED]]
        if len(unseen) > MOST_NAMED:
            lines.append(f"- and {len(unseen) - MOST_NAMED} more")
        parts.append(_text_part("[Files that exist but could not be shown to you:]\n" + "\n".join(lines)))
    return parts


def shown_names(files: Sequence[Path]) -> list[str]:
    """The base name of each file; where several share one, with as much of the folder as they do not share. One line
    each."""
    bases = Counter(file.name for file in files)
    absolute = [os.path.abspath(file) for file in files]  # noqa: PTH100 - resolve() would follow links
    names = []
    for file, path in zip(files, absolute, strict=True):
        name = file.name
        if bases[name] > 1:
            folders = [PurePath(other).parent for other in absolute if PurePath(other).name == name]
            name = PurePath(path).relative_to(os.path.commonpath(folders)).as_posix()
        names.append(name)
    return [UNFIT.sub("\ufffd", name) for name in names]


def _title(name: str, path: str, number: int) -> str:
    """What a file is called that stands for the one of that name."""
    suffix = PurePath(path).suffix
    if number:
        return f"{name}, picture {number}"
    return name if name.lower().endswith(suffix) else name + suffix


def _framed(name: str, text: str) -> str:
    """Content that is not taken for a word to the judge."""
    return f"[File {name} as text, with > before each line:]\n{quoted(text)}\n[End of {name}]"


def _text_part(text: str) -> JudgePart:
    return {"type": "text", "text": text}


def _file_part(path: str, name: str, instead: str = "") -> JudgePart:
    kind = "file" if PurePath(path).suffix.lower() in PDF else "image"
    return {"type": "local_file", "kind": kind, "path": os.path.abspath(path), "name": name, "instead": instead}  # noqa: PTH100


CHILD = "bench_gta.workflow.inside.convert"
SECONDS = 60.0  # of wall time, of whatever is not named in LONGER
LONGER = {"upstream video": 300.0, "video": 120.0}  # an hour of film takes minutes
MEMORY = 2048  # MiB
LARGEST_RESULT = 48 << 20  # bytes of a PDF or picture that was made
MOST_TEXT = 20_000  # characters of a text that are shown
MOST_RESULTS = 2_000  # files that one conversion may give

MAGIC = {".pdf": b"%PDF-", ".png": b"\x89PNG\r\n\x1a\n", ".webp": b"RIFF"}
MAGIC |= dict.fromkeys((".jpg", ".jpeg"), b"\xff\xd8\xff")
_RESULT = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)

ConversionAttempt = Callable[[DeliveredFile, Path], ShownFile]
"""Shows a source that was copied to the folder. Raises Unfit or DataProblem with the reason why it cannot."""


class Conversions:
    """The converter of one task's files. Safe in any thread; one conversion runs at a time.

    ``scratch``: an existing folder for results, which must stay until they are sent. ``upstream``: with the released
    judge's program (wkhtmltopdf) for texts too, and scripts of pages run. Equal files are converted once. ``notes``:
    what each converted path became, and by which program; or why it did not. ``troubled``: a conversion was ended by a
    limit; on another machine, or at another time, it might not be. Nothing raises for a bad file; SandboxFault where
    the sandbox cannot start, UsageProblem where this machine has none.
    """

    def __init__(self, scratch: Path, *, upstream: bool) -> None:
        self.notes: dict[str, str] = {}
        self.troubled = False
        self._scratch = scratch.resolve()
        self._upstream = upstream
        self._done: dict[tuple[str, str, int], ShownFile] = {}
        self._lock = threading.Lock()

    def to_pdf(self, path: str) -> str | None:
        """A PDF of an HTML, text, Markdown or JSON file; None where that fails."""
        return next(iter(self.show(path, 1).files), None)

    def frames(self, path: str) -> list[str]:
        """One frame for each 2.5 s of a video, in order; none where that fails."""
        return list(self.show(path, 0).files)

    def show(self, path: str, max_frames: int) -> ShownFile:
        """The shown form of a file."""
        with self._lock:
            shown = self._once(Path(path), max_frames)
        self.notes[path] = shown.note or shown.why
        return shown

    def _once(self, path: Path, most: int) -> ShownFile:
        try:
            source = take(path)
        except Unfit as problem:
            return ShownFile(why=str(problem))
        key = (source.digest, source.name, most)
        if key not in self._done:
            self._done[key] = self._made(source, most)
        return self._done[key]

    def _made(self, source: DeliveredFile, most: int) -> ShownFile:
        """What the first attempt gives that works, else the last one's reason."""
        kind = kind_of(source.name)
        why = f"no program is here that opens {source.path.suffix.lower()} files; LibreOffice would"
        for attempt in self._attempts(kind, source, most):
            with sandbox.scratch_folder(self._scratch) as folder:
                try:
                    return attempt(source, folder)
                except (Unfit, DataProblem) as problem:
                    why = str(problem)
                    self.troubled = self.troubled or isinstance(problem, ChildEnded)
        return ShownFile(why=why)

    def _attempts(self, kind: Kind, source: DeliveredFile, most: int) -> Iterator[ConversionAttempt]:
        """What can be tried, the best first."""
        if kind in ("text", ""):
            yield _plain_text
            return
        if kind == "notebook":
            yield _notebook
            return
        pages = ("page", "plain", "markdown") if self._upstream else ("page",)
        if kind in pages and (program := confined.wkhtmltopdf()):
            yield lambda source, folder: self._by_wkhtmltopdf(program, source, folder, most)
        office = confined.office()
        if kind in ("page", "office", "drawing") and office:
            yield lambda source, folder: self._by_office(office, source, folder, most)
        if kind == "office" and source.name.endswith((*DOCUMENTS, *SLIDES, *SHEETS)):
            yield self._child("office text", most)
        if kind == "drawing":
            yield _plain_text
        elif kind == "video" and self._upstream:
            yield self._child("upstream video", most)
        elif kind != "office":
            yield self._child(kind, most)

    def _child(self, work: str, most: int) -> ConversionAttempt:
        """An attempt by a child of ours."""

        def attempt(source: DeliveredFile, folder: Path) -> ShownFile:
            companions = source.copy_to(folder)
            answer = _asked(work, source, folder, max_frames=most, companions=companions)
            return self._with_source(source, self._taken(answer, source, folder, most))

        return attempt

    def _by_office(self, program: Program, source: DeliveredFile, folder: Path, most: int) -> ShownFile:
        source.copy_to(folder)
        before = self._taken(_asked("before office", source, folder), source, folder, most)
        drawing = kind_of(source.name) == "drawing"
        made = (folder / source.name).with_suffix(".png" if drawing else ".pdf")
        result = confined.run_office(program, folder / source.name, made.suffix[1:])
        if result.status not in ("ok", "error"):
            raise ChildEnded(f"LibreOffice was ended: {result.reason}")
        if not made.is_file():
            raise Unfit(f"LibreOffice cannot convert it: {result.reason or _line(result.stderr) or 'no reason given'}")
        answer: Any = {"files": [made.name], "note": "SVG drawing, shown as PNG made by LibreOffice"}
        if not drawing:
            answer = _asked("after office", source, folder, made=str(made), text=before.text)
        return self._with_source(source, self._taken(answer, source, folder, most))

    def _by_wkhtmltopdf(self, program: Program, source: DeliveredFile, folder: Path, most: int) -> ShownFile:
        source.copy_to(folder)
        made = folder / "page.pdf"
        # Scripts cannot do harm in there. Upstream runs them; else pages are shown as every other program here shows
        # them.
        result = confined.run_wkhtmltopdf(program, folder / source.name, made, scripts=self._upstream)
        self.troubled = self.troubled or result.status not in ("ok", "error")
        # It also ends with an error where a picture on the web is missing, and has made the PDF all the same.
        if not made.is_file() or result.status not in ("ok", "error"):
            raise Unfit(f"wkhtmltopdf failed: {result.reason or 'it made no PDF'}")
        answer: dict[str, Any] = {"files": ["page.pdf"], "note": "PDF"}
        if not self._upstream:
            order = {"do": "pdf", "source": str(made), "folder": str(folder)}
            answer = run_child(CHILD, order, folder=folder, seconds=SECONDS, memory_mb=MEMORY)
        shown = self._taken(answer, source, folder, most)
        note = f"{source.path.suffix[1:].upper()} file, shown as a {shown.note}, made by wkhtmltopdf"
        return self._with_source(source, replace(shown, note=note))

    def _taken(self, answer: Any, source: DeliveredFile, folder: Path, most: int) -> ShownFile:
        """A child's answer, its files checked and kept. Raises Unfit for a refusal and for an unknown shape."""
        fields = answer if isinstance(answer, dict) else {}
        if fields.get("why"):
            raise Unfit(_line(str(fields["why"])))
        names = fields.get("files", [])
        if not isinstance(names, list) or len(names) > MOST_RESULTS or not isinstance(fields.get("note"), str):
            raise Unfit("the program that looked at it gave no answer that is understood")
        files = tuple(self._kept(folder, name, source, most) for name in names)
        texts = {name: str(fields.get(name, ""))[: 10 * MOST_TEXT] for name in ("text", "instead")}
        return ShownFile(files, _line(fields["note"]), **texts)

    def _kept(self, folder: Path, name: Any, source: DeliveredFile, most: int) -> str:
        """A result copied to where it stays. Raises Unfit for a link, another kind of file and a large one."""
        if not isinstance(name, str) or not _RESULT.fullmatch(name):
            raise Unfit("the program that looked at it gave a file of a wrong name")
        place = self._scratch / f"{source.digest[:20]}-{most}"
        place.mkdir(exist_ok=True)
        with opened(folder / name) as stream:
            content = stream.read(LARGEST_RESULT + 1)
        suffix = Path(name).suffix
        if len(content) > LARGEST_RESULT:
            raise Unfit(f"as {suffix[1:].upper()} it has more than {LARGEST_RESULT >> 20} MB")
        if suffix not in MAGIC or not content.startswith(MAGIC[suffix]):
            raise Unfit(f"what was made of it is no {suffix[1:].upper()}")
        target = place / (f"{Path(source.name).stem}{suffix}" if suffix == ".pdf" else name)
        target.write_bytes(content)
        return str(target)

    def _with_source(self, source: DeliveredFile, shown: ShownFile) -> ShownFile:
        """For a page its source beside it: no program here shows what a browser does, and no scripts have run."""
        if self._upstream or kind_of(source.name) != "page":
            return shown
        try:
            return replace(shown, note=f"{shown.note}; its source follows", text=_read(source))
        except Unfit:
            return shown


def _asked(work: str, source: DeliveredFile, folder: Path, **more: Any) -> Any:
    """The answer of a child of ours about the source's copy in the folder. Raises DataProblem."""
    order = {"do": work, "source": str(folder / source.name), "folder": str(folder), **more}
    return run_child(CHILD, order, folder=folder, seconds=LONGER.get(work, SECONDS), memory_mb=MEMORY)


def _plain_text(source: DeliveredFile, folder: Path) -> ShownFile:
    drawing = "SVG drawing, shown as its source; " if kind_of(source.name) == "drawing" else ""
    return ShownFile(note=f"{drawing}text, {source.size:,} bytes", text=_read(source))


def _notebook(source: DeliveredFile, folder: Path) -> ShownFile:
    """The cells of a Jupyter notebook; the file as it is where it is none."""
    with opened(source.path) as stream:
        data = stream.read(16 << 20)
    try:
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(data)["cells"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return _plain_text(source, folder)
    text = "\n\n".join(f"[{kind}]\n{content}" for kind, content in cells)
    return ShownFile(note=f"notebook of {len(cells)} cells, shown without its outputs", text=_cut(text))


def _read(source: DeliveredFile) -> str:
    """The beginning of a text. Raises Unfit where it is none."""
    with opened(source.path) as stream:
        data = stream.read(8 * MOST_TEXT)
    if len(data) == 8 * MOST_TEXT:  # the last line may be cut within a character
        data = data[: data.rfind(b"\n") + 1] or data
    try:
        return _cut(decode(data).replace("\r\n", "\n"))
    except ToolError:
        raise Unfit("its kind is not known, and it is no text") from None


def _line(text: str) -> str:
    """A child's words as one line: it may have been taken over by what it looked at."""
    return " ".join(text.split())[:500]


def _cut(text: str) -> str:
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}\n[cut here: only the first {MOST_TEXT:,} characters are shown]"
