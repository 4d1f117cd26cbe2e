"""The tool server: what a call costs on top of the tool's own work, and what OCR takes."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measure import ROOT, tool_server
from tool_impls.base import BenchTool
from tool_impls.model_sources import png
from tool_impls.registry import TOOLS
from tool_impls.server.client import ToolServerBox
from tool_impls.settings import ToolSettings

CALLS = 60
TEXT_OVERHEAD = 5.0  # milliseconds
IMAGE_OVERHEAD = 15.0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with tool_server(tmp_path_factory.mktemp("tools")) as (address, _):
        yield address


def a_call(url: str, name: str, arguments: dict[str, Any], folder: Path) -> tuple[float, float]:
    """Median milliseconds from arguments to results, files included: through the server, and with the tool's class.

    They take turns, since a machine does not run at the same speed all the time.
    """

    async def calls() -> list[tuple[float, float]]:
        box = ToolServerBox(url)
        tool = TOOLS[name](ToolSettings())
        tool.setup()
        seconds = []
        try:
            for number in range(CALLS + 5):
                start = time.perf_counter()
                await box.call(name, arguments, folder=folder / "out", readable=[folder])
                there = time.perf_counter()
                apply(tool, arguments, folder, number)
                seconds.append((there - start, time.perf_counter() - there))
        finally:
            await box.close()
        return seconds[5:]

    through, alone = zip(*asyncio.run(calls()), strict=True)
    return 1000 * statistics.median(through), 1000 * statistics.median(alone)


def apply(tool: BenchTool, arguments: dict[str, Any], folder: Path, number: int) -> None:
    """The picture is opened, a picture that comes out is written as a file."""
    from PIL import Image

    values = dict(arguments)
    if "image" in values:
        values["image"] = Image.open(values["image"])
        values["image"].load()
    result = tool.apply(folder, **values)
    if isinstance(result, Image.Image):
        (folder / f"{number}.png").write_bytes(png(result))


def photograph(folder: Path) -> Path:
    """A megapixel with the detail of a photograph: about 500 kB as JPEG."""
    import numpy
    from PIL import Image, ImageFilter

    noise = numpy.random.default_rng(0).integers(0, 255, (250, 250, 3), dtype=numpy.uint8)
    picture = Image.fromarray(noise).resize((1000, 1000), Image.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(1))
    picture.save(folder / "photo.jpg", quality=92)
    return folder / "photo.jpg"


@pytest.mark.parametrize(
    ("name", "rest", "most"),
    [
        ("Calculator", {"expression": "2 * (3 + sqrt(16))"}, TEXT_OVERHEAD),
        ("ImageQualityTest", {}, IMAGE_OVERHEAD),
        ("DrawBox", {"bbox": "100 100 300 300"}, IMAGE_OVERHEAD),
    ],
)
def test_overhead_of_a_call(url, tmp_path, benchmark, figure, name, rest, most):
    arguments = rest if most == TEXT_OVERHEAD else {"image": str(photograph(tmp_path)), **rest}
    ours, bare = benchmark.pedantic(lambda: a_call(url, name, arguments, tmp_path), rounds=1)
    figure(f"tools: what server and client add to {name}", ours - bare, "ms", most=most)
    figure(f"tools: {name} through the server / in process", ours / bare)


def test_ocr_of_a_receipt(benchmark, figure):
    from PIL import Image

    tool = TOOLS["OCR"](ToolSettings())
    tool.setup()
    processor = []

    def read() -> None:
        start = time.process_time()
        tool.apply(Path(), image=image)
        processor.append(time.process_time() - start)

    with Image.open(ROOT / "bench_gta" / "atomic" / "mini" / "image" / "receipt_market.jpg") as image:
        image.load()
        benchmark.pedantic(read, rounds=5, warmup_rounds=2)
    figure("tools: OCR of a bundled receipt", benchmark.stats.stats.median, "s", most=0.3)
    figure("tools: OCR of a bundled receipt, processor", statistics.median(processor[2:]), "s", most=0.25)
