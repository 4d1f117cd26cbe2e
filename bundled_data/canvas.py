"""Drawing tools for the pictures: an anti-aliased pen, paper, table tops, and the look of a photo.

Everything random comes from a seed, and the only fonts are those inside matplotlib, so a rebuild with the same
library versions gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image, ImageFont

Box = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels of the finished picture."""
Colour = str | tuple[int, int, int]

SCALE = 2
"""Pens draw this many times larger and shrink in the end, which smooths edges."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished picture, and what the renderer knows to be true of it."""

    image: Image.Image
    boxes: Mapping[str, Box] = field(default_factory=dict)  # where a thing is
    counts: Mapping[str, int] = field(default_factory=dict)  # how often a thing is there


@cache
def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    """A DejaVu font of matplotlib; ``name`` is the end of its file name, such as ``Sans-Bold``. ``size`` in pixels."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"DejaVu{name}.ttf"), size)


class Pen:
    """Draws on a sheet in coordinates of the finished picture."""

    def __init__(self, width: int, height: int, fill: Colour | Image.Image = "white") -> None:
        from PIL import Image, ImageDraw

        size = (width * SCALE, height * SCALE)
        self.sheet = fill.resize(size) if isinstance(fill, Image.Image) else Image.new("RGB", size, fill)
        self.draw = ImageDraw.Draw(self.sheet)
        self.width, self.height = width, height

    def rect(
        self,
        box: Sequence[float],
        fill: Colour | None = None,
        line: Colour | None = None,
        width: int = 1,
        radius: float = 0,
    ) -> None:
        scaled = [v * SCALE for v in box]
        self.draw.rounded_rectangle(scaled, radius * SCALE, fill, line, width * SCALE if line else 0)

    def oval(
        self, box: Sequence[float], fill: Colour | None = None, line: Colour | None = None, width: int = 1
    ) -> None:
        self.draw.ellipse([v * SCALE for v in box], fill, line, width * SCALE if line else 0)

    def polygon(
        self,
        points: Sequence[tuple[float, float]],
        fill: Colour | None = None,
        line: Colour | None = None,
        width: int = 1,
    ) -> None:
        self.draw.polygon([(x * SCALE, y * SCALE) for x, y in points], fill, line, width * SCALE if line else 0)

    def line(self, points: Sequence[tuple[float, float]], fill: Colour = "black", width: float = 1) -> None:
        self.draw.line([(x * SCALE, y * SCALE) for x, y in points], fill, round(width * SCALE), joint="curve")

    def dashes(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        fill: Colour = "black",
        width: float = 1,
        dash: float = 6,
    ) -> None:
        length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
        step = dash * 2 / length
        for number in range(int(1 / step) + 1):
            a, b = number * step, min(number * step + step / 2, 1)
            self.line(
                [(start[0] + (end[0] - start[0]) * t, start[1] + (end[1] - start[1]) * t) for t in (a, b)], fill, width
            )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int,
        fill: Colour = "black",
        face: str = "Sans",
        anchor: str = "la",
        **options: Any,
    ) -> None:
        self.draw.text((x * SCALE, y * SCALE), text, fill, font(face, size * SCALE), anchor, **options)

    def done(self) -> Image.Image:
        from PIL import Image

        return self.sheet.resize((self.width, self.height), Image.Resampling.LANCZOS)


def paper(width: int, height: int, tint: tuple[int, int, int] = (250, 248, 242), seed: int = 0) -> Image.Image:
    """A sheet with faint clouds and fibres."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(seed)
    clouds = Image.fromarray((rng.random((7, 7)) * 255).astype(np.uint8)).resize(
        (width, height), Image.Resampling.BICUBIC
    )
    shade = (np.asarray(clouds, dtype=float) - 128) / 128 * 4 + rng.normal(0, 1.2, (height, width))
    return Image.fromarray(np.clip(np.array(tint) + shade[..., None], 0, 255).astype(np.uint8))


def table_top(width: int, height: int, tint: tuple[int, int, int] = (139, 108, 78), seed: int = 0) -> Image.Image:
    """Wood grain that runs across the picture."""
    import numpy as np
    from PIL import Image, ImageFilter

    rng = np.random.default_rng(seed)
    grain = Image.fromarray((rng.random((height // 2, 5)) * 255).astype(np.uint8)).resize(
        (width, height), Image.Resampling.BICUBIC
    )
    shade = (np.asarray(grain.filter(ImageFilter.GaussianBlur(1.5)), dtype=float) - 128) / 128 * 26
    return Image.fromarray(np.clip(np.array(tint) + shade[..., None], 0, 255).astype(np.uint8))


def lay(sheet: Image.Image, ground: Image.Image, angle: float = 0.0) -> Image.Image:
    """The sheet in the middle of the ground, turned by ``angle`` degrees, with a soft shadow."""
    from PIL import Image, ImageFilter

    turned = sheet.convert("RGBA").rotate(angle, Image.Resampling.BICUBIC, expand=True)
    left, top = (ground.width - turned.width) // 2, (ground.height - turned.height) // 2
    shadow = Image.new("L", ground.size, 0)
    shadow.paste(turned.getchannel("A").point(lambda v: v * 0.55), (left + 5, top + 7))
    result = ground.convert("RGB")
    result.paste((20, 14, 8), (0, 0), shadow.filter(ImageFilter.GaussianBlur(7)))
    result.paste(turned.convert("RGB"), (left, top), turned.getchannel("A"))
    return result


def photo(image: Image.Image, seed: int = 0, noise: float = 1.6, light: float = 0.10) -> Image.Image:
    """The look of a photo: light that falls off to one corner by the share ``light``, and grain of ``noise`` grey
    levels."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(seed)
    data = np.asarray(image.convert("RGB"), dtype=float)
    rows, columns = np.mgrid[0 : image.height, 0 : image.width]
    fall = 1 + light / 2 - light * (0.6 * rows / image.height + 0.4 * columns / image.width)
    data = data * fall[..., None] + rng.normal(0, noise, data.shape[:2])[..., None]
    return Image.fromarray(np.clip(data, 0, 255).astype(np.uint8))
