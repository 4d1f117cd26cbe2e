"""Fonts for drawing text: DejaVu, which comes with matplotlib, and for signs that it lacks what the system has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from agentgauge.core.files import expanded_if_known

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDERS = (
    *("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts"),
    *("/System/Library/Fonts", "/Library/Fonts", "C:/Windows/Fonts"),
)
WIDE = (
    *("notosanscjk", "notoserifcjk", "sourcehansans", "wqy", "droidsansfallback"),
    *("pingfang", "msyh", "simhei", "simsun", "unifont"),
)
"""Beginnings of the names of font files with Chinese, Japanese and Korean characters, the better ones first."""

SUFFIXES = (".ttf", ".otf", ".ttc")
MOST_FILES = 5000  # looked at below FOLDERS
UNKNOWN = "\U0010fffe"  # no font has it, so it shows how a font draws what it lacks
COMPARED = 24  # pixels; smaller signs look like boxes
MOST_NAMED = 40  # characters
LINE = 1.3  # distance of lines, in font sizes


class Pen:
    """Fonts of one size in pixels. ``own``: a font file of the settings, before all others. Raises ToolError."""

    def __init__(
        self, size: float, *, serif: bool = False, bold: bool = False, italic: bool = False, own: str | None = None
    ) -> None:
        from PIL import ImageFont

        self.size = size
        self._fonts: list[Any] = []
        if own is not None:
            try:
                self._fonts.append(ImageFont.truetype(own, size))
            except OSError:
                words = "the font that the settings of this tool name is no font file that can be read"
                raise ToolError(words) from None
        for path in (*_bundled(serif, bold, italic), *_wide()):
            self._fonts.append(ImageFont.truetype(path, size))
        if not self._fonts:
            self._fonts.append(ImageFont.load_default(size))
        self._known: dict[str, int] = {}

    def write(self, mask: Image, x: float, y: float, text: str, stroke: float = 0.0) -> None:
        """Draw on a grey mask; (x, y) is the left end of the first line's base."""
        from PIL import ImageDraw

        drawing = ImageDraw.Draw(mask)
        for number, line in enumerate(text.splitlines()):
            left, base = x, y + number * LINE * self.size
            for font, run in self._runs(line):
                drawing.text((left, base), run, fill=255, font=font, anchor="ls", stroke_width=stroke)
                left += font.getlength(run)

    def length(self, line: str) -> float:
        """Pixels that a line is long."""
        return float(sum(font.getlength(run) for font, run in self._runs(line)))

    def _runs(self, line: str) -> Iterator[tuple[Any, str]]:
        """Stretches of one font each. Signs that no font has stay with the first."""
        for index, signs in groupby(line, self._place):
            yield self._fonts[index], "".join(signs)

    def _place(self, sign: str) -> int:
        if sign not in self._known:
            having = (index for index, font in enumerate(self._fonts) if sign.isspace() or _has(font, sign))
            self._known[sign] = next(having, 0)
        return self._known[sign]

    def lost(self, text: str) -> str:
        """The characters that no font has; a box stands for each."""
        return _lost(text, *self._fonts)


def pillows_or_better(text: str, size: int) -> tuple[Any, str]:
    """Pillow's own font; where it lacks characters of the text, the font that lacks the fewest. With it those that it
    lacks."""
    from PIL import ImageFont

    if text.isascii():
        return ImageFont.load_default(size), ""
    files = (*_bundled(False, False, False), *_wide())
    makers: list[Callable[[int], Any]] = [
        ImageFont.load_default,
        *(partial(ImageFont.truetype, path) for path in files),
    ]
    lost = [_lost(text, make(COMPARED)) for make in makers]
    best = min(range(len(makers)), key=lambda place: len(lost[place]))
    return makers[best](size), lost[best]


def boxes(noun: str, signs: str) -> str:
    """The sentence about characters that no font has. ``noun``: what shows them."""
    named = ", ".join(signs[:MOST_NAMED])
    return f"The {noun} shows boxes in place of characters that no font of this machine has: {named}."


def _lost(text: str, *fonts: Any) -> str:
    signs = (sign for sign in dict.fromkeys(text) if sign.isprintable() and not sign.isspace())
    return "".join(sign for sign in signs if not any(_has(font, sign) for font in fonts))


def _has(font: Any, sign: str) -> bool:
    return bytes(font.getmask(sign)) != bytes(font.getmask(UNKNOWN))


@cache
def _bundled(serif: bool, bold: bool, italic: bool) -> tuple[str, ...]:
    """The DejaVu file of a style, if matplotlib is installed. Looked for without importing it."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        return ()
    slant = ("Italic" if serif else "Oblique") if italic else ""
    style = ("Bold" if bold else "") + slant
    name = f"DejaVu{'Serif' if serif else 'Sans'}{'-' if style else ''}{style}.ttf"
    path = Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / name
    return (str(path),) if path.is_file() else ()


@cache
def _wide() -> tuple[str, ...]:
    """Font files of the system with Chinese, Japanese or Korean characters, the better ones first. Some lack Korean, so
    there may be several."""
    found: dict[int, str] = {}
    looked = 0
    for folder in FOLDERS:
        for path in sorted(expanded_if_known(folder).rglob("*")):
            looked += 1
            if looked > MOST_FILES:
                break
            name = path.name.lower().replace("-", "").replace("_", "")
            index = next((index for index, start in enumerate(WIDE) if name.startswith(start)), None)
            if index is not None and path.suffix.lower() in SUFFIXES:
                found.setdefault(index, str(path))
    return tuple(found[index] for index in sorted(found))
