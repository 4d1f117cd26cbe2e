"""DocxFileGenerator (GTA tools spec 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.documents import markdown
from tool_impls.documents.pictures import DocumentPictures
from tool_impls.documents.words import paragraphs
from tool_impls.documents.writing import INPUTS, TABLES, WritingTool, without_times
from tool_impls.settings import Option

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph


PICTURE_WIDTH, PICTURE_HEIGHT = 5.0, 8.0  # inches; a taller picture would run out of the page
TEXT_WIDTH = 6.0  # inches, of a page of the library's pattern
SIZE = 12  # points
MONO = "Courier New"
LEVELS = 3  # of lists, in the styles of Word


class DocxFileGenerator(WritingTool):
    meta = base.tool(
        "DocxFileGenerator",
        "Makes a Word document from plain text or Markdown, with pictures.",
        INPUTS,
        Parameter("file", filetype="application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    )
    suffix = ".docx"
    packages = ("docx", "PIL", "markdown_it")
    options = (Option("font", "text", "SimSun", "name of the font, for Latin and Chinese text"), TABLES)
    library = "python-docx"

    def write(self, path: Path, content: str, album: DocumentPictures, as_markdown: bool) -> None:
        writer = _Writer(self.option("font"), album)
        if as_markdown:
            for block in markdown.blocks(content, tables=self.option("tables")):
                writer.add(block)
        else:
            writer.add_plain(content)
        writer.document.save(str(path))
        without_times(path)


class _Writer:
    """Puts blocks into a document, from top to bottom."""

    def __init__(self, font: str, album: DocumentPictures) -> None:
        import docx

        self.document: Document = docx.Document()
        self._album = album
        self._end: Any = self.document.element.body.sectPr  # which closes the text
        self._counters: dict[
            int, tuple[int, int]
        ] = {}  # by depth: number of the list in the file, and of its last item
        self._styles = {style.name: style for style in self.document.styles}
        for style in self._styles.values():
            if hasattr(style, "font"):
                _set_font(style.element.get_or_add_rPr(), font)
        self._styles["Normal"].font.size = _points(SIZE)

    def add_plain(self, content: str) -> None:
        for part in markdown.with_pictures(content, paths=False):
            if isinstance(part, markdown.Picture):
                self._picture(part)
            else:
                for text in paragraphs(part):
                    self._paragraph().add_run(text)

    def add(self, block: markdown.Block) -> None:
        if not isinstance(block, markdown.Item | markdown.Picture | markdown.Code):
            self._counters.clear()
        match block:
            case markdown.Heading(level, spans):
                _write(self._styled(f"Heading {level}"), spans)
            case markdown.Paragraph(spans):
                _write(self._paragraph(), spans)
            case markdown.Item():
                self._item(block)
            case markdown.Code(text):
                self._code(text)
            case markdown.Picture():
                self._picture(block)
            case markdown.Table(rows):
                self._table(rows)

    def _item(self, item: markdown.Item) -> None:
        level = min(item.depth, LEVELS - 1)
        kind = "List Bullet" if item.number is None else "List Number"
        style = kind if level == 0 else f"{kind} {level + 1}"
        paragraph = self._styled(style)
        _write(paragraph, item.spans)
        for deeper in [depth for depth in self._counters if depth > item.depth]:
            del self._counters[deeper]
        if item.number is None:
            self._counters.pop(item.depth, None)
            return
        number, last = self._counters.get(item.depth, (None, 0))
        if number is None or item.number != last + 1:
            number = self._new_list(style, item.number)
        self._counters[item.depth] = (number, item.number)
        properties = _element(paragraph).get_or_add_pPr().get_or_add_numPr()
        properties.get_or_add_ilvl().val = 0
        properties.get_or_add_numId().val = number

    def _paragraph(self) -> Paragraph:
        """A new paragraph at the end. The library's own way there looks through all that is before."""
        from docx.oxml import OxmlElement
        from docx.text.paragraph import Paragraph

        element = OxmlElement("w:p")
        self._end.addprevious(element)
        return Paragraph(element, self.document)

    def _styled(self, style: str) -> Paragraph:
        """A new paragraph. The library itself takes a millisecond to find a style."""
        paragraph = self._paragraph()
        _element(paragraph).style = self._styles[style].style_id
        return paragraph

    def _new_list(self, style: str, start: int) -> int:
        """A list of its own that counts from ``start``; otherwise Word counts through the whole document."""
        numbering = self.document.part.numbering_part.element
        used = self._styles[style].element.pPr.numPr.numId.val
        pattern = numbering.num_having_numId(used).abstractNumId.val
        number = numbering.add_num(pattern)
        number.add_lvlOverride(ilvl=0).add_startOverride(start)
        return int(number.numId)

    def _code(self, text: str) -> None:
        paragraph = self._paragraph()
        paragraph.paragraph_format.line_spacing = 1.0
        _shade(_element(paragraph).get_or_add_pPr(), "F2F2F2")
        run = paragraph.add_run(text)
        _mono(run, SIZE - 2)

    def _picture(self, picture: markdown.Picture) -> None:
        from docx.shared import Inches

        found = self._album.find(picture)
        if isinstance(found, str):
            self._paragraph().add_run(found)
            return
        width, height = found.fitted(PICTURE_WIDTH, PICTURE_HEIGHT)
        self._paragraph().add_run().add_picture(found.stream(), Inches(width), Inches(height))

    def _table(self, rows: Sequence[Sequence[Sequence[markdown.Span]]]) -> None:
        from docx.oxml.table import CT_Tbl
        from docx.shared import Inches
        from docx.table import Table

        element = CT_Tbl.new_tbl(0, len(rows[0]), Inches(TEXT_WIDTH))
        self._end.addprevious(element)
        table = Table(element, self.document)
        element.tblPr.style = self._styles["Table Grid"].style_id
        for index, row in enumerate(rows):
            for cell, spans in zip(table.add_row().cells, row, strict=True):
                _write(cell.paragraphs[0], spans, bold=index == 0)
                cell.paragraphs[0].paragraph_format.space_after = _points(2)
                if index == 0:
                    cell.paragraphs[0].paragraph_format.keep_with_next = True
                    _shade(_element(cell.paragraphs[0]).getparent().get_or_add_tcPr(), "F2F2F2")
        self._paragraph().paragraph_format.space_after = _points(0)


def _write(paragraph: Paragraph, spans: Sequence[markdown.Span], bold: bool = False) -> None:
    for span in spans:
        run = paragraph.add_run(span.text)
        run.bold = True if span.bold or bold else None
        run.italic = True if span.italic else None
        if span.code:
            _mono(run)


def _element(paragraph: Paragraph) -> Any:
    """The XML element of a paragraph, which the library gives out by way of its format."""
    return paragraph.paragraph_format.element


def _mono(run: Any, size: int | None = None) -> None:
    run.font.name = MONO  # the East Asian font stays: this one has no such signs
    run.font.size = None if size is None else _points(size)


def _set_font(properties: Any, font: str) -> None:
    """Name the font for all scripts, and drop the theme's, which would come first."""
    from docx.oxml.ns import qn

    fonts = properties.get_or_add_rFonts()
    for name in list(fonts.attrib):
        del fonts.attrib[name]
    for script in ("ascii", "hAnsi", "eastAsia", "cs"):
        fonts.set(qn(f"w:{script}"), font)


def _shade(properties: Any, colour: str) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    shade = OxmlElement("w:shd")
    shade.set(qn("w:val"), "clear")
    shade.set(qn("w:color"), "auto")
    shade.set(qn("w:fill"), colour)
    properties.append(shade)


def _points(size: float) -> Any:
    from docx.shared import Pt

    return Pt(size)
