"""Looks at files, inside the sandbox: ``facts`` starts it and documents what it answers (GTA-Workflow spec 3.2,
"Ours").

Order: ``{"files": [{"path", "kind"}], "read": bool}``. Answer: a list with, for each file, ``measures``, ``text``,
``shown``, ``look``, ``links`` and ``parsed``, or ``broken`` with the reason.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from agentgauge.core.errors import AgentGaugeError
from bench_gta.workflow.facts import drawn as facts_drawn
from bench_gta.workflow.facts import media as facts_media
from bench_gta.workflow.facts.page import Page
from bench_gta.workflow.facts.sheets import read_sheets
from tool_impls.documents.guard import check_office, check_size, reading
from tool_impls.documents.read_office import ReadDOCX, ReadPPTX
from tool_impls.documents.read_pdf import PAGES, ReadPDF, count_pages
from tool_impls.documents.read_tables import decode
from tool_impls.documents.words import gathered
from tool_impls.settings import ToolSettings

LONGEST = 200_000  # characters of a file's text
MOST_TEXT = 64 * 2**20  # bytes of a text file
PICTURE = "{http://schemas.openxmlformats.org/presentationml/2006/main}pic"
WORD_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
BETWEEN = " | "  # cells, so that numbers beside each other stay two

Found = dict[str, Any]


def main() -> None:
    answer = os.dup(1)
    os.dup2(2, 1)  # what libraries print must not spoil the answer
    order = json.load(sys.stdin)
    found = [look(Path(file["path"]), file["kind"], read=order["read"]) for file in order["files"]]
    with os.fdopen(answer, "w", encoding="utf-8") as stream:
        json.dump(found, stream, ensure_ascii=True)


def look(path: Path, kind: str, *, read: bool) -> Found:
    """The facts about a file of a kind of ``facts.KINDS``; ``{"broken": reason}`` if it cannot be read."""
    try:
        check_size(path)
        if kind in ("picture", "video"):
            return (facts_media.picture if kind == "picture" else facts_media.video)(path, read=read)
        found = READERS[kind](path)
        if read and kind in facts_drawn.READERS:
            found["shown"] = gathered([facts_drawn.READERS[kind](path)], LONGEST)
    except AgentGaugeError as error:
        return {"broken": str(error)}
    if "text" in found:
        found["text"] = gathered([found["text"]], LONGEST)
        found["measures"] = {"words": len(found["text"].split()), **found.get("measures", {})}
    return found


def _pdf(path: Path) -> Found:
    import pypdf

    settings = ToolSettings(tables={"ReadPDF": {"limit": LONGEST}})
    text = ReadPDF(settings).apply(path.parent, path)
    with reading("a PDF"), path.open("rb") as stream:
        reader = pypdf.PdfReader(stream)
        if reader.is_encrypted:
            reader.decrypt("")
        pages = count_pages(reader, PAGES.default)
        looked_at = list(islice(reader.pages, facts_drawn.MOST_PAGES))
        pictures = sum(len(page.images) for page in looked_at)
        drawings = max((facts_drawn.drawn_on(page)[0] for page in looked_at), default=0)
    measures = {"pages": pages, "pictures": pictures, "drawings": drawings, "lines": _lines(text)}
    return {"text": text, "measures": measures}


def _docx(path: Path) -> Found:
    import docx

    text = ReadDOCX(ToolSettings(tables={"ReadDOCX": {"limit": LONGEST, "tables": True}})).apply(path.parent, path)
    with reading("a DOCX document"), path.open("rb") as stream:
        document = docx.Document(stream)
        filled = [paragraph for paragraph in document.paragraphs if paragraph.text.strip()]
        styles = [paragraph.style.name if paragraph.style else "" for paragraph in filled]
        rows = [len(row.xpath("./w:tc")) for row in document.element.body.xpath("./w:tbl/w:tr")]
        measures = {
            "paragraphs": len(styles),
            "headings": sum(str(style).startswith(("Heading", "Title")) for style in styles),
            "tables": len(document.tables),
            "rows": len(rows),
            "columns": max(rows, default=0),
            "charts": facts_drawn.charts_of(path),
            "pictures": len(document.element.body.findall(f".//{WORD_PICTURE}")),
        }
    return {"text": text, "measures": measures}


def _pptx(path: Path) -> Found:
    import pptx

    table = {"limit": LONGEST, "groups": True, "tables": True, "notes": True}
    text = ReadPPTX(ToolSettings(tables={"ReadPPTX": table})).apply(path.parent, path)
    with reading("a PPTX presentation"), path.open("rb") as stream:
        slides = pptx.Presentation(stream).slides
        shapes = [shape for slide in slides for top in slide.shapes for shape in _with_members(top)]
        measures = {
            "slides": len(slides),
            "pictures": sum(shape.element.tag == PICTURE for shape in shapes),  # also those that fill a placeholder
            "tables": sum(getattr(shape, "has_table", False) for shape in shapes),
            "charts": sum(getattr(shape, "has_chart", False) for shape in shapes),
            "headings": sum(bool(title.text.strip()) for slide in slides if (title := slide.shapes.title) is not None),
        }
    return {"text": text, "measures": measures}


def _with_members(shape: Any) -> Iterator[Any]:
    """A shape, or those of a group."""
    if shape.element.tag.endswith("}grpSp"):
        for member in shape.shapes:
            yield from _with_members(member)
    else:
        yield shape


def _xlsx(path: Path) -> Found:
    check_office(path, "an XLSX workbook")
    lines: list[str] = []
    longest = widest = 0
    with reading("an XLSX workbook"):
        sheets = read_sheets(path)
        for title, cells in sheets.items():
            lines.append(f"{title}:")
            rows = [row for row in cells if any(cell not in (None, "") for cell in row)]
            longest = max(longest, len(rows))
            widest = max(widest, max(map(_filled, rows), default=0))
            lines += [BETWEEN.join("" if cell is None else str(cell) for cell in row) for row in rows]
    measures = {
        "sheets": len(sheets),
        "rows": longest,
        "columns": widest,
        "charts": facts_drawn.charts_of(path),
        "pictures": facts_drawn.pictures_of(path),
    }
    return {"text": gathered(lines, LONGEST), "measures": measures}


def _csv(path: Path) -> Found:
    text = _decoded(path)
    with reading("a CSV table"):
        delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(text)
        table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [row for row in table if any(cell.strip() for cell in row)]
    measures = {"rows": len(rows), "columns": max(map(_filled, rows), default=0)}
    return {"text": gathered((BETWEEN.join(row) for row in rows), LONGEST), "measures": measures}


def _delimiter(text: str) -> str:
    """Comma, or a semicolon where the first line has more of these: office programs of many countries write it."""
    first = text.partition("\n")[0]
    return ";" if first.count(";") > first.count(",") else ","


def _filled(row: Any) -> int:
    """Cells up to the last one that is not empty."""
    return max((place for place, cell in enumerate(row, start=1) if cell not in (None, "")), default=0)


def _html(path: Path) -> Found:
    page = Page()
    with reading("an HTML page"):
        page.feed(_decoded(path))
        page.close()
    return {"text": page.text(), "measures": page.measures(), "links": page.links()}


def _text(path: Path) -> Found:
    text = _decoded(path)
    return {"text": text, "measures": {"lines": _lines(text)}}


def _markdown(path: Path) -> Found:
    from tool_impls.documents import markdown

    text = _decoded(path)
    with reading("a Markdown text"):
        blocks = list(markdown.blocks(text[:LONGEST]))
    tables = [block for block in blocks if isinstance(block, markdown.Table)]
    measures = {
        "lines": _lines(text),
        "headings": sum(isinstance(block, markdown.Heading) for block in blocks),
        "pictures": sum(isinstance(block, markdown.Picture) for block in blocks),
        "tables": len(tables),
        "rows": sum(len(table.rows) for table in tables),
        "columns": max((len(table.rows[0]) for table in tables), default=0),
    }
    return {"text": text, "measures": measures}


def _json(path: Path) -> Found:
    text = _decoded(path)
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {"broken": f"it is not valid JSON ({str(error)[:100]})"}
    short = parsed if len(text) <= LONGEST else None
    return {"text": text, "parsed": short, "measures": {"lines": _lines(text)}}


def _zip(path: Path) -> Found:
    check_office(path, "a zip archive")
    with reading("a zip archive"), zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    return {"text": "\n".join(member.filename for member in members), "measures": {"members": len(members)}}


def _decoded(path: Path) -> str:
    with path.open("rb") as stream:
        return decode(stream.read(MOST_TEXT), "cp1252")


def _lines(text: str) -> int:
    return sum(1 for line in re.split(r"\r\n?|\n", text) if line.strip())


READERS: dict[str, Callable[[Path], Found]] = {
    "PDF": _pdf,
    "Word document": _docx,
    "presentation": _pptx,
    "workbook": _xlsx,
    "CSV table": _csv,
    "HTML page": _html,
    "sound": facts_media.sound,
    "JSON file": _json,
    "Markdown text": _markdown,
    "archive": _zip,
    "text": _text,
}


if __name__ == "__main__":
    main()
