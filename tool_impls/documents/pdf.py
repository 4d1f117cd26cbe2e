"""PdfFileGenerator, and the font of each character (docs/benchmarks/tools.md#writing-documents)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.documents import markdown
from tool_impls.documents.plain_text import columns, paragraphs
from tool_impls.documents.writing import INPUTS, TABLES, DocumentPictures, WritingTool
from tool_impls.settings import Option

if TYPE_CHECKING:
    from tool_impls.settings import ToolSettings


SANS, MONO = "Helvetica", "Courier"
STYLES = {
    (False, False): ("Helvetica", "Courier"),
    (True, False): ("Helvetica-Bold", "Courier-Bold"),
    (False, True): ("Helvetica-Oblique", "Courier-Oblique"),
    (True, True): ("Helvetica-BoldOblique", "Courier-BoldOblique"),
}
CHINESE, KOREAN = "STSong-Light", "HYSMyeongJo-Medium"  # known to PDF programs, so not embedded
CODECS = {"cp1252": SANS, "symbol": SANS, "zapfdingbats": SANS, "gbk": CHINESE, "cp949": KOREAN}
"""What shows the signs of a codec; the first that has a sign counts."""

OWN = "own"
DOT, DOTS = "\u2022", "Symbol"  # the library writes it in the others as a code that some programs do not read as a dot
UNKNOWN = "\u25a1"  # the empty square, which the Chinese font has


class Fonts:
    """The standard fonts, or a TrueType font file before them. Raises ToolError for a file that is no such font."""

    def __init__(self, path: str | None = None) -> None:
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.cidfonts import UnicodeCIDFont
        from reportlab.pdfbase.ttfonts import TTFError, TTFont

        for name in (CHINESE, KOREAN):
            if name not in pdfmetrics.getRegisteredFontNames():
                pdfmetrics.registerFont(UnicodeCIDFont(name))
        self._own: Callable[[int], Any] | None = None
        if path is not None:
            try:
                font = TTFont(OWN, path)
            except (TTFError, OSError):
                raise ToolError("the font that the settings of this tool name is no TrueType font file") from None
            pdfmetrics.registerFont(font)
            self._own = font.face.charToGlyph.get
        self._known: dict[str, str] = {}

    def runs(self, text: str, bold: bool, italic: bool, mono: bool) -> Iterator[tuple[str, str]]:
        """The text in stretches of one font each: its name, and the text with signs that no font has replaced."""
        latin = STYLES[bold, italic][mono]
        for font, signs in groupby(text, self._font):
            run = "".join(signs)
            yield (latin if font == SANS else font or CHINESE), (run if font else UNKNOWN * len(run))

    def _font(self, sign: str) -> str:
        if sign not in self._known:
            self._known[sign] = self._find(sign)
        return self._known[sign]

    def _find(self, sign: str) -> str:
        if self._own is not None and (self._own(ord(sign)) or sign in "\n\t"):
            return OWN
        if sign == DOT:
            return DOTS
        for codec, font in CODECS.items():
            with suppress(UnicodeEncodeError):
                sign.encode(codec)
                return font
        return ""


MARGIN = 72.0  # points, all around a letter page
PICTURE_WIDTH, PICTURE_HEIGHT = 360.0, 600.0  # points: 5 inches, and what fits on a page
SIZE, LEADING = 12, 16  # points
HEADINGS = {1: 22, 2: 18, 3: 15, 4: 13, 5: 12, 6: 11}  # points
CODE_SIZE, CODE_COLUMNS = 9.5, 80  # points; signs of a line of code, Chinese ones count double
TEXT_WIDTH = 612 - 2 * MARGIN
PADDING = 4.0  # points, beside the text of a cell
INDENT = 18.0  # points for each level of a list
INDENTED = re.compile(r"^[ \t]{1,80}", re.MULTILINE)
WIDE = re.compile("[\u2e80-\uffef]")  # Chinese and its like, where a line may end after any sign
PIECE = 4_000  # characters of one paragraph; the library takes quadratic time over its pages
MAX_COLUMNS = 12  # of a table; wider ones become lines of text
FONT = Option("font", "path", None, "a TrueType font file to embed; without it the standard fonts")


class PdfFileGenerator(WritingTool):
    """Writes a PDF: Latin text in Helvetica, Chinese and Korean in fonts that every PDF program has and that are not
    embedded.

    A character that no font has becomes an empty square.
    """

    meta = base.tool(
        "PdfFileGenerator",
        "Makes a PDF document from plain text or Markdown, with pictures.",
        INPUTS,
        Parameter("file", filetype="application/pdf"),
    )
    suffix = ".pdf"
    packages = ("reportlab", "PIL", "markdown_it")
    options = (FONT, TABLES)
    concurrency = 1  # the library keeps its fonts in the module

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        font = settings.value(cls.meta.name, FONT)
        if font is None or Path(font).is_file():
            return base.READY
        return base.unavailable(f"font in [tools.{cls.meta.name}] names no file: {font}")

    def write(self, path: Path, content: str, album: DocumentPictures, as_markdown: bool) -> None:
        from reportlab.lib.pagesizes import letter
        from reportlab.platypus import SimpleDocTemplate

        maker = _Maker(Fonts(self.option("font")), album)
        if as_markdown:
            blocks = markdown.blocks(content, tables=self.option("tables"))
            story = [part for block in blocks for part in maker.parts(block)]
        else:
            story = list(maker.plain(content))
        margins = {f"{side}Margin": MARGIN for side in ("left", "right", "top", "bottom")}
        document = SimpleDocTemplate(str(path), pagesize=letter, title=path.stem, invariant=1, **margins)
        document.build(story or [maker.text("")])


class _Maker:
    """Turns blocks into what the library flows over the pages."""

    def __init__(self, fonts: Fonts, album: DocumentPictures) -> None:
        self._fonts = fonts
        self._album = album

    def text(
        self, markup: str, size: float = SIZE, leading: float = LEADING, bullet: str | None = None, **style: Any
    ) -> Any:
        from reportlab.lib.styles import ParagraphStyle
        from reportlab.platypus import Paragraph

        style = {"spaceAfter": 8, "wordWrap": "CJK" if WIDE.search(markup) else None, "bulletFontSize": size, **style}
        shape = ParagraphStyle("text", fontName=SANS, fontSize=size, leading=leading, **style)
        return Paragraph(markup, shape, bulletText=bullet)

    def plain(self, content: str) -> Iterator[Any]:
        for part in markdown.with_pictures(content, paths=False):
            if isinstance(part, markdown.Picture):
                yield self._picture(part)
            else:
                for text in paragraphs(part):  # the library drops spaces where a line begins
                    kept = INDENTED.sub(lambda match: "\u00a0" * len(match[0].expandtabs(4)), text)
                    yield from self._paragraph((markdown.Span(kept),))

    def parts(self, block: markdown.Block) -> Iterator[Any]:
        from reportlab.platypus import CondPageBreak

        match block:
            case markdown.Heading(level, spans):
                size = HEADINGS[level]
                yield CondPageBreak(size * 1.25 + 2 * LEADING)  # keepWithNext never ends where a heading fills a page
                yield self.text(self._markup(_bold(spans)), size, size * 1.25, spaceBefore=size * 0.6, spaceAfter=6)
            case markdown.Paragraph(spans):
                yield from self._paragraph(spans)
            case markdown.Item(spans, number, depth):
                indent = INDENT * (depth + 1)
                sign = DOT if number is None else f"{number}."
                font = DOTS if number is None else SANS
                width = 10 if number is None else 7 * len(sign)
                yield self.text(
                    self._markup(spans),
                    bullet=sign,
                    bulletFontName=font,
                    leftIndent=max(indent, width + 2),
                    bulletIndent=max(indent - width - 4, 0),
                    spaceAfter=3,
                )
            case markdown.Code(text):
                yield self._code(text)
            case markdown.Picture():
                yield self._picture(block)
            case markdown.Table(rows) if len(rows[0]) <= MAX_COLUMNS:
                yield self._table(rows)
            case markdown.Table(rows):
                for row in rows:
                    yield from self._paragraph([span for cell in row for span in (*cell, markdown.Span(" | "))])

    def _paragraph(self, spans: Sequence[markdown.Span]) -> Iterator[Any]:
        pieces = list(_pieces(spans))
        for index, piece in enumerate(pieces, start=1):
            yield self.text(self._markup(piece), spaceAfter=8 if index == len(pieces) else 0)

    def _markup(self, spans: Sequence[markdown.Span]) -> str:
        """The library's markup of the spans, each run in a font that has its signs."""
        runs = (run for span in spans for run in self._fonts.runs(span.text, span.bold, span.italic, span.code))
        made = "".join(f'<font name="{font}">{escape(text, quote=False)}</font>' for font, text in runs)
        return made.replace("\n", "<br/>")

    def _code(self, text: str) -> Any:
        from reportlab.lib.colors import HexColor
        from reportlab.lib.styles import ParagraphStyle
        from reportlab.platypus import XPreformatted

        lines = [piece for line in text.split("\n") for piece in _wrapped(line)]
        markup = "\n".join(self._markup((markdown.Span(line, code=True),)) for line in lines)
        space = {"leading": 12, "spaceBefore": 4, "spaceAfter": 12, "borderPadding": 4}
        style = ParagraphStyle("code", fontName=MONO, fontSize=CODE_SIZE, backColor=HexColor("#F2F2F2"), **space)
        return XPreformatted(markup or " ", style)

    def _picture(self, picture: markdown.Picture) -> Any:
        from reportlab.platypus import Image

        found = self._album.find(picture)
        if isinstance(found, str):
            return self.text(self._markup((markdown.Span(found),)))
        width, height = found.fitted(PICTURE_WIDTH, PICTURE_HEIGHT, grow=False)
        image = Image(found.stream(), width, height, hAlign="LEFT")
        image.spaceAfter = 10
        return image

    def _table(self, rows: Sequence[Sequence[Sequence[markdown.Span]]]) -> Any:
        from reportlab.lib.colors import HexColor
        from reportlab.platypus import Table, TableStyle

        size = 10 if len(rows[0]) < 8 else 8
        shown = [[_bold(cell) for cell in rows[0]], *rows[1:]]
        cells = [[self.text(self._markup(cell), size, size * 1.3, spaceAfter=0) for cell in row] for row in shown]
        everywhere = (0, 0), (-1, -1)
        style = TableStyle(
            [
                ("GRID", *everywhere, 0.5, HexColor("#808080")),
                ("BACKGROUND", (0, 0), (-1, 0), HexColor("#F2F2F2")),
                ("VALIGN", *everywhere, "TOP"),
                ("LEFTPADDING", *everywhere, PADDING),
                ("RIGHTPADDING", *everywhere, PADDING),
            ]
        )
        widths, space = _widths(rows, size, TEXT_WIDTH), {"spaceBefore": 4, "spaceAfter": 12}
        return Table(cells, widths, repeatRows=1, splitInRow=1, style=style, hAlign="LEFT", **space)


def _widths(rows: Sequence[Sequence[Sequence[markdown.Span]]], size: float, room: float) -> list[float]:
    """Widths of columns in points: as their text where all fit, else the room shared out by the lengths of texts."""
    wanted = []
    for column in zip(*rows, strict=True):
        signs = max(min(sum(columns(span.text) for span in cell), 80) for cell in column)
        wanted.append(max(signs, 3) * size * 0.6 + 2 * PADDING)
    if sum(wanted) <= room:
        return wanted
    least = room / len(wanted) / 2
    spare = room - least * len(wanted)
    return [least + spare * width / sum(wanted) for width in wanted]


def _bold(spans: Sequence[markdown.Span]) -> tuple[markdown.Span, ...]:
    return tuple(replace(span, bold=True) for span in spans)


def _pieces(spans: Sequence[markdown.Span]) -> Iterator[list[markdown.Span]]:
    """The spans in pieces of at most PIECE characters."""
    piece: list[markdown.Span] = []
    length = 0
    for span in spans:
        for start in range(0, len(span.text), PIECE):
            text = span.text[start : start + PIECE]
            if piece and length + len(text) > PIECE:
                yield piece
                piece, length = [], 0
            piece.append(replace(span, text=text))
            length += len(text)
    if piece:
        yield piece


def _wrapped(line: str) -> Iterator[str]:
    """A line of code in pieces that fit on the page."""
    columns, start = 0, 0
    for index, sign in enumerate(line):
        columns += 2 if sign > "\u2e7f" else 1
        if columns > CODE_COLUMNS:
            yield line[start:index]
            start, columns = index, 2 if sign > "\u2e7f" else 1
    yield line[start:]
