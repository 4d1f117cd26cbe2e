"""Chooses the font of a PDF for each character."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any

from agentgauge.core.errors import ToolError

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
