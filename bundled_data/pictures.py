"""Writes the bundled pictures: ``python -m bundled_data.pictures [FOLDER]``.

GTA-Atomic's pictures are drawn, or made by the tools that dataset.json calls; GTA-Workflow's photographs are drawn.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.tools import Tool
from bundled_data import charts, printed, scenes
from bundled_data.canvas import Pen, Picture, lay, paper, photo, table_top
from tool_impls.registry import TOOLS
from tool_impls.settings import ToolSettings

if TYPE_CHECKING:
    from PIL import Image

PROJECT = Path(__file__).parents[1]
ATOMIC = Path("bench_gta", "atomic", "mini")
WORKFLOW = Path("bench_gta", "workflow", "mini", "files")

INK = (38, 36, 40)
TEAL = (24, 96, 104)
CHALK = (236, 234, 222)
PNG = ("chart_rain", "chart_visitors")
"""Pictures without grain, which PNG stores in fewer bytes."""


def drawn() -> dict[str, Callable[[], Picture]]:
    """The function that draws each of GTA-Atomic's pictures, by the name of its file."""
    modules = (printed, scenes, charts)
    found = {
        name: function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    return {f"{name}.png" if name in PNG else f"{name}.jpg": function for name, function in found.items()}


def write(folder: Path) -> None:
    """Write all pictures into their places below ``folder``."""
    images = folder / ATOMIC / "image"
    images.mkdir(parents=True, exist_ok=True)
    for name, draw in drawn().items():
        _save(draw().image, images / name)
    _run_tools(folder / ATOMIC)
    (folder / WORKFLOW).mkdir(parents=True, exist_ok=True)
    for photograph in PHOTOGRAPHS:
        photograph().save(folder / WORKFLOW / f"{photograph.__name__}.jpg", quality=86)


def _run_tools(folder: Path) -> None:
    """Run every call of dataset.json that returns a picture, and write the picture where the data has it."""
    from PIL import Image

    settings = ToolSettings(basic=True)
    samples = json.loads((PROJECT / ATOMIC / "dataset.json").read_text(encoding="utf-8"))
    for sample in samples.values():
        for turn, result in pairwise(sample["dialogs"]):
            if result["role"] != "tool" or result["content"]["type"] != "image":
                continue
            function = turn["tool_calls"][0]["function"]
            tool = TOOLS[function["name"]](settings)
            tool.setup()
            with tempfile.TemporaryDirectory() as scratch:
                made = tool.apply(Path(scratch), **_values(tool.meta, function["arguments"], folder))
                with Image.open(made) if isinstance(made, str | Path) else made as image:
                    _save(image.convert("RGB"), folder / result["content"]["content"])


def _values(tool: Tool, arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The arguments as the tool takes them: with its defaults, and with opened pictures."""
    from PIL import Image

    values = {str(each.name): each.default for each in tool.inputs if each.optional and each.default is not None}
    types = {each.name: each.type for each in tool.inputs}
    for name, value in arguments.items():
        values[name] = Image.open(folder / value) if types[name] == "image" else value
    return values


def _save(image: Image.Image, path: Path) -> None:
    """JPEG of quality 84, or PNG for charts, without any text about when or by what it was made."""
    image.save(path, **({"quality": 84} if path.suffix == ".jpg" else {"optimize": True}))


def pressure_card() -> Image.Image:
    """The card that hangs beside the compressor: tyre widths and pressures."""
    pen = Pen(520, 480, paper(520, 480, (250, 247, 236), 11))
    pen.rect((12, 12, 508, 468), None, TEAL, 3)
    pen.text(260, 30, "TYRE PRESSURE", 34, TEAL, "Sans-Bold", "ma")
    pen.text(260, 78, "for a rider of 75 kg", 20, INK, "Sans", "ma")
    for number, (width, use, pressure) in enumerate(
        [
            ("25 mm", "road", "6.8 bar"),
            ("32 mm", "city", "5.2 bar"),
            ("40 mm", "gravel", "3.8 bar"),
            ("50 mm", "forest", "2.6 bar"),
        ]
    ):
        y = 128 + number * 84
        pen.line([(40, y - 8), (480, y - 8)], (180, 196, 192), 1)
        pen.text(46, y + 6, width, 28, INK, "Sans-Bold")
        pen.text(220, y + 6, use, 28, INK)
        pen.text(474, y + 6, pressure, 28, INK, "Sans-Bold", "ra")
    return photo(lay(pen.done(), table_top(620, 570, (112, 98, 84), 11), -0.8), 11)


def menu_board() -> Image.Image:
    """The chalkboard in front of the tea shop."""
    pen = Pen(560, 620, paper(560, 620, (44, 52, 48), 12))
    pen.text(280, 34, "LEAF & KETTLE", 40, CHALK, "Sans-Bold", "ma")
    pen.text(280, 92, "tea by the pot", 24, (190, 208, 190), "Sans", "ma")
    for number, (name, price) in enumerate(
        [("Earl Grey", "3.20"), ("Sencha", "3.60"), ("Masala Chai", "3.90"), ("Mint", "2.80")]
    ):
        y = 160 + number * 74
        pen.text(56, y, name, 34, CHALK)
        pen.text(504, y, price, 34, (244, 214, 130), "Sans-Bold", "ra")
        pen.dashes((56, y + 54), (504, y + 54), (120, 132, 124), 1.2)
    pen.text(280, 480, "Scone with jam 2.50", 28, (190, 208, 190), "Sans", "ma")
    pen.text(280, 540, "Tue to Sun 10:00 - 18:00", 28, CHALK, "Sans", "ma")
    return photo(lay(pen.done(), table_top(660, 720, (150, 120, 86), 12)), 12)


def teapot() -> Image.Image:
    """A teapot and a cup on a table, with room above and below for words."""
    pen = Pen(720, 540, (244, 232, 212))
    pen.rect((0, 360, 720, 540), (168, 122, 84))
    pen.rect((0, 352, 720, 366), (146, 102, 68))
    for angle in range(0, 360, 30):
        x, y = 610 + 26 * math.cos(math.radians(angle)), 120 + 26 * math.sin(math.radians(angle))
        pen.line(
            [(610 + (x - 610) * 1.5, 120 + (y - 120) * 1.5), (610 + (x - 610) * 2.1, 120 + (y - 120) * 2.1)],
            (240, 196, 92),
            4,
        )
    pen.oval((582, 92, 638, 148), (244, 202, 96))
    pen.oval((392, 208, 468, 318), None, (46, 110, 112), 14)  # the handle
    pen.polygon([(196, 270), (132, 206), (156, 192), (224, 236)], (46, 110, 112))  # the spout
    pen.oval((178, 176, 412, 372), (54, 128, 130))
    pen.oval((206, 196, 300, 330), (74, 150, 150))
    pen.oval((240, 150, 350, 194), (46, 110, 112))
    pen.oval((280, 130, 310, 160), (226, 168, 70))
    pen.oval((470, 372, 650, 402), (226, 220, 208))  # the saucer
    pen.oval((606, 318, 656, 366), None, (250, 248, 242), 9)
    pen.polygon([(494, 300), (626, 300), (604, 384), (516, 384)], (250, 248, 242))
    pen.oval((494, 288, 626, 314), (250, 248, 242))
    pen.oval((504, 292, 616, 310), (168, 96, 44))
    for x in (534, 562, 590):
        pen.line([(x + 7 * math.sin(step / 5), 280 - step * 2) for step in range(28)], (226, 216, 200), 5)
    return photo(pen.done(), 13, noise=1.0)


PHOTOGRAPHS = (pressure_card, menu_board, teapot)

if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT)
