"""Conversion of delivered files into what a judge can see, in the sandbox (GTA-Workflow spec 3.2; ARCHITECTURE, 8).

A deliverable is as untrusted as the code that made it. Each conversion sees a copy of it in a folder of its own, with
limits of time, memory and disk; what it leaves there is taken only where it is a regular file of the right kind.
A failure is returned, never raised.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgauge import sandbox
from agentgauge.core.errors import DataProblem, ToolError
from bench_gta.workflow.judging.parts import Shown
from bench_gta.workflow.rendering import programs
from bench_gta.workflow.rendering.confined import Ended, run_child
from bench_gta.workflow.rendering.kinds import DOCUMENTS, SHEETS, SLIDES, Kind, kind_of
from bench_gta.workflow.rendering.programs import Program
from bench_gta.workflow.rendering.sources import Source, Unfit, opened, take
from tool_impls.documents.plain_text import decode

CHILD = "bench_gta.workflow.rendering.convert_child"
SECONDS = 60.0  # of wall time, of whatever is not named in LONGER
LONGER = {"upstream video": 300.0, "video": 120.0}  # an hour of film takes minutes
MEMORY = 2048  # MiB
LARGEST_RESULT = 48 << 20  # bytes of a PDF or picture that was made
MOST_TEXT = 20_000  # characters of a text that are shown
MOST_RESULTS = 2_000  # files that one conversion may give

MAGIC = {".pdf": b"%PDF-", ".png": b"\x89PNG\r\n\x1a\n", ".webp": b"RIFF"}
MAGIC |= dict.fromkeys((".jpg", ".jpeg"), b"\xff\xd8\xff")
_RESULT = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)

Attempt = Callable[[Source, Path], Shown]
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
        self._done: dict[tuple[str, str, int], Shown] = {}
        self._lock = threading.Lock()

    def to_pdf(self, path: str) -> str | None:
        """A PDF of an HTML, text, Markdown or JSON file; None where that fails."""
        return next(iter(self.show(path, 1).files), None)

    def frames(self, path: str) -> list[str]:
        """One frame for each 2.5 s of a video, in order; none where that fails."""
        return list(self.show(path, 0).files)

    def show(self, path: str, max_frames: int) -> Shown:
        """The shown form of a file."""
        with self._lock:
            shown = self._once(Path(path), max_frames)
        self.notes[path] = shown.note or shown.why
        return shown

    def _once(self, path: Path, most: int) -> Shown:
        try:
            source = take(path)
        except Unfit as problem:
            return Shown(why=str(problem))
        key = (source.digest, source.name, most)
        if key not in self._done:
            self._done[key] = self._made(source, most)
        return self._done[key]

    def _made(self, source: Source, most: int) -> Shown:
        """What the first attempt gives that works, else the last one's reason."""
        kind = kind_of(source.name)
        why = f"no program is here that opens {source.path.suffix.lower()} files; LibreOffice would"
        for attempt in self._attempts(kind, source, most):
            with sandbox.scratch_folder(self._scratch) as folder:
                try:
                    return attempt(source, folder)
                except (Unfit, DataProblem) as problem:
                    why = str(problem)
                    self.troubled = self.troubled or isinstance(problem, Ended)
        return Shown(why=why)

    def _attempts(self, kind: Kind, source: Source, most: int) -> Iterator[Attempt]:
        """What can be tried, the best first."""
        if kind in ("text", ""):
            yield _plain_text
            return
        if kind == "notebook":
            yield _notebook
            return
        pages = ("page", "plain", "markdown") if self._upstream else ("page",)
        if kind in pages and (program := programs.wkhtmltopdf()):
            yield lambda source, folder: self._by_wkhtmltopdf(program, source, folder, most)
        office = programs.office()
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

    def _child(self, work: str, most: int) -> Attempt:
        """An attempt by a child of ours."""

        def attempt(source: Source, folder: Path) -> Shown:
            companions = source.copy_to(folder)
            answer = _asked(work, source, folder, max_frames=most, companions=companions)
            return self._with_source(source, self._taken(answer, source, folder, most))

        return attempt

    def _by_office(self, program: Program, source: Source, folder: Path, most: int) -> Shown:
        source.copy_to(folder)
        before = self._taken(_asked("before office", source, folder), source, folder, most)
        drawing = kind_of(source.name) == "drawing"
        made = (folder / source.name).with_suffix(".png" if drawing else ".pdf")
        result = programs.run_office(program, folder / source.name, made.suffix[1:])
        if result.status not in ("ok", "error"):
            raise Ended(f"LibreOffice was ended: {result.reason}")
        if not made.is_file():
            raise Unfit(f"LibreOffice cannot convert it: {result.reason or _line(result.stderr) or 'no reason given'}")
        answer: Any = {"files": [made.name], "note": "SVG drawing, shown as PNG made by LibreOffice"}
        if not drawing:
            answer = _asked("after office", source, folder, made=str(made), text=before.text)
        return self._with_source(source, self._taken(answer, source, folder, most))

    def _by_wkhtmltopdf(self, program: Program, source: Source, folder: Path, most: int) -> Shown:
        source.copy_to(folder)
        made = folder / "page.pdf"
        # Scripts cannot do harm in there. Upstream runs them; else pages are shown as every other program here shows
        # them.
        result = programs.run_wkhtmltopdf(program, folder / source.name, made, scripts=self._upstream)
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

    def _taken(self, answer: Any, source: Source, folder: Path, most: int) -> Shown:
        """A child's answer, its files checked and kept. Raises Unfit for a refusal and for an unknown shape."""
        fields = answer if isinstance(answer, dict) else {}
        if fields.get("why"):
            raise Unfit(_line(str(fields["why"])))
        names = fields.get("files", [])
        if not isinstance(names, list) or len(names) > MOST_RESULTS or not isinstance(fields.get("note"), str):
            raise Unfit("the program that looked at it gave no answer that is understood")
        files = tuple(self._kept(folder, name, source, most) for name in names)
        texts = {name: str(fields.get(name, ""))[: 10 * MOST_TEXT] for name in ("text", "instead")}
        return Shown(files, _line(fields["note"]), **texts)

    def _kept(self, folder: Path, name: Any, source: Source, most: int) -> str:
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

    def _with_source(self, source: Source, shown: Shown) -> Shown:
        """For a page its source beside it: no program here shows what a browser does, and no scripts have run."""
        if self._upstream or kind_of(source.name) != "page":
            return shown
        try:
            return replace(shown, note=f"{shown.note}; its source follows", text=_read(source))
        except Unfit:
            return shown


def _asked(work: str, source: Source, folder: Path, **more: Any) -> Any:
    """The answer of a child of ours about the source's copy in the folder. Raises DataProblem."""
    order = {"do": work, "source": str(folder / source.name), "folder": str(folder), **more}
    return run_child(CHILD, order, folder=folder, seconds=LONGER.get(work, SECONDS), memory_mb=MEMORY)


def _plain_text(source: Source, folder: Path) -> Shown:
    drawing = "SVG drawing, shown as its source; " if kind_of(source.name) == "drawing" else ""
    return Shown(note=f"{drawing}text, {source.size:,} bytes", text=_read(source))


def _notebook(source: Source, folder: Path) -> Shown:
    """The cells of a Jupyter notebook; the file as it is where it is none."""
    with opened(source.path) as stream:
        data = stream.read(16 << 20)
    try:
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(data)["cells"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return _plain_text(source, folder)
    text = "\n\n".join(f"[{kind}]\n{content}" for kind, content in cells)
    return Shown(note=f"notebook of {len(cells)} cells, shown without its outputs", text=_cut(text))


def _read(source: Source) -> str:
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
