"""Tools that draw on a picture: DrawBox and AddText (docs/benchmarks/tools.md#pictures).

They refuse what the released tools refuse, with Pillow's sentences: reversed corners, and text of several lines that is
placed by its top or bottom. Failed calls count in the score.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import displayed
from tool_impls import base
from tool_impls.arguments import Box, file_name, font_size, numbers, read_box
from tool_impls.fonts import boxes, pillows_or_better
from tool_impls.model_sources import png

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

RED = (255, 0, 0)
POSITION = (
    "The lower left corner of the text as (x, y) in pixels, or two letters: l, m or r (left, middle, right), then t, m"
    " or b (top, middle, bottom)."
)
FILL_ALPHA = 64  # of 255
FAR = 50_000.0  # pixels; keeps numbers that no C integer can hold away from Pillow


class _DrawingTool(base.BenchTool):
    category = "operation"
    confined = True
    version = 4  # pictures are upright and keep their transparency; all characters that fonts here have
    packages = ("PIL",)
    concurrency = 2


class DrawBox(_DrawingTool):
    meta = base.tool(
        "DrawBox",
        "Draws a red box on a picture, with a label if one is given.",
        (
            base.IMAGE,
            base.text("bbox", "The box as (x1, y1, x2, y2), in pixels."),
            base.optional("text", "annotation", None, "Words to write above the box."),
            *base.SAVING,
        ),
        base.IMAGE_OUT,
    )

    def apply(
        self,
        folder: Path,
        /,
        image: Image,
        bbox: str,
        annotation: str | None = None,
        output_dir: str | None = None,
        filename: str | None = None,
    ) -> Image | Path | base.Noted:
        box = _in_order(read_box(bbox))
        picture = displayed(image)
        font, lost = pillows_or_better(annotation or "", font_size(picture.height))

        def draw(pen: ImageDraw) -> None:
            pen.rectangle([_near(value) for value in box], fill=(*RED, FILL_ALPHA), outline=(*RED, 255))
            if annotation:
                point = (_near(box.x1), _near(box.y1) - 5)
                pen.text(point, _that_fits("lb", annotation), fill=(*RED, 255), font=font, anchor="lb")

        picture = _painted(picture, RED, draw)
        return _noted(_saved(picture, folder, output_dir, filename, "image_with_box"), lost)


class AddText(_DrawingTool):
    meta = base.tool(
        "AddText",
        "Writes text on a picture.",
        (
            base.IMAGE,
            base.text("text", "What to write."),
            base.text("position", POSITION),
            base.optional("text", "color", "red", "Colour of the text, by English name or as #rrggbb."),
            *base.SAVING,
        ),
        base.IMAGE_OUT,
    )

    def apply(
        self,
        folder: Path,
        /,
        image: Image,
        text: str,
        position: str,
        color: str = "red",
        output_dir: str | None = None,
        filename: str | None = None,
    ) -> Image | Path | base.Noted:
        from PIL import ImageColor

        try:
            ink = ImageColor.getrgb(color)[:3]
        except ValueError:
            raise ToolError(f"color must be an English colour name or #rrggbb; got {color!r}") from None
        picture = displayed(image)
        point, anchor = _place(position, picture.size)
        font, lost = pillows_or_better(text, font_size(picture.height))
        words = _that_fits(anchor, text)
        picture = _painted(picture, ink, lambda pen: pen.text(point, words, fill=ink, font=font, anchor=anchor))
        return _noted(_saved(picture, folder, output_dir, filename, "image_with_text"), lost)


def _noted(result: Image | Path, lost: str) -> Image | Path | base.Noted:
    return base.Noted(result, boxes("picture", lost)) if lost else result


def _painted(picture: Image, colour: tuple[int, ...], draw: Callable[[ImageDraw], None]) -> Image:
    """The picture with something drawn on it in one colour, which may cover it in part. RGB stays RGB, RGBA RGBA."""
    from PIL import Image as Images
    from PIL import ImageDraw

    if picture.mode == "RGB":
        draw(ImageDraw.Draw(picture, "RGBA"))  # this mode on an RGB picture blends
        return picture
    layer = Images.new("RGBA", picture.size, (*colour, 0))  # on RGBA a pen replaces what is below
    draw(ImageDraw.Draw(layer))
    return Images.alpha_composite(picture, layer)


def _saved(picture: Image, folder: Path, output_dir: str | None, filename: str | None, default: str) -> Image | Path:
    """The picture, or a file of the name that was asked for (docs/benchmarks/tools.md#pictures); a folder alone asks
    for the default."""
    if not (output_dir or filename):
        return picture
    path = folder / file_name(filename, default, ".png")
    path.write_bytes(png(picture))
    return path


def _place(position: str, size: tuple[int, int]) -> tuple[tuple[float, float], str]:
    """The point and the anchor of a text: letters first, else two numbers. Raises ToolError."""
    width, height = size
    margin = width // 20
    if re.fullmatch(r"[lmr][tmb]", position):
        x = {"l": margin, "m": width // 2, "r": width - margin}[position[0]]
        y = {"t": margin, "m": height // 2, "b": height - margin}[position[1]]
        return (x, y), position
    found = numbers(position)
    if len(found) != 2:
        letters = "two letters, l m r then t m b, such as 'mt'"
        raise ToolError(f"position must be two numbers (x, y) or {letters}; got {position!r}")
    return (_near(found[0]), _near(found[1])), "lb"


def _in_order(box: Box) -> Box:
    """The box itself. Raises ToolError for reversed corners, also where both lie too far away for Pillow to see it."""
    for axis, first, second in (("x", box.x1, box.x2), ("y", box.y1, box.y2)):
        if second < first:
            raise ToolError(f"{axis}1 must be greater than or equal to {axis}0")
    return box


def _that_fits(anchor: str, text: str) -> str:
    """The text itself. Raises ToolError where Pillow cannot place its lines by this anchor."""
    if "\n" in text and anchor[1] in "tb":
        raise ToolError("anchor not supported for multiline text")
    return text


def _near(value: float) -> float:
    """The value, at most FAR from the origin."""
    return min(max(value, -FAR), FAR)
