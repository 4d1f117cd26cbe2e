"""The main colours of a picture, by name."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agentgauge.core.pictures import flattened

if TYPE_CHECKING:
    from PIL.Image import Image

NAMED: dict[str, tuple[int, int, int]] = {
    "black": (0, 0, 0),
    "dark grey": (80, 80, 80),
    "grey": (150, 150, 150),
    "light grey": (210, 210, 210),
    "white": (255, 255, 255),
    "red": (215, 30, 35),
    "pink": (250, 170, 190),
    "orange": (245, 140, 30),
    "brown": (125, 75, 35),
    "beige": (235, 220, 185),
    "yellow": (245, 225, 50),
    "green": (30, 140, 50),
    "light green": (155, 215, 140),
    "dark green": (10, 60, 25),
    "turquoise": (50, 190, 185),
    "light blue": (150, 200, 240),
    "blue": (40, 90, 210),
    "dark blue": (20, 30, 100),
    "purple": (125, 50, 155),
}


def name_of(colour: tuple[int, int, int]) -> str:
    """The nearest named colour, by distance in RGB."""
    return min(NAMED, key=lambda name: sum((a - b) ** 2 for a, b in zip(NAMED[name], colour, strict=True)))


def main_colours(image: Image) -> list[str]:
    """At most three names, the most frequent first, each for at least a twentieth of the picture."""
    small = flattened(image).resize((64, 64))
    data = small.tobytes()
    names = Counter(name_of((data[i], data[i + 1], data[i + 2])) for i in range(0, len(data), 3))
    common = [name for name, pixels in names.most_common(3) if pixels >= 64 * 64 / 20]
    return common or [names.most_common(1)[0][0]]
