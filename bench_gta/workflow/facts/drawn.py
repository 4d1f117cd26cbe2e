"""Charts and pictures in documents, and the text in them (``facts.child``; GTA-Workflow spec 3.2, "Ours")."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from agentgauge.core.errors import ToolError
from bench_gta.workflow.facts.media import written_in
from tool_impls.bounds import PICTURE_PIXELS, opened_picture
from tool_impls.documents.guard import reading
from tool_impls.documents.read_pdf import PAGES, opened_pdf, page_text

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfImage, PdfPage

PICTURES = re.compile(r"(?:word|ppt|xl)/media/[^/]+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)", re.IGNORECASE)
CHARTS = re.compile(r"(?:word|ppt|xl)/charts/chart\d*\.xml")
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


def drawn_on(page: PdfPage) -> tuple[int, list[PdfImage]]:
    """The number of lines and areas that are drawn on a page of a PDF, and its pictures."""
    from pypdfium2 import raw

    found = list(page.get_objects([raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_SHADING, raw.FPDF_PAGEOBJ_IMAGE]))
    pictures = [part for part in found if part.type == raw.FPDF_PAGEOBJ_IMAGE]
    return len(found) - len(pictures), pictures


def _pdf(path: Path) -> str:
    with opened_pdf(path, PAGES.default) as document:
        looked_at = [(page, *drawn_on(page)) for page in islice(document, MOST_PAGES)]
        drawn = [page_text(page) for page, shapes, _ in looked_at if shapes >= CHART]
        return "\n".join([*drawn, *_read(_pictures(image for _, _, images in looked_at for image in images))])


def _pictures(images: Iterable[PdfImage]) -> Iterator[Image]:
    """The pictures of a PDF as they are shown: turned, masked, on white."""
    from PIL import Image
    from pypdfium2 import PdfiumError

    for image in images:
        width, height = image.get_px_size()
        if min(width, height) >= SMALLEST and width * height <= PICTURE_PIXELS:
            with suppress(PdfiumError):
                shown = image.get_bitmap(render=True).to_pil().convert("RGBA")
                yield Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown)


def _office(path: Path) -> str:
    with reading("an office file"), zipfile.ZipFile(path) as archive:
        charts = [" | ".join(_chart_texts(archive.read(name))) for name in _parts(path, CHARTS)]
        return "\n".join([*charts, *_read(_opened(archive.read(name) for name in _parts(path, PICTURES)))])


def _parts(path: Path, names: re.Pattern[str]) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return sorted(filter(names.fullmatch, archive.namelist()))


def _chart_texts(xml: bytes) -> Iterator[str]:
    """Titles, names and values of a chart, as its program last showed them. The XML went through ``guard`` before."""
    for element in ElementTree.fromstring(xml).iter():
        if element.tag.rpartition("}")[2] in ("t", "v") and element.text and element.text.strip():
            yield element.text.strip()


def _opened(pictures: Iterable[bytes]) -> Iterator[Image]:
    """The pictures that are neither damaged nor too large."""
    for data in pictures:
        with suppress(ToolError), opened_picture(io.BytesIO(data), "it") as image:
            yield image


def _read(pictures: Iterator[Image]) -> Iterator[str]:
    """What can be read in the first pictures. One that is too small shows nothing."""
    for image in islice(pictures, MOST_READ):
        if min(image.size) >= SMALLEST:
            yield written_in(image.convert("RGB"))


_OFFICE = ("Word document", "presentation", "workbook")
READERS: dict[str, Callable[[Path], str]] = {"PDF": _pdf, **dict.fromkeys(_OFFICE, _office)}
"""Kind of file → what can be read in its charts and pictures; a PDF's page with a drawn chart is read whole."""
