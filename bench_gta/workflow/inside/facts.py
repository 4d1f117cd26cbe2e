"""Looks at files, inside the sandbox: ``facts`` starts it and documents what it answers
(docs/benchmarks/gta_workflow.md#judges).

Order: ``{"files": [{"path", "kind"}], "read": bool}``. Answer: a list with, for each file, ``measures``, ``text``,
``shown``, ``look``, ``links`` and ``parsed``, or ``broken`` with the reason.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from agentgauge.core.errors import AgentGaugeError, ToolError
from agentgauge.core.pictures import flattened
from agentgauge.core.text import parse_json
from bench_gta.workflow.inside import media
from bench_gta.workflow.inside.html import PageMeasurer
from bench_gta.workflow.inside.media import written_in
from bench_gta.workflow.inside.sheets import read_sheets
from tool_impls.bounds import opened_picture
from tool_impls.documents.charts import BETWEEN, MEDIA_TYPES, chart
from tool_impls.documents.package import (
    Package,
    check_office,
    check_size,
    child,
    children,
    local,
    plain,
    reading,
    shown,
    value,
)
from tool_impls.documents.plain_text import decode, gathered, read_csv
from tool_impls.documents.read_office import ReadDOCX, ReadPPTX, document_text, slides
from tool_impls.documents.read_pdf import PAGES, ReadPDF, opened_pdf
from tool_impls.settings import ToolSettings

if TYPE_CHECKING:
    from pypdf import PageObject


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
            return (media.picture if kind == "picture" else media.video)(path, read=read)
        found = READERS[kind](path)
        if read and kind in DRAWN_READERS:
            found["shown"] = gathered([DRAWN_READERS[kind](path)], LONGEST)
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
        looked_at = list(islice(reader.pages, MOST_PAGES))
        measures = {
            "pages": len(reader.pages),
            "pictures": sum(len(page.images) for page in looked_at),
            "drawings": max(drawn_on(page)[0] for page in looked_at),
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
        "charts": charts_of(path),
        "pictures": pictures_of(path),
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
    page = PageMeasurer()
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
    "sound": media.sound,
    "JSON file": _json,
    "Markdown text": _markdown,
    "archive": _zip,
    "text": _text,
}


PICTURES = re.compile(r"(?:word|ppt|xl)/media/[^/]+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)", re.IGNORECASE)
PAINTING = {b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*", b"S", b"s", b"sh"}  # operators that draw a line or an area
CHART = 15  # lines and areas on a page with a chart, or with a ruled table of eight rows
MOST_PAGES = 100  # of a PDF
MOST_READ = 4  # pictures of a document
SMALLEST = 60  # pixels of a side; smaller ones are ornaments


def charts_of(path: Path) -> int:
    """Charts of an office file that were made with the program's own means."""
    with Package(path) as package:
        return len(package.of_type(*MEDIA_TYPES))


def pictures_of(path: Path) -> int:
    """Pictures that an office file holds."""
    with zipfile.ZipFile(path) as archive:
        return len(_pictures(archive))


def drawn_on(page: PageObject) -> tuple[int, str]:
    """Lines and areas that are drawn on a page of a PDF, and its text, that of charts included."""
    count = 0

    def see(operator: bytes, *_: Any) -> None:
        nonlocal count
        count += operator in PAINTING

    text = page.extract_text(visitor_operand_before=see)
    return count, text


def _drawn_in_pdf(path: Path) -> str:
    with opened_pdf(path, PAGES.default) as reader:
        pages = list(islice(reader.pages, MOST_PAGES))
        drawn = [text for count, text in map(drawn_on, pages) if count >= CHART]
        pictures = (image.data for page in pages for image in page.images)
        return "\n".join([*drawn, *_read_pictures(pictures)])


def _drawn_in_office(path: Path) -> str:
    with reading("an office file"), Package(path) as package, zipfile.ZipFile(path) as archive:
        charts = (root for part in package.of_type(*MEDIA_TYPES) if (root := package.root(part)) is not None)
        lines = [line for root in charts for line in chart(root)]
        return "\n".join([*lines, *_read_pictures(archive.read(name) for name in _pictures(archive))])


def _pictures(archive: zipfile.ZipFile) -> list[str]:
    return sorted(filter(PICTURES.fullmatch, archive.namelist()))


def _read_pictures(pictures: Iterator[bytes]) -> Iterator[str]:
    """What can be read in the first pictures. One that is damaged, too large or too small shows nothing."""
    for data in islice(pictures, MOST_READ):
        with suppress(ToolError):
            with opened_picture(io.BytesIO(data), "it") as image:
                colours = flattened(image)
            if min(colours.size) >= SMALLEST:
                yield written_in(colours)


_OFFICE = ("Word document", "presentation", "workbook")
DRAWN_READERS: dict[str, Callable[[Path], str]] = {"PDF": _drawn_in_pdf, **dict.fromkeys(_OFFICE, _drawn_in_office)}
"""Kind of file → what can be read in its charts and pictures; a PDF's page with a drawn chart is read whole."""


if __name__ == "__main__":
    main()
