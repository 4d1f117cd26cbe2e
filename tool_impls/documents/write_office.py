"""DocxFileGenerator and PptxFileGenerator (docs/benchmarks/tools.md#writing-documents)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import file_name
from tool_impls.documents import markdown
from tool_impls.documents.markdown import Picture, with_pictures
from tool_impls.documents.plain_text import check_length, clean, columns, paragraphs
from tool_impls.documents.writing import (
    FILENAME,
    IMAGE_PATHS,
    INPUTS,
    OUTPUT_DIR,
    TABLES,
    DocumentPictures,
    FileGenerator,
    PreparedPicture,
    WritingTool,
    without_times,
)
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


MOST_SLIDES = 500
WIDTH, HEIGHT = 10.0, 7.5  # inches of a slide
LEFT, TOP = 1.0, 3.5  # inches, of the first picture
SLIDE_PICTURE_WIDTH, GAP = 4.0, 0.25  # inches
BULLET = re.compile(r"([ \t]*)(?:[-*\u2022][ \t]+)?(.*)")  # a sign that the layout puts there itself
BODY_HEIGHT = 4.9  # inches, where a slide has no picture
SIZES = (32, 28, 24, 20, 18, 16, 14, 12, 10, 8)  # points of the text, the first being the layout's own
TITLE_SIZES = (44, 36, 32, 28, 24, 20)
TITLE_HEIGHT = 1.6  # inches
SLIDES = (
    'The slides as JSON: a list of objects such as {"title": "Results", "content": "First point\\nSecond'
    ' point {{image_1}}"}. {{image_1}} stands for the first picture of image_paths, and so on.'
)


class SlideLine(NamedTuple):
    text: str
    level: int  # from 0


class Slide(NamedTuple):
    title: str
    lines: tuple[SlideLine, ...]
    pictures: tuple[Picture, ...]


class PptxFileGenerator(FileGenerator):
    """Writes a presentation. Each line becomes a paragraph; text shrinks until it fits. Several pictures stand side by
    side.
    """

    meta = base.tool(
        "PptxFileGenerator",
        "Makes a PowerPoint presentation from titles and texts, with pictures.",
        (base.text("slides_content_str", SLIDES), FILENAME, IMAGE_PATHS, OUTPUT_DIR),
        Parameter("file", filetype="application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    )
    packages = ("pptx", "PIL")
    library = "python-pptx"

    def apply(
        self,
        folder: Path,
        /,
        slides_content_str: str,
        filename: str,
        image_paths: str = "",
        output_dir: str | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> Path:
        import pptx

        path = folder / file_name(filename, "slides", ".pptx")
        slides = read_slides(slides_content_str)
        album = DocumentPictures(image_paths, files or {})
        presentation = pptx.Presentation()
        for slide in slides:
            _add(presentation, slide, album)
        presentation.save(str(path))
        without_times(path)
        return path


def read_slides(text: str) -> list[Slide]:
    """The slides in a JSON text. Raises ToolError naming the slide that is wrong."""
    check_length("slides_content_str", text)
    try:
        slides = json.loads(text)
    except ValueError as error:
        advice = 'give a list of slides such as [{"title": "Results", "content": "Text"}]'
        raise ToolError(f"slides_content_str is not valid JSON ({error}); {advice}") from None
    except RecursionError:
        advice = "give a list of objects with title and content"
        raise ToolError(f"slides_content_str is nested too deeply; {advice}") from None
    if not isinstance(slides, list):
        raise ToolError("slides_content_str must be a list of slides, each an object with title and content")
    if not 1 <= len(slides) <= MOST_SLIDES:
        raise ToolError(f"slides_content_str must hold 1 to {MOST_SLIDES} slides; got {len(slides):,}")
    return [_read_slide(slide, index) for index, slide in enumerate(slides, start=1)]


def _read_slide(slide: Any, index: int) -> Slide:
    if not isinstance(slide, dict) or not {"title", "content"} & set(slide):
        raise ToolError(f"slide {index} of slides_content_str must be an object with title and content")
    title, content = slide.get("title") or "", slide.get("content") or ""
    if isinstance(content, list) and all(isinstance(line, str) for line in content):
        content = "\n".join(content)
    for name, value in (("title", title), ("content", content)):
        if not isinstance(value, str):
            raise ToolError(f"{name} of slide {index} must be a string; got {value!r:.80}")
    lines: list[SlideLine] = []
    pictures: list[Picture] = []
    for part in with_pictures(clean(content), paths=False):
        if isinstance(part, Picture):
            pictures.append(part)
        else:
            lines += [_line(line) for line in part.split("\n") if line.strip()]
    return Slide(" ".join(clean(title).split()), tuple(lines), tuple(pictures))


def _line(text: str) -> SlideLine:
    match = BULLET.fullmatch(text.rstrip())
    indent, rest = (match[1], match[2]) if match else ("", text)
    return SlideLine(rest.strip() or text.strip(), min(len(indent.expandtabs(4)) // 2, 4))


def _add(presentation: Any, slide: Slide, album: DocumentPictures) -> None:
    from pptx.util import Inches, Pt

    made = presentation.slides.add_slide(presentation.slide_layouts[1])
    made.shapes.title.text = slide.title
    size = _size([SlideLine(slide.title, 0)], TITLE_SIZES, TITLE_HEIGHT)
    if size < TITLE_SIZES[0]:
        for paragraph in made.shapes.title.text_frame.paragraphs:
            paragraph.font.size = Pt(size)
    pictures = [ready for picture in slide.pictures if isinstance(ready := album.find(picture), PreparedPicture)]
    body = made.placeholders[1]
    if not slide.lines:
        body.element.getparent().remove(body.element)  # else the slide invites to fill it in
    else:
        room = TOP - 1.55 if pictures else BODY_HEIGHT
        if pictures:
            body.left, body.top, body.width, body.height = Inches(0.5), Inches(1.5), Inches(WIDTH - 1), Inches(room)
        _fill(body.text_frame, slide.lines, room)
    for ready, (left, top, width, height) in zip(pictures, _places(pictures), strict=True):
        made.shapes.add_picture(ready.stream(), Inches(left), Inches(top), Inches(width), Inches(height))


def _fill(frame: Any, lines: Sequence[SlideLine], room: float) -> None:
    from pptx.util import Pt

    size = _size(lines, SIZES, room)
    for index, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if index == 0 else frame.add_paragraph()
        paragraph.text = line.text
        paragraph.level = line.level
        if size < SIZES[0]:
            paragraph.font.size = Pt(size)


def _size(lines: Sequence[SlideLine], sizes: Sequence[int], room: float) -> int:
    """The first of the sizes at which the lines fit into so many inches, else the last."""
    return next((size for size in sizes if _height(lines, size) <= room), sizes[-1])


def _height(lines: Sequence[SlideLine], size: int) -> float:
    """About how many inches the lines take at a size in points."""
    total = 0.0
    for line in lines:
        room = (WIDTH - 1.7 - 0.5 * line.level) * 72 / (size * 0.52)  # half-width signs in a line
        total += -(-columns(line.text) // max(int(room), 1)) * 1.2 + 0.25
    return total * size / 72


def _places(pictures: Sequence[PreparedPicture]) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height in inches: side by side in equal slots, in as few rows as leave them well visible."""
    if not pictures:
        return []
    rows = 1 if len(pictures) <= 3 else 2 if len(pictures) <= 10 else 3
    across = -(-len(pictures) // rows)
    slot = min(SLIDE_PICTURE_WIDTH, (WIDTH - 2 * (LEFT if across < 3 else 0.5) - GAP * (across - 1)) / across)
    tall = (HEIGHT - TOP - GAP * rows) / rows
    left = LEFT if across < 3 else 0.5
    places = []
    for number, ready in enumerate(pictures):
        width, height = ready.fitted(slot, tall)
        row, column = divmod(number, across)
        places.append((left + column * (slot + GAP), TOP + row * (tall + GAP), width, height))
    return places
