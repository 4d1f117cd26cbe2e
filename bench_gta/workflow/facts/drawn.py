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
from xml.etree import ElementTree

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import flattened
from bench_gta.workflow.facts.media import written_in
from tool_impls.bounds import opened_picture
from tool_impls.documents.guard import reading

if TYPE_CHECKING:
    from pypdf import PageObject

PICTURES = re.compile(r"(?:word|ppt|xl)/media/[^/]+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)", re.IGNORECASE)
CHARTS = re.compile(r"(?:word|ppt|xl)/charts/chart\d*\.xml")
PAINTING = {b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*", b"S", b"s", b"sh"}  # operators that draw a line or an area
CHART = 15  # lines and areas on a page with a chart, or with a ruled table of eight rows
MOST_PAGES = 100  # of a PDF
MOST_READ = 4  # pictures of a document
SMALLEST = 60  # pixels of a side; smaller ones are ornaments


def charts_of(path: Path) -> int:
    """Charts of an office file that were made with the program's own means."""
    return len(_parts(path, CHARTS))


def pictures_of(path: Path) -> int:
    """Pictures that an office file holds."""
    return len(_parts(path, PICTURES))


def drawn_on(page: PageObject) -> tuple[int, str]:
    """Lines and areas that are drawn on a page of a PDF, and its text, that of charts included."""
    count = 0

    def see(operator: bytes, *_: Any) -> None:
        nonlocal count
        count += operator in PAINTING

    text = page.extract_text(visitor_operand_before=see)
    return count, text


def _pdf(path: Path) -> str:
    import pypdf

    with reading("a PDF"), path.open("rb") as stream:
        reader = pypdf.PdfReader(stream)
        if reader.is_encrypted:
            reader.decrypt("")
        pages = list(islice(reader.pages, MOST_PAGES))
        drawn = [text for count, text in map(drawn_on, pages) if count >= CHART]
        pictures = (image.data for page in pages for image in page.images)
        return "\n".join([*drawn, *_read(pictures)])


def _office(path: Path) -> str:
    with reading("an office file"), zipfile.ZipFile(path) as archive:
        charts = [" | ".join(_chart_texts(archive.read(name))) for name in _parts(path, CHARTS)]
        return "\n".join([*charts, *_read(archive.read(name) for name in _parts(path, PICTURES))])


def _parts(path: Path, names: re.Pattern[str]) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return sorted(filter(names.fullmatch, archive.namelist()))


def _chart_texts(xml: bytes) -> Iterator[str]:
    """Titles, names and values of a chart, as its program last showed them. The XML went through ``guard`` before."""
    for element in ElementTree.fromstring(xml).iter():
        if element.tag.rpartition("}")[2] in ("t", "v") and element.text and element.text.strip():
            yield element.text.strip()


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
