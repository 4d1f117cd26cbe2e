"""ImageQualityTest, against figures worked out by hand and against a plain second way."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageFilter

from tool_impls.perception.quality import ImageQualityTest, laplacian_variance
from tool_impls.settings import ToolSettings


def judged(image: Image.Image) -> str:
    return ImageQualityTest(ToolSettings()).apply(Path(), image=image)


def grey(*rows: tuple[int, ...]) -> Image.Image:
    picture = Image.new("L", (len(rows[0]), len(rows)))
    picture.putdata([value for row in rows for value in row])
    return picture


def by_hand(values: list[list[int]]) -> float:
    """The definition, pixel by pixel, in fractions' place with whole numbers."""
    height, width = len(values), len(values[0])

    def at(y: int, x: int) -> int:
        y, x = (abs(place) if place < size else 2 * (size - 1) - place for place, size in ((y, height), (x, width)))
        return values[max(y, 0)][max(x, 0)]

    edges = [
        at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1) - 4 * at(y, x)
        for y in range(height)
        for x in range(width)
    ]
    mean = sum(edges) / len(edges)
    return sum((edge - mean) ** 2 for edge in edges) / len(edges)


@pytest.mark.parametrize(
    ("picture", "answer"),
    [
        (grey((7, 7, 7), (7, 7, 7)), "Laplacian variance: 0.00, Blurry: True"),
        # one bright pixel in the middle: -40 there, 20 beside it because the border is mirrored, 0 in the corners
        (grey((0, 0, 0), (0, 10, 0), (0, 0, 0)), "Laplacian variance: 335.80, Blurry: False"),
        # across: 2 * 10 - 0 at the dark end, 2 * 0 - 2 * 10 at the bright one
        (grey((0, 10)), "Laplacian variance: 400.00, Blurry: False"),
        (grey((0, 5)), "Laplacian variance: 100.00, Blurry: False"),
        (grey((0, 4)), "Laplacian variance: 64.00, Blurry: True"),
        (grey((9,)), "Laplacian variance: 0.00, Blurry: True"),
    ],
)
def test_variance_of_small_pictures(picture: Image.Image, answer: str) -> None:
    assert judged(picture) == answer


@pytest.mark.parametrize(
    ("colour", "level"),
    [
        ((255, 255, 255), 255),
        ((255, 0, 0), 76),
        ((0, 255, 0), 150),
        ((0, 0, 255), 29),
        ((10, 20, 30), 18),
        ((0, 0, 250), 29),
        ((1, 2, 1), 2),
    ],
)
def test_colours_become_grey_by_rule(colour: tuple[int, int, int], level: int) -> None:
    picture = Image.new("RGB", (2, 1))
    picture.putpixel((1, 0), colour)
    assert laplacian_variance(picture) == (2 * level) ** 2


@pytest.mark.parametrize("height", [2, 7, 255, 256, 257, 513])
def test_the_whole_picture_counts_however_it_is_cut_into_bands(height: int) -> None:
    values = [[(37 * x * x + 11 * y * x + 5 * y) % 256 for x in range(9)] for y in range(height)]
    assert laplacian_variance(grey(*map(tuple, values))) == pytest.approx(by_hand(values), rel=1e-12)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "CMYK", "1", "I;16"])
def test_every_kind_of_picture_is_taken(mode: str) -> None:
    assert judged(Image.new(mode, (5, 4))) == "Laplacian variance: 0.00, Blurry: True"


def test_blurring_lowers_it() -> None:
    sharp = grey(*(tuple(255 * ((x // 4 + y // 4) % 2) for x in range(64)) for y in range(64)))
    assert judged(sharp).endswith("Blurry: False")
    assert judged(sharp.filter(ImageFilter.GaussianBlur(6))).endswith("Blurry: True")


def test_agrees_with_opencv_on_grey_pictures() -> None:
    cv2 = pytest.importorskip("cv2")
    numpy = pytest.importorskip("numpy")
    pixels = numpy.random.default_rng(3).integers(0, 256, (37, 53), dtype=numpy.uint8)
    assert laplacian_variance(Image.fromarray(pixels)) == pytest.approx(
        cv2.Laplacian(pixels, cv2.CV_64F).var(), rel=1e-12
    )
