"""Tools that answer questions about a picture, through a vision endpoint or, for two of them, in a plain basic mode."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from harness.tools import Parameter
from tool_impls import base
from tool_impls.colours import main_colours
from tool_impls.endpoints import Vision, endpoint_state
from tool_impls.geometry import crop
from tool_impls.ocr import PACKAGES, reader
from tool_impls.settings import ToolSettings

if TYPE_CHECKING:
    from PIL.Image import Image

BOX = base.text("bbox", "The part to look at, as (x1, y1, x2, y2) in pixels.")


class _Seeing(base.BenchTool):
    """A tool that asks the vision endpoint, or reads text and colours where ``has_basic`` and the settings allow it."""

    has_basic: ClassVar[bool] = False

    def __init__(self, settings: ToolSettings) -> None:
        super().__init__(settings)
        self._vision: Vision | None = None

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        if settings.vision is None and cls.has_basic and settings.basic:
            return base.BASIC
        state = endpoint_state(settings.vision, "tools.vision")
        return f"{state}, or set basic = true in [tools]" if cls.has_basic and settings.vision is None else state

    def setup(self, device: str = "cpu") -> None:
        if self.settings.vision is not None:
            self._vision = Vision(self.settings.vision)
        else:
            reader()

    def _ask(self, image: Image, question: str) -> str:
        assert self._vision is not None, "setup comes first, and only with an endpoint"
        return self._vision.ask(image, question)

    def _plain(self, image: Image) -> str:
        """Size, main colours and text: what can be told without a model."""
        width, height = image.size
        words = " ".join(block.text for block in reader().lines(image))
        seen = f"A picture of {width} by {height} pixels, mainly {' and '.join(main_colours(image))}."
        return f"{seen} It reads: {words}" if words else f"{seen} It holds no text."


class ImageDescription(_Seeing):
    meta = base.tool("ImageDescription", "Describes in words what a picture shows.", (base.IMAGE,), base.TEXT_OUT)
    category = "perception"
    packages = PACKAGES
    has_basic = True

    def apply(self, folder: Path, /, image: Image) -> str:
        return self._ask(image, "Describe this picture in detail.") if self._vision else self._plain(image)


class RegionAttributeDescription(_Seeing):
    meta = base.tool(
        "RegionAttributeDescription",
        "Describes one attribute of a part of a picture.",
        (base.IMAGE, BOX, base.text("attribute", "What to describe: the colour, the text, the mood ...")),
        base.TEXT_OUT,
    )
    category = "perception"
    packages = PACKAGES
    has_basic = True

    def apply(self, folder: Path, /, image: Image, bbox: str, attribute: str) -> str:
        part = crop(image, bbox)
        return self._ask(part, f"Describe this attribute of the picture in detail: {attribute}.") if self._vision else self._plain(part)


class CountGivenObject(_Seeing):
    meta = base.tool(
        "CountGivenObject",
        "Counts how many of a named thing a picture holds.",
        (
            base.IMAGE,
            base.text("text", "The thing to count, in English."),
            base.optional("text", "bbox", None, "The part to look at, as (x1, y1, x2, y2) in pixels; the whole picture if left out."),
        ),
        Parameter("int"),
    )
    category = "logic"
    packages = ("PIL",)

    def apply(self, folder: Path, /, image: Image, text: str, bbox: str | None = None) -> int:
        """The first run of digits in the answer, 0 if there is none (GTA spec 2)."""
        answer = self._ask(crop(image, bbox) if bbox else image, f"How many of these are in the picture: {text}? Answer with a digit.")
        hit = re.search(r"[0-9]+", answer)
        return int(hit[0]) if hit else 0


class MathOCR(_Seeing):
    meta = base.tool("MathOCR", "Reads a formula in a picture and writes it in LaTeX.", (base.IMAGE,), base.TEXT_OUT)
    category = "logic"
    packages = ("PIL",)

    def apply(self, folder: Path, /, image: Image) -> str:
        return self._ask(image, "Write the formula in this picture as LaTeX. Answer with the LaTeX alone.")


class TextToBbox(base.BenchTool):
    meta = base.tool(
        "TextToBbox",
        "Finds a described object in a picture. Each line of the answer is a box (x1, y1, x2, y2) in pixels and a score in percent.",
        (
            base.IMAGE,
            base.text("text", "The object, in English."),
            base.optional("bool", "top1", True, "True: only the best match; false: every match with a score above 50."),
        ),
        base.TEXT_OUT,
    )
    category = "perception"

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        return base.unavailable('no detector is built in; use --tool-server with one that has it, or disable = ["TextToBbox"] in [tools]')

    def apply(self, folder: Path, /, image: Image, text: str, top1: bool = True) -> str:
        raise AssertionError("the server calls no tool that is unavailable")
