"""Reading texts of Office: ReadDOCX and ReadPPTX (GTA tools spec 5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.documents.guard import check_office, reading
from tool_impls.documents.reading import ReadingTool
from tool_impls.options import Option

BETWEEN = " | "  # cells
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class ReadDOCX(ReadingTool):
    meta = base.tool(
        "ReadDOCX",
        "Shows the text of a Word document.",
        (Parameter("file", "file", "The document (.docx).", filetype="file"),),
        base.TEXT_OUT,
    )
    packages = ("docx",)
    options = (
        *ReadingTool.options,
        Option("tables", "bool", True, "show tables too, where they stand", released=False),
    )
    library = "python-docx"

    def apply(self, folder: Path, /, file: Path) -> str:
        import docx

        check_office(file, "a DOCX document")
        with reading("a DOCX document"), file.open("rb") as stream:
            document = docx.Document(stream)
            if self.option("tables"):
                return self.shown(_blocks(document.element.body, document))
            return self.shown(paragraph.text for paragraph in document.paragraphs)


class ReadPPTX(ReadingTool):
    meta = base.tool(
        "ReadPPTX",
        "Shows the text of a PowerPoint presentation.",
        (Parameter("file", "file", "The presentation (.pptx).", filetype="file"),),
        base.TEXT_OUT,
    )
    packages = ("pptx",)
    options = (
        *ReadingTool.options,
        Option("groups", "bool", True, "show the text of grouped shapes", released=False),
        Option("tables", "bool", True, "show tables", released=False),
        Option("notes", "bool", True, "show the notes of each slide after it", released=False),
    )
    library = "python-pptx"

    def apply(self, folder: Path, /, file: Path) -> str:
        import pptx

        check_office(file, "a PPTX presentation")
        with reading("a PPTX presentation"), file.open("rb") as stream:
            return self.shown(self._texts(pptx.Presentation(stream)))

    def _texts(self, presentation: Any) -> Iterator[str]:
        for slide in presentation.slides:
            for shape in slide.shapes:
                yield from self._shape(shape)
            if self.option("notes") and slide.has_notes_slide:
                frame = slide.notes_slide.notes_text_frame
                if frame is not None and frame.text.strip():
                    yield f"Notes: {_plain(frame.text)}"

    def _shape(self, shape: Any) -> Iterator[str]:
        if shape.has_text_frame:
            yield _plain(shape.text_frame.text)
        elif self.option("tables") and getattr(shape, "has_table", False):
            for row in shape.table.rows:
                yield BETWEEN.join(_plain(cell.text_frame.text).replace("\n", " ") for cell in row.cells)
        elif self.option("groups") and hasattr(shape, "shapes"):
            for inner in shape.shapes:
                yield from self._shape(inner)


def _plain(text: str) -> str:
    return text.replace("\v", "\n")  # a line end within a paragraph


def _blocks(parent: Any, document: Any) -> Iterator[str]:
    """Paragraphs and rows of tables below an element, in document order, those in content controls included."""
    from docx.text.paragraph import Paragraph

    for child in parent.iterchildren(f"{WORD}p", f"{WORD}tbl", f"{WORD}sdt", f"{WORD}sdtContent"):
        if child.tag == f"{WORD}p":
            yield Paragraph(child, document).text
        elif child.tag == f"{WORD}tbl":
            yield from _table(child, document)
        else:
            yield from _blocks(child, document)


def _table(table: Any, document: Any) -> Iterator[str]:
    """Cells by the file's elements: python-docx repeats a cell as often as the file claims that it spans columns."""
    for row in table.iterchildren(f"{WORD}tr"):
        cells = (" ".join(text for text in _blocks(cell, document) if text) for cell in row.iterchildren(f"{WORD}tc"))
        yield BETWEEN.join(cell.replace("\n", " ") for cell in cells)
