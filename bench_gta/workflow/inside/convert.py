"""Converts one delivered file, inside the sandbox (docs/benchmarks/gta_workflow.md#files-for-the-judge). Started by
``confined.run_child`` only.

Standard input: ``{"do": one of WORK, "source": path, "folder": where results go, ...}``. Standard output: the fields of
``rendering.Shown``, its files as base names below ``folder``. What libraries print goes to standard error.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import ToolError
from agentgauge.core.types import Json
from bench_gta.workflow.inside import media
from bench_gta.workflow.inside.kinds import DOCUMENTS, SHEETS, SLIDES, kind_of
from tool_impls.documents.package import check_office, check_size, reading
from tool_impls.documents.pdf import PdfFileGenerator
from tool_impls.documents.plain_text import clean, decode
from tool_impls.documents.read_office import ReadDOCX, ReadPPTX
from tool_impls.documents.read_pdf import ReadPDF, opened_pdf
from tool_impls.documents.read_tables import ReadXLSX
from tool_impls.settings import ToolSettings

MOST_PAGES = 60  # of one document that are shown
MOST_COUNTED = 5_000  # pages; a longer file is not shown at all
MOST_TEXT = 20_000  # characters of a document's text, for endpoints that take no PDF
MOST_CONTENT, MOST_LINES = 200_000, 3_000  # characters and lines of a text that is made into a PDF: about MOST_PAGES
OURS = "AgentGauge's plain rendering"


def pdf(order: Mapping[str, Json]) -> Json:
    """The PDF itself, or its first MOST_PAGES pages, and its text. Raises ToolError for one that cannot be read."""
    return finished(Path(order["source"]), "PDF")


def plain(order: Mapping[str, Json]) -> Json:
    """A text or JSON file as a PDF, as it is written. Raises ToolError."""
    text, cut = content(Path(order["source"]))
    if not order["source"].endswith(".json"):
        return finished(made_pdf(order, text), f"text file{cut}, shown as a PDF made by {OURS}", text)
    spread, cut_now = bounded(_indented(text))
    note = f"JSON file{cut or cut_now}, shown as a PDF made by {OURS}"
    return finished(made_pdf(order, fenced(spread), markdown=True), note, text)


def marked(order: Mapping[str, Json]) -> Json:
    """A Markdown file as a PDF, with pictures that lie beside it. Raises ToolError."""
    text, cut = content(Path(order["source"]))
    return finished(made_pdf(order, text, markdown=True), f"Markdown file{cut}, shown as a PDF made by {OURS}", text)


def page(order: Mapping[str, Json]) -> Json:
    """The text of an HTML page as a PDF, without its layout: headings, lists, tables, pictures. Raises ToolError."""
    from bench_gta.workflow.inside.html import as_markdown

    text, cut = content(Path(order["source"]))
    markdown, cut_now = bounded(as_markdown(text))
    note = f"HTML page{cut or cut_now}, shown as a PDF made by {OURS}; its layout and colours are not shown"
    return finished(made_pdf(order, markdown, markdown=True), note, text)


def content(path: Path) -> tuple[str, str]:
    """The text of a file as ``bounded`` gives it. Raises ToolError."""
    check_size(path)
    text = clean(decode(path.read_bytes()))
    if not text.strip():
        raise ToolError("the file holds no text")
    return bounded(text)


def bounded(text: str) -> tuple[str, str]:
    """The text cut to MOST_CONTENT characters and MOST_LINES lines, and a note if it was cut."""
    lines = text[:MOST_CONTENT].split("\n", MOST_LINES)
    if len(lines) > MOST_LINES:
        return "\n".join(lines[:MOST_LINES]), f" (only its first {MOST_LINES:,} lines)"
    return text[:MOST_CONTENT], f" (only its first {MOST_CONTENT:,} characters)" if len(text) > MOST_CONTENT else ""


def made_pdf(order: Mapping[str, Json], text: str, *, markdown: bool = False) -> Path:
    """A PDF of plain text or Markdown, with the pictures of ``companions``. Raises ToolError."""
    companions = {name: Path(path) for name, path in order.get("companions", {}).items()}
    maker = PdfFileGenerator(ToolSettings(released=False, tables={}))
    name = Path(order["source"]).stem
    with reading("a text that can be set"):
        return maker.apply(Path(order["folder"]), text, f"{name}.made.pdf", render_markdown=markdown, files=companions)


def fenced(text: str) -> str:
    """The text as a block of code in Markdown."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{text}\n{fence}"


def finished(path: Path, note: str, text: str | None = None) -> Json:
    """The answer for a PDF: its first MOST_PAGES pages, ``note`` with their number, its text if none is given. Raises
    ToolError."""
    import pypdf

    settings = ToolSettings(released=False, tables={"ReadPDF": {"pages": MOST_COUNTED, "limit": MOST_TEXT}})
    shown = ReadPDF(settings).apply(path.parent, path)
    with opened_pdf(path, MOST_COUNTED) as reader:
        pages = len(reader.pages)
        if pages > MOST_PAGES:
            writer = pypdf.PdfWriter()
            for number in range(MOST_PAGES):
                writer.add_page(reader.pages[number])
            path = path.with_name("first_pages.pdf")
            writer.write(path)
    many = f"{pages} page{'s' * (pages > 1)}"
    if pages > MOST_PAGES:
        many = f"{many}, of which the first {MOST_PAGES} are shown"
    if text is not None and len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}\n[cut here: only the first {MOST_TEXT:,} characters are shown]"
    return {"files": [path.name], "note": f"{note}; {many}", "instead": shown if text is None else text}


def _indented(text: str) -> str:
    """JSON with a line for each value; as it is where that is no JSON."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


TOOLS: Mapping[str, Any] = {
    **dict.fromkeys(DOCUMENTS, ReadDOCX),
    **dict.fromkeys(SLIDES, ReadPPTX),
    **dict.fromkeys(SHEETS, ReadXLSX),
}
ARCHIVES = (*TOOLS, ".xlsb", ".odt", ".odp", ".ods")  # zip archives of XML
MOST_OFFICE_TEXT = 100_000  # characters of a document that is shown by its text only
MOST_VALUES = 20_000  # characters of a workbook's values beside its PDF


def before_office(order: Mapping[str, Json]) -> Json:
    """Check a file that LibreOffice is to open. ``text``: a page's source, a workbook's values. Raises ToolError."""
    path, text = Path(order["source"]), ""
    match kind_of(path.name):
        case "page":
            text, _ = content(path)
        case "drawing":
            _check_drawing(path)
        case _:
            _check(path)
            if path.suffix in SHEETS:
                text = _office_text(path, MOST_VALUES)
    return {"note": "", "text": text}


def after_office(order: Mapping[str, Json]) -> Json:
    """The PDF ``made`` of an office file or a page, with the ``text`` of ``before_office``. Raises ToolError."""
    path, made, text = Path(order["source"]), Path(order["made"]), order["text"]
    if kind_of(path.name) == "page":
        lacking = "which shows less of the layout than a browser and runs no scripts"
        return finished(made, f"HTML page, shown as a PDF made by LibreOffice, {lacking}", text)
    values = ", its values also as text" if text else ""
    note = f"{path.suffix[1:].upper()} file, shown as a PDF made by LibreOffice{values}"
    return {**finished(made, note, text or None), "text": text}


def _check_drawing(path: Path) -> None:
    """Raises ToolError for what is no plain SVG drawing."""
    text, _ = content(path)
    if not re.search(r"<(\w+:)?svg[\s>]", text):
        raise ToolError("the file is no SVG drawing")
    if "<!ENTITY" in text:
        raise ToolError("the drawing declares entities, which are not read")


def office_text(order: Mapping[str, Json]) -> Json:
    """The text of a document, a presentation or a workbook as a PDF. Raises ToolError."""
    path = Path(order["source"])
    text, cut = bounded(_office_text(path, MOST_OFFICE_TEXT))
    if not text.strip():
        raise ToolError("the document holds no text, and no program is here that shows more of it")
    sheet = path.suffix in SHEETS
    made = made_pdf(order, fenced(text) if sheet else text, markdown=sheet)
    note = (
        f"{path.suffix[1:].upper()} file, shown by its text only as a PDF{cut}; its layout and pictures are not shown"
    )
    return finished(made, note, text)


def _office_text(path: Path, most: int) -> str:
    """What the file says, cut to so many characters. Raises ToolError."""
    reader = TOOLS[path.suffix]
    settings = ToolSettings(released=False, tables={reader.meta.name: {"limit": most}})
    return str(reader(settings).apply(path.parent, **{reader.meta.inputs[0].name: path}))


def _check(path: Path) -> None:
    """Raises ToolError for what no honest office file is: bombs, lies about sizes, entities."""
    if path.suffix in ARCHIVES:
        check_office(path, f"a file of the kind {path.suffix[1:].upper()}")
    else:
        check_size(path)


MOST_LISTED = 300  # members that are listed
MOST_MEMBERS = 20_000  # members that are looked at


def archive(order: Mapping[str, Json]) -> Json:
    """``text``: a line per member with its bytes; ``note``: kind and number of members. Raises ToolError."""
    path = Path(order["source"])
    check_size(path)
    kind, members = _members(path)
    lines: list[str] = []
    count = total = 0
    for name, size in members:
        count += 1
        total += size
        if count <= MOST_LISTED:
            lines.append(f"{clean(name)[:300]!r}: {size:,} bytes")
        if count == MOST_MEMBERS:
            break
    many = f"{count:,} or more" if count == MOST_MEMBERS else f"{count:,}"
    if count > MOST_LISTED:
        lines.append(f"[only the first {MOST_LISTED} are listed]")
    return {
        "note": f"{kind} archive of {many} members, {total:,} bytes when unpacked; only listed, not unpacked",
        "text": "\n".join(lines),
    }


def _members(path: Path) -> tuple[str, Iterator[tuple[str, int]]]:
    if zipfile.is_zipfile(path):
        return "ZIP", _zip(path)
    try:
        file = tarfile.open(path)  # noqa: SIM115 - read to its end by the caller, in a process that ends then
    except (tarfile.TarError, OSError, EOFError, ValueError):
        raise ToolError("the file is no archive that can be read: it is damaged, or no ZIP or TAR") from None
    return "TAR", _tar(file)


def _zip(path: Path) -> Iterator[tuple[str, int]]:
    try:
        with zipfile.ZipFile(path) as file:
            yield from ((member.filename, member.file_size) for member in file.infolist())
    except (zipfile.BadZipFile, NotImplementedError, UnicodeError, ValueError, OSError):
        raise ToolError("the file is no ZIP archive that can be read: its directory is damaged") from None


def _tar(file: tarfile.TarFile) -> Iterator[tuple[str, int]]:
    try:
        yield from ((member.name, member.size) for member in file)
    except (tarfile.TarError, OSError, EOFError, ValueError):
        raise ToolError("the file is no TAR archive that can be read: it is damaged or cut off") from None


WORK: Mapping[str, Callable[[Mapping[str, Json]], Json]] = {
    "pdf": pdf,
    "page": page,
    "markdown": marked,
    "plain": plain,
    "before office": before_office,
    "after office": after_office,
    "office text": office_text,
    "picture": media.shown_picture,
    "video": media.shown_video,
    "upstream video": media.upstream_video,
    "audio": media.shown_audio,
    "archive": archive,
}


def main() -> None:
    answer = os.dup(1)
    os.dup2(2, 1)
    order = json.load(sys.stdin)
    try:
        result = WORK[order["do"]](order)
    except ToolError as error:
        result = {"why": str(error)}
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
