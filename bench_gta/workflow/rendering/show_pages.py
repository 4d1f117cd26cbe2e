"""PDFs looked at and made from text, Markdown and HTML (GTA-Workflow spec 3.2). Runs in the sandbox only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from agentgauge.core.errors import ToolError
from agentgauge.core.types import Json
from tool_impls.documents.guard import check_size, reading
from tool_impls.documents.pdf import PdfFileGenerator
from tool_impls.documents.plain_text import decode
from tool_impls.documents.read_pdf import ReadPDF, opened_pdf
from tool_impls.documents.words import clean
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
    from bench_gta.workflow.rendering.html_text import as_markdown

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
