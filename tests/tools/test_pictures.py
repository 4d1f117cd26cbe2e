"""What the tools draw, beside small reference pictures of it. Made anew with ``AGENTGAUGE_DRAW=1 pytest
tests/tools/test_pictures.py``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageStat

from tool_impls.logic.code_tools import Plot
from tool_impls.operation.drawing import AddText, DrawBox
from tool_impls.settings import ToolSettings

PICTURES = Path(__file__).parent / "pictures"
SIZE = (240, 180)  # of the reference pictures, in pixels
TOLERANCE = 6.0  # of 255, mean over a cell: letters of another font version may move by a pixel
CHART = """```python
def solution():
    figure, axis = plt.subplots()
    axis.bar(["a", "b", "c"], [3, 1, 2], color=["tab:blue", "tab:orange", "tab:green"])
    axis.set_ylabel("pieces")
    return figure
```"""


def sheet() -> Image.Image:
    image = Image.new("RGB", (480, 360), "white")
    ImageDraw.Draw(image).ellipse((60, 80, 220, 240), fill=(70, 130, 190))
    return image


def box(folder: Path) -> Image.Image:
    return DrawBox(ToolSettings()).apply(folder, image=sheet(), bbox="(60, 80, 220, 240)", annotation="disc")


def words(folder: Path) -> Image.Image:
    return AddText(ToolSettings()).apply(folder, image=sheet(), text="bottom right", position="rb", color="green")


def chart(folder: Path) -> Image.Image:
    with Image.open(Plot(ToolSettings()).apply(folder, command=CHART)) as image:
        return image.convert("RGB")


@pytest.mark.parametrize("draw", [box, words, chart], ids=lambda draw: draw.__name__)
def test_picture_looks_as_the_one_that_was_looked_at(tmp_path: Path, draw) -> None:
    drawn = draw(tmp_path).resize(SIZE, Image.Resampling.BOX)
    path = PICTURES / f"{draw.__name__}.png"
    if os.environ.get("AGENTGAUGE_DRAW"):
        drawn.quantize(32).save(path, optimize=True)
    with Image.open(path) as kept:
        difference = ImageChops.difference(drawn, kept.convert("RGB"))
    assert max(ImageStat.Stat(difference).mean) < TOLERANCE
    # No place may be altogether different, however small its part of the picture is.
    cells = difference.convert("L").resize((12, 9), Image.Resampling.BOX)
    assert max(cells.tobytes()) < 8 * TOLERANCE
