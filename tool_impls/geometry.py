"""Numbers, boxes and font sizes as the released tools read them (GTA spec 2)."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import ToolError

if TYPE_CHECKING:
    from PIL.Image import Image

NUMBER = re.compile(r"[-+]?\d*\.?\d+")


class Box(NamedTuple):
    """Pixels; the first corner is left of and above the second."""

    x1: float
    y1: float
    x2: float
    y2: float


def numbers(text: str) -> list[float]:
    """Every decimal number in the text, whatever stands around it: ``x1=1`` holds two, ``1e3`` two."""
    return [float(hit) for hit in NUMBER.findall(text)]


def read_box(text: str) -> Box:
    """The box in a text with exactly four numbers, corners put in order (Pillow refuses reversed ones). Raises ToolError."""
    found = numbers(text)
    if len(found) != 4:
        raise ToolError(f"bbox must hold exactly four numbers, (x1, y1, x2, y2) in pixels; {text!r} holds {len(found)}")
    x1, y1, x2, y2 = found
    return Box(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))


def crop(image: Image, bbox: str) -> Image:
    """The part of a picture in a box: numbers cut to integers, clipped to the picture. Raises ToolError for an empty part."""
    box = read_box(bbox)
    width, height = image.size
    left, top, right, bottom = max(int(box.x1), 0), max(int(box.y1), 0), min(int(box.x2), width), min(int(box.y2), height)
    if left >= right or top >= bottom:
        raise ToolError(f"bbox {bbox!r} covers no part of the picture, which is {width} by {height} pixels")
    return image.crop((left, top, right, bottom))


def font_size(height: int) -> int:
    """Pixels, at least 1: 18 for a picture 336 pixels high, in proportion for others, rounded down."""
    return max(1, math.floor(height / 336 * 18))
