"""Deliverables for tests, and what becomes of them."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_gta.workflow.rendering import Conversions, ShownFile


def conversions(out: Path, *, upstream: bool = False) -> Conversions:
    scratch = out.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    return Conversions(scratch, upstream=upstream)


def show(out: Path, name: str, content: bytes | str | Callable[[Path], Any], most: int = 8) -> ShownFile:
    """What becomes of a file with some content; a function writes it."""
    if callable(content):
        content(out / name)
    else:
        (out / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return conversions(out).show(str(out / name), most)


def said(shown: ShownFile) -> str:
    """The text of the PDF that was made."""
    import pypdf

    (file,) = shown.files
    return " ".join(page.extract_text() for page in pypdf.PdfReader(file).pages)


def png(width: int = 40, height: int = 30, colour: str = "teal", kind: str = "PNG") -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(buffer, kind)
    return buffer.getvalue()


def word(path: Path) -> None:
    import docx

    document = docx.Document()
    document.add_heading("Climbing hall", 0)
    document.add_paragraph("Thursday is the busiest day, 12 € für alle.")
    document.add_table(1, 2).cell(0, 0).text = "cell"
    document.save(str(path))


def slides(path: Path) -> None:
    import pptx

    show = pptx.Presentation()
    for title in ("First", "Second"):
        show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = title
    show.save(str(path))


def book(path: Path) -> None:
    import openpyxl

    made = openpyxl.Workbook()
    made.active.append(["day", "bookings"])
    made.active.append(["Thursday", 41.5])
    made.create_sheet("Second").append(["inner"])
    made.save(path)


def pictures(shown: ShownFile) -> int:
    import pypdf

    return sum(len(page.images) for page in pypdf.PdfReader(shown.files[0]).pages)


def letter(pages: int) -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for page in range(pages):
        canvas.drawString(100, 700, f"page {page}")
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims a size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )
