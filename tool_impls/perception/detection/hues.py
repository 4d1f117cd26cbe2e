"""Decides whether the content of a box has a colour, by the colour's English name."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from agentgauge.core.pictures import flattened

if TYPE_CHECKING:
    from PIL.Image import Image

Range = tuple[int, int]
HUES: Mapping[str, tuple[Range, ...]] = {
    "red": ((345, 360), (0, 14)),
    "orange": ((14, 45),),
    "brown": ((8, 45),),
    "golden": ((36, 62),),
    "yellow": ((36, 70),),
    "green": ((70, 172),),
    "turquoise": ((160, 200),),
    "cyan": ((165, 200),),
    "blue": ((185, 262),),
    "violet": ((250, 318),),
    "purple": ((250, 330),),
    "pink": ((290, 360), (0, 12)),
}
"""In degrees. They overlap: between two names either may be meant."""

GREYS = frozenset({"black", "white", "grey", "gray"})
COLOURS = frozenset(HUES) | GREYS
DARK, PALE = 0.3, 0.18  # of 1: a value below, and a saturation below


def has_colour(image: Image, box: tuple[float, float, float, float], names: Iterable[str]) -> bool:
    """Whether the middle of the box, its inner third, has one of the colours; its usual pixel counts."""
    x1, y1, x2, y2 = box
    width, height = (x2 - x1) / 3, (y2 - y1) / 3
    left, top = int(x1 + width), int(y1 + height)
    right, bottom = max(left + 1, int(x2 - width)), max(top + 1, int(y2 - height))
    small = flattened(image.crop((left, top, right, bottom))).resize((9, 9))
    data = small.tobytes()
    red, green, blue = (sorted(data[channel::3])[40] for channel in range(3))
    return any(_is(name, red, green, blue) for name in names)


def _is(name: str, red: int, green: int, blue: int) -> bool:
    hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    if name == "black":
        return value < DARK
    if name == "white":
        return value > 0.8 and saturation < PALE
    if name in GREYS:
        return DARK / 2 < value < 0.9 and saturation < PALE
    if saturation < PALE or value < DARK / 2:
        return False
    if (name == "brown" and value > 0.8) or (name == "pink" and saturation > 0.7 and not 290 < 360 * hue < 345):
        return False
    return any(low <= 360 * hue <= high for low, high in HUES[name])
