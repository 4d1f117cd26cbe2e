"""Numbers, boxes and font sizes as the released tools read them (GTA spec 2)."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from agentgauge.core.errors import ToolError

if TYPE_CHECKING:
    from PIL.Image import Image

NUMBER = re.compile(r"[-+]?\d*\.?\d+")


class Box(NamedTuple):
    """Two corners in pixels, in the order given: the second may lie left of or above the first."""

    x1: float
    y1: float
    x2: float
    y2: float


def numbers(text: str) -> list[float]:
    """Every decimal number in the text, with any characters around it: ``x1=1`` holds two, ``1e3`` two."""
    return [float(hit) for hit in NUMBER.findall(text)]


def read_box(text: str) -> Box:
    """The box in a text with exactly four numbers. Raises ToolError."""
    found = numbers(text)
    if len(found) != 4:
        raise ToolError(f"bbox must hold exactly four numbers, (x1, y1, x2, y2) in pixels; {text!r} holds {len(found)}")
    return Box(*found)


def crop(image: Image, bbox: str) -> Image:
    """The part of a picture in a box: corners put in order, clipped to the picture, numbers cut to integers.

    Raises ToolError for an empty part.
    """
    box = read_box(bbox)
    width, height = image.size
    left, right = sorted(int(min(max(x, 0), width)) for x in (box.x1, box.x2))
    top, bottom = sorted(int(min(max(y, 0), height)) for y in (box.y1, box.y2))
    if left >= right or top >= bottom:
        raise ToolError(f"bbox {bbox!r} covers no part of the picture, which is {width} by {height} pixels")
    return image.crop((left, top, right, bottom))


def font_size(height: int) -> int:
    """Pixels, at least 1: 18 for a picture 336 pixels high, in proportion for others, rounded down."""
    return max(1, math.floor(height / 336 * 18))
