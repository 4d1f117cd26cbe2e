"""OCR and Plot on the pictures that GTA's authors show on their project page. They are not part of the project:

    AGENTGAUGE_GTA_DATA=DIR pytest tests/tools/test_published.py

DIR holds ``image/`` and ``dataset.json`` in the official layout.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from PIL import Image

from tool_impls.registry import TOOLS
from tool_impls.settings import ToolSettings

DATA = Path(os.environ.get("AGENTGAUGE_GTA_DATA", "/nonexistent"))
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="AGENTGAUGE_GTA_DATA names no folder")

MENU = (
    "Dessert Apple Pie 11.00 Cheese Cake 14.00 Cup-Cake Choco-Cake 12.00 Mint-Cake Donut Holes 13.00 Pan-Cake 0.00"
    " Jelly Doughnuts Chicken Rice Bowl 18.00 Wings Grilled Lollipop Burger Sandwich Nuggets Beef Tenders Powered by"
    " SignMenu.com"
)
RECEIPT = (
    "TESCO IRELAND How did we do? Visit www.tescocomments.com and tell us about your shopping trip EUR ASHBRY L/BG50S"
    " 2.49 FRESH MILK 1.49 TORTILLA CHIPS RASPBERRIES 2.79 STARBUCKS BEAN 3.50 BOURBON CREAMS 0.65 SUEDE BRUSH 3.04 LIP"
    " BALM 1.35 ORGANIC BANANA 0.89 REDUCED PRICE NAPKIN 1.75 TOTAL 19.44"
)
RECIPE = (
    "Ingredients 1 plum tomato, peeled and chopped teaspoon fresh basil or 1/4 dried egg substitute equivalent water"
    " garlic clove, minced olive oil, optional Salt pepper to taste, slice bread, toasted Additional"
)
TABLE = (
    "Country Sales Volume Revenue Profit USA 40.080 $15.971.880 $3.086.421 China 35.070 $15.866.670 $3.032.162"
    " Australia 27.054 $14.812.566 2.868.636 India 23.046 $10.608.174 $1.853.710 South Korea 16.032 $10.494.948"
    " $1.975.844"
)
CHART = "140 120 100 80 60 40 20 0 100% 97% 94% 96% 95% Caption VQA TR IR NLVR2 MiniVLM (ours)"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("menu", MENU),
        ("receipt", RECEIPT),
        ("recipe", RECIPE),
        ("sales_table", TABLE),
        ("example_chart", CHART),
        ("eggs", ""),
    ],
)
def test_ocr_finds_the_printed_words(name: str, words: str) -> None:
    """What it misses or misreads is in docs/benchmarks/tools.md#limits."""
    tool = TOOLS["OCR"](ToolSettings())
    tool.setup()
    with Image.open(DATA / "image" / f"{name}.jpg") as image:
        image.load()
        text = re.sub(r"^\(.*?\) ", "", tool.apply(Path(), image=image), flags=re.MULTILINE)
    assert [word for word in words.split() if word not in text] == []
    assert bool(text) == bool(words)


def test_the_sales_chart_is_drawn(tmp_path: Path) -> None:
    """Five countries with three bars each, in three colours; revenue is the tallest."""
    samples = json.loads((DATA / "dataset.json").read_text(encoding="utf-8")).values()
    calls = [
        call["function"] for sample in samples for turn in sample["dialogs"] for call in turn.get("tool_calls") or ()
    ]
    (plot,) = [call for call in calls if call["name"] == "Plot"]
    path = TOOLS["Plot"](ToolSettings()).apply(tmp_path, **plot["arguments"])
    with Image.open(path) as image:
        pixels = image.convert("RGB")
    blue, orange, green = (31, 119, 180), (255, 127, 14), (44, 160, 44)
    bottom = max(y for x in range(pixels.width) for y in range(pixels.height) if pixels.getpixel((x, y)) == orange)
    row = [pixels.getpixel((x, bottom - 60)) for x in range(pixels.width)]
    runs = [colour for place, colour in enumerate(row) if colour == orange and row[place - 1] != orange]
    assert len(runs) >= 5
    heights = {
        colour: sum(pixels.getpixel((x, y)) == colour for x in range(pixels.width) for y in range(pixels.height))
        for colour in (blue, orange, green)
    }
    assert heights[orange] > heights[green] > heights[blue] > 0
