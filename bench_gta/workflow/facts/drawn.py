"""Charts and pictures in documents, and the text in them (``facts.child``; GTA-Workflow spec 3.2, "Ours")."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import flattened
from bench_gta.workflow.facts.media import written_in
from tool_impls.bounds import opened_picture
from tool_impls.documents.charts import MEDIA_TYPES, chart
from tool_impls.documents.guard import reading
from tool_impls.documents.package import Package
from tool_impls.documents.read_pdf import PAGES, opened_pdf

if TYPE_CHECKING:
    from pypdf import PageObject

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


def _pdf(path: Path) -> str:
    with opened_pdf(path, PAGES.default) as reader:
        pages = list(islice(reader.pages, MOST_PAGES))
        drawn = [text for count, text in map(drawn_on, pages) if count >= CHART]
        pictures = (image.data for page in pages for image in page.images)
        return "\n".join([*drawn, *_read(pictures)])


def _office(path: Path) -> str:
    with reading("an office file"), Package(path) as package, zipfile.ZipFile(path) as archive:
        charts = (root for part in package.of_type(*MEDIA_TYPES) if (root := package.root(part)) is not None)
        lines = [line for root in charts for line in chart(root)]
        return "\n".join([*lines, *_read(archive.read(name) for name in _pictures(archive))])


def _pictures(archive: zipfile.ZipFile) -> list[str]:
    return sorted(filter(PICTURES.fullmatch, archive.namelist()))


def _read(pictures: Iterator[bytes]) -> Iterator[str]:
    """What can be read in the first pictures. One that is damaged, too large or too small shows nothing."""
    for data in islice(pictures, MOST_READ):
        with suppress(ToolError):
            with opened_picture(io.BytesIO(data), "it") as image:
                colours = flattened(image)
            if min(colours.size) >= SMALLEST:
                yield written_in(colours)


_OFFICE = ("Word document", "presentation", "workbook")
READERS: dict[str, Callable[[Path], str]] = {"PDF": _pdf, **dict.fromkeys(_OFFICE, _office)}
"""Kind of file → what can be read in its charts and pictures; a PDF's page with a drawn chart is read whole."""
