"""Looks at files, inside the sandbox: ``facts`` starts it and documents what it answers (GTA-Workflow spec 3.2,
"Ours").

Order: ``{"files": [{"path", "kind"}], "read": bool}``. Answer: a list with, for each file, ``measures``, ``text``,
``shown``, ``look``, ``links`` and ``parsed``, or ``broken`` with the reason.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from agentgauge.core.errors import AgentGaugeError
from agentgauge.core.text import parse_json
from bench_gta.workflow.facts import drawn as facts_drawn
from bench_gta.workflow.facts import media as facts_media
from bench_gta.workflow.facts.page import Page
from bench_gta.workflow.facts.sheets import read_sheets
from tool_impls.documents.charts import BETWEEN, MEDIA_TYPES
from tool_impls.documents.guard import check_office, check_size, reading
from tool_impls.documents.package import Package, child, children, local, plain, shown, value
from tool_impls.documents.plain_text import decode, read_csv
from tool_impls.documents.read_office import ReadDOCX, ReadPPTX, document_text, slides
from tool_impls.documents.read_pdf import PAGES, ReadPDF, opened_pdf
from tool_impls.documents.words import gathered
from tool_impls.settings import ToolSettings

LONGEST = 200_000  # characters of a file's text
MOST_TEXT = 64 * 2**20  # bytes of a text file

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
    settings = ToolSettings(tables={"ReadPDF": {"limit": LONGEST, "notes": True}})
    text = ReadPDF(settings).apply(path.parent, path)
    with opened_pdf(path, PAGES.default) as reader:
        looked_at = list(islice(reader.pages, facts_drawn.MOST_PAGES))
        measures = {
            "pages": len(reader.pages),
            "pictures": sum(len(page.images) for page in looked_at),
            "drawings": max(facts_drawn.drawn_on(page)[0] for page in looked_at),
            "lines": _lines(text),
        }
    return {"text": text, "measures": measures}


def _docx(path: Path) -> Found:
    text = ReadDOCX(ToolSettings(tables={"ReadDOCX": {"limit": LONGEST, "tables": True}})).apply(path.parent, path)
    with reading("a DOCX document"), Package(path) as package:
        reader, root = document_text(package)
        blocks = list(reader.blocks(root))
        filled = [one for one in blocks if local(one) == "p" and any(map(str.strip, reader.block_lines(one)))]
        tables = [one for one in blocks if local(one) == "tbl"]
        rows = [len(list(reader.cells(row))) for table in tables for row in reader.rows(table)]
        measures = {
            "paragraphs": len(filled),
            "headings": sum(style.startswith(("heading", "title")) for style in _styles(package, reader.part, filled)),
            "tables": len(tables),
            "rows": len(rows),
            "columns": max(rows, default=0),
            "charts": len(package.of_type(*MEDIA_TYPES)),
            "pictures": sum(local(one) == "pic" for one in shown(root)),
        }
    return {"text": text, "measures": measures}


def _styles(package: Package, part: str, paragraphs: Sequence[Element]) -> Iterator[str]:
    """The names of the styles of paragraphs, in lower case."""
    known = (style for of_styles in package.parts(part, "styles") for style in children(package.sound_root(of_styles)))
    names = {value(style, "styleId"): value(child(style, "name")) for style in known}
    styles = (value(child(paragraph, "pPr", "pStyle")) for paragraph in paragraphs)
    return (names.get(style, style).lower() for style in styles)


def _pptx(path: Path) -> Found:
    table = {"limit": LONGEST, "groups": True, "tables": True, "notes": True}
    text = ReadPPTX(ToolSettings(tables={"ReadPPTX": table})).apply(path.parent, path)
    with reading("a PPTX presentation"), Package(path) as package:
        found = [list(shown(slide)) for _, slide in slides(package) if slide is not None]
    counted = Counter(local(one) for slide in found for one in slide)
    measures = {
        "slides": len(found),
        "pictures": counted["pic"],
        "tables": counted["tbl"],
        "charts": counted["chart"],
        "headings": sum(any(_is_title(one) and plain(one) for one in slide) for slide in found),
    }
    return {"text": text, "measures": measures}


def _is_title(shape: Element) -> bool:
    return local(shape) == "sp" and value(child(shape, "nvSpPr", "nvPr", "ph"), "type") in ("title", "ctrTitle")


def _xlsx(path: Path) -> Found:
    check_office(path, "an XLSX workbook", well_formed=False)
    lines: list[str] = []
    longest = widest = 0
    with reading("an XLSX workbook"):
        sheets = read_sheets(path)
        for title, cells in sheets.items():
            lines.append(f"{title}:")
            rows = [row for row in cells if any(row)]
            longest = max(longest, len(rows))
            widest = max(widest, max(map(_filled, rows), default=0))
            lines += map(BETWEEN.join, rows)
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
        rows = [row for row in read_csv(text)[1] if any(cell.strip() for cell in row)]
    measures = {"rows": len(rows), "columns": max(map(_filled, rows), default=0)}
    return {"text": gathered((BETWEEN.join(row) for row in rows), LONGEST), "measures": measures}


def _filled(row: Sequence[str]) -> int:
    """Cells up to the last one that is not empty."""
    return max((place for place, cell in enumerate(row, start=1) if cell), default=0)


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
        parsed = parse_json(text)
    except ValueError as error:
        return {"broken": f"it is not valid JSON ({str(error)[:100]})"}
    short = parsed if len(text) <= LONGEST else None
    return {"text": text, "parsed": short, "measures": {"lines": _lines(text)}}


def _zip(path: Path) -> Found:
    check_office(path, "a zip archive", well_formed=False)
    with reading("a zip archive"), zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
    return {"text": "\n".join(member.filename for member in members), "measures": {"members": len(members)}}


def _decoded(path: Path) -> str:
    with path.open("rb") as stream:
        return decode(stream.read(MOST_TEXT))


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
