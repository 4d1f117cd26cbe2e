"""OCR: reading the text in a picture with RapidOCR, without network.

The released tool is EasyOCR with paragraph grouping (docs/benchmarks/tools.md#pictures); the lines have its form, the
texts may differ.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import flattened
from tool_impls import base, devices
from tool_impls.perception import ocr_engine
from tool_impls.settings import Option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PIL.Image import Image

    from tool_impls.settings import ToolSettings

STRETCHED = 100  # times as long as it is wide; the engine scales the short side of such a picture down to nothing
PACKAGES = ("rapidocr", "onnxruntime", "PIL", "numpy")
TABLE = "OCR"  # whose ``device`` places the reader
lacks_gpu = ocr_engine.lacks_gpu


@dataclass(frozen=True, slots=True)
class Block:
    """Some text and the box around it, in whole pixels."""

    x1: int
    y1: int
    x2: int
    y2: int
    text: str
    line: int  # height of its last line

    def __str__(self) -> str:
        return f"({self.x1}, {self.y1}, {self.x2}, {self.y2}) {self.text}"


class TextReader:
    """Reads pictures for many threads. Loading takes about a second and 100 MB, so there is one for all tools
    (``reader``).
    """

    def __init__(self, device: str = devices.CPU) -> None:
        """Raises ToolUnavailable for a GPU that cannot be used."""
        self._engine = ocr_engine.OnProcessor() if devices.kind(device) == devices.CPU else ocr_engine.on_gpu(device)

    def lines(self, image: Image) -> list[Block]:
        """The lines of text in reading order; empty without text, and for a picture that is ``too_thin``."""
        import numpy

        if too_thin(image):
            return []

        pixels = numpy.ascontiguousarray(numpy.asarray(flattened(image))[:, :, ::-1])  # it wants blue first
        found = self._engine(pixels)
        if found is None or found.boxes is None or found.txts is None:
            return []
        blocks = []
        for corners, text in zip(found.boxes, found.txts, strict=True):
            xs, ys = [int(x) for x, _ in corners], [int(y) for _, y in corners]  # cut, not rounded, as released
            blocks.append(Block(min(xs), min(ys), max(xs), max(ys), text, max(ys) - min(ys)))
        return in_rows(blocks)


def too_thin(image: Image) -> bool:
    return max(image.size) > STRETCHED * min(image.size)


def in_rows(lines: Iterable[Block]) -> list[Block]:
    """Lines in reading order: rows from top to bottom, each from left to right."""
    rows: list[list[Block]] = []
    for line in sorted(lines, key=lambda block: (block.y1, block.x1)):
        if rows and all(_same_row(line, other) for other in rows[-1]):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda block: block.x1)]


_loading = threading.Lock()


def reader(device: str = devices.CPU) -> TextReader:
    """The one reader of this process on that device."""
    with _loading:
        return _loaded(devices.plain(device))


@cache
def _loaded(device: str) -> TextReader:
    return TextReader(device)


def paragraphs(lines: Iterable[Block]) -> list[Block]:
    """Join each line to the block above it where they overlap sideways and the gap is below half a line's height.

    A line that shares its row with another stays alone: in tables, menus and receipts the row carries the meaning.
    Heights must be alike (within a half), so that a heading is not joined either.
    """
    ordered = in_rows(lines)
    blocks: list[Block] = []
    open_blocks: list[int] = []  # places of blocks that may still grow
    for line in ordered:
        alone = not any(other is not line and _same_row(line, other) for other in ordered)
        index = next((index for index in open_blocks if _continues(blocks[index], line)), None) if alone else None
        if index is None:
            if alone:
                open_blocks.append(len(blocks))
            blocks.append(line)
        else:
            blocks[index] = _join(blocks[index], line)
    return blocks


def _join(above: Block, line: Block) -> Block:
    x1, y1 = min(above.x1, line.x1), min(above.y1, line.y1)
    x2, y2 = max(above.x2, line.x2), max(above.y2, line.y2)
    return Block(x1, y1, x2, y2, f"{above.text} {line.text}", line.line)


def _same_row(one: Block, other: Block) -> bool:
    shared = min(one.y2, other.y2) - max(one.y1, other.y1)
    return shared > min(one.line, other.line) / 2 and (one.x2 <= other.x1 or other.x2 <= one.x1)


def _continues(above: Block, line: Block) -> bool:
    height = min(above.line, line.line)
    alike = max(above.line, line.line) <= 1.5 * height
    return alike and abs(line.y1 - above.y2) < height / 2 and line.x1 < above.x2 and above.x1 < line.x2


class PictureReader(base.BenchTool):
    """A tool whose model is the reader. It runs where [tools.OCR] says."""

    _device = devices.CPU

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return True  # two readers in two processes would only take the processor from each other

    @classmethod
    def device_table(cls, settings: ToolSettings) -> str:
        return TABLE

    @classmethod
    def lacks_gpu(cls, settings: ToolSettings) -> str:
        return lacks_gpu()

    def setup(self, device: str = devices.CPU) -> None:
        reader(device)
        self._device = device


class OCR(PictureReader):
    meta = base.tool(
        "OCR",
        "Reads the text in a picture. Each line of the answer is one block: its box (x1, y1, x2, y2) in pixels, then"
        " its text.",
        (base.IMAGE,),
        base.TEXT_OUT,
    )
    category = "perception"
    packages = PACKAGES
    pure = True
    version = 2  # pictures as viewers display them
    options = (
        Option("paragraphs", "bool", True, "join the lines of a paragraph, as the released tool does"),
        devices.DEVICE,
    )
    library = "RapidOCR"
    concurrency = 8  # on a GPU their lines are read together

    def together(self, device: str) -> int:
        return 1 if devices.kind(device) == devices.CPU else self.concurrency

    def apply(self, folder: Path, /, image: Image) -> str:
        if too_thin(image):
            width, height = image.size
            most = f"a picture may be at most {STRETCHED} times as long as wide"
            raise ToolError(f"image has {width} by {height} pixels, which is too thin to be read; {most}, so cut it")
        lines = reader(self._device).lines(image)
        return "\n".join(map(str, paragraphs(lines) if self.option("paragraphs") else lines))
