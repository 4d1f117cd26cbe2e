"""What is measured of a picture: its main colours, and how sharp it is (ImageQualityTest;
docs/benchmarks/tools.md#images-and-video)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.pictures import flattened
from tool_impls import base

if TYPE_CHECKING:
    from PIL.Image import Image


# -- the main colours, by name


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


def colour_name(colour: tuple[int, int, int]) -> str:
    """The nearest named colour, by distance in RGB."""
    return min(NAMED, key=lambda name: sum((a - b) ** 2 for a, b in zip(NAMED[name], colour, strict=True)))


def main_colours(image: Image) -> list[str]:
    """At most three names, the most frequent first, each for at least a twentieth of the picture."""
    small = flattened(image).resize((64, 64))
    data = small.tobytes()
    names = Counter(colour_name((data[i], data[i + 1], data[i + 2])) for i in range(0, len(data), 3))
    common = [name for name, pixels in names.most_common(3) if pixels >= 64 * 64 / 20]
    return common or [names.most_common(1)[0][0]]


# -- sharpness, by the variance of the Laplacian


BLURRY = 100.0  # below
ROWS = 256  # worked off at a time, which keeps large pictures out of memory


class ImageQualityTest(base.BenchTool):
    meta = base.tool(
        "ImageQualityTest",
        f"Tells whether a picture is blurry: the variance of its Laplacian, and True if that is below {BLURRY:g}.",
        (base.IMAGE,),
        base.TEXT_OUT,
    )
    category = "perception"
    confined = True
    pure = True
    version = 2  # pictures as viewers display them
    packages = ("PIL", "numpy")
    concurrency = 2
    seconds = 60.0
    library = "numpy"

    def apply(self, folder: Path, /, image: Image) -> str:
        value = laplacian_variance(image)
        return f"Laplacian variance: {value:.2f}, Blurry: {value < BLURRY}"


def laplacian_variance(image: Image) -> float:
    """Population variance of the Laplacian (four neighbours) of the grey picture.

    Grey is 0.299 red + 0.587 green + 0.114 blue, rounded to 8 bits. Over the border the picture is mirrored without its
    edge pixel. Sums are of whole numbers, so the result is exact.
    """
    import numpy

    picture = flattened(image)
    width, height = picture.size
    grey = numpy.empty((height, width), dtype=numpy.int16)
    for top in range(0, height, ROWS):
        band = numpy.asarray(picture.crop((0, top, width, min(top + ROWS, height))), dtype=numpy.int32)
        grey[top : top + ROWS] = (299 * band[..., 0] + 587 * band[..., 1] + 114 * band[..., 2] + 500) // 1000
    total = squares = 0
    wide = numpy.pad(grey, 1, mode="reflect")
    for top in range(0, height, ROWS):
        part = wide[top : min(top + ROWS, height) + 2].astype(numpy.int64)
        edges = part[:-2, 1:-1] + part[2:, 1:-1] + part[1:-1, :-2] + part[1:-1, 2:] - 4 * part[1:-1, 1:-1]
        total, squares = total + int(edges.sum()), squares + int((edges**2).sum())
    count = width * height
    return (squares * count - total * total) / (count * count)
