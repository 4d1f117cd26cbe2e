"""Tools that make pictures: TextToImage and ImageStylization, through an image endpoint or in a plain basic mode."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ToolError
from tool_impls import base
from tool_impls.endpoints import Painter, endpoint_state
from tool_impls.settings import ToolSettings

if TYPE_CHECKING:
    from PIL.Image import Image

CARD = 512  # pixels, both sides of a text card


class _Painting(base.BenchTool):
    """A tool that asks the image endpoint, or does something plain where the settings allow it."""

    def __init__(self, settings: ToolSettings) -> None:
        super().__init__(settings)
        self._painter: Painter | None = None

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        if settings.image is None:
            return base.BASIC if settings.basic else f"{endpoint_state(None, 'tools.image')}, or set basic = true in [tools]"
        return endpoint_state(settings.image, "tools.image")

    def setup(self, device: str = "cpu") -> None:
        self._painter = Painter(self.settings.image) if self.settings.image else None


class TextToImage(_Painting):
    meta = base.tool(
        "TextToImage",
        "Makes a picture from keywords.",
        (base.text("keywords", "English keywords, separated by commas."),),
        base.IMAGE_OUT,
    )
    category = "creativity"
    packages = ("PIL",)
    concurrency = 2

    def apply(self, folder: Path, /, keywords: str) -> Image:
        return self._painter.paint(keywords) if self._painter else text_card(keywords)


class ImageStylization(_Painting):
    meta = base.tool(
        "ImageStylization",
        "Changes a picture as an instruction says.",
        (base.IMAGE, base.text("instruction", "What to change, in English.")),
        base.IMAGE_OUT,
    )
    category = "creativity"
    packages = ("PIL",)
    concurrency = 2

    def apply(self, folder: Path, /, image: Image, instruction: str) -> Image:
        picture = image.convert("RGB")
        return self._painter.edit(picture, instruction) if self._painter else effect(picture, instruction)


def text_card(keywords: str) -> Image:
    """A card with the keywords on it. The background follows from the words, so the same words give the same card."""
    from PIL import Image, ImageDraw, ImageFont

    seed = zlib.crc32(keywords.encode())
    shade = (120 + seed % 100, 120 + (seed >> 8) % 100, 120 + (seed >> 16) % 100)
    card = Image.new("RGB", (CARD, CARD), shade)
    pen = ImageDraw.Draw(card)
    pen.rectangle((16, 16, CARD - 17, CARD - 17), outline="white", width=4)
    lines = [line for part in keywords.split(",") for line in textwrap.wrap(part.strip(), 22)][:11]
    font = ImageFont.load_default(32)
    pen.multiline_text((CARD // 2, CARD // 2), "\n".join(lines), fill="black", font=font, anchor="mm", align="center", spacing=8)
    return card


def _grey(image: Image) -> Image:
    return image.convert("L").convert("RGB")


def _sepia(image: Image) -> Image:
    rows = (0.393, 0.769, 0.189, 0, 0.349, 0.686, 0.168, 0, 0.272, 0.534, 0.131, 0)
    return image.convert("RGB", rows)


def _blur(image: Image) -> Image:
    from PIL import ImageFilter

    return image.filter(ImageFilter.GaussianBlur(max(2, max(image.size) // 100)))


def _invert(image: Image) -> Image:
    from PIL import ImageOps

    return ImageOps.invert(image)


def _sketch(image: Image) -> Image:
    """Dark lines on white, where the brightness changes."""
    from PIL import ImageFilter, ImageOps

    edges = image.convert("L").filter(ImageFilter.GaussianBlur(1)).filter(ImageFilter.FIND_EDGES)
    lines = ImageOps.autocontrast(ImageOps.invert(edges))
    return lines.point(lambda value: value**3 // 255**2).convert("RGB")  # the lines alone come out pale


EFFECTS: tuple[tuple[tuple[str, ...], Callable[[Image], Image]], ...] = (
    (("sketch", "pencil", "drawing"), _sketch),
    (("sepia", "vintage", "old photo", "antique"), _sepia),
    (("grey", "gray", "black and white", "black-and-white", "monochrome"), _grey),
    (("blur", "out of focus", "soft focus"), _blur),
    (("invert", "negative"), _invert),
)
"""Words in an instruction and what they do; the first row with a hit counts."""


def effect(image: Image, instruction: str) -> Image:
    """The effect whose word stands in the instruction. Raises ToolError where none does."""
    wanted = instruction.lower()
    for words, function in EFFECTS:
        if any(word in wanted for word in words):
            return function(image)
    raise ToolError(f"without an image model only grey, sepia, blur, invert and sketch effects can be made; got {instruction!r}")
