"""Reading text in rendered pictures, and joining lines to paragraphs."""

from __future__ import annotations

import io
import json
import platform
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from agentgauge.core.errors import ToolError
from tool_impls.perception.ocr import OCR, Block, Reader, paragraphs, reader
from tool_impls.perception.vision import ImageDescription
from tool_impls.settings import ToolSettings


def page(*lines: tuple[int, int, str]) -> Image.Image:
    image = Image.new("RGB", (420, 200), "white")
    for x, y, text in lines:
        ImageDraw.Draw(image).text((x, y), text, fill="black", font=ImageFont.load_default(24))
    return image


def read(image: Image.Image, settings: ToolSettings | None = None) -> str:
    tool = OCR(settings or ToolSettings())
    tool.setup()
    return tool.apply(Path(), image=image)


def test_line_has_its_box_and_its_text() -> None:
    (line,) = reader().lines(page((40, 60, "Total 19.44")))
    assert line.text == "Total 19.44"
    assert abs(line.x1 - 40) < 12 and abs(line.y1 - 60) < 12 and 150 < line.x2 < 190 and 75 < line.y2 < 105
    assert str(line) == f"({line.x1}, {line.y1}, {line.x2}, {line.y2}) Total 19.44"


def test_rows_of_a_table_are_not_mixed() -> None:
    text = read(page((20, 20, "Apples"), (300, 20, "2.50"), (20, 54, "Pears"), (300, 54, "3.75")))
    assert [line.split(") ")[1] for line in text.splitlines()] == ["Apples", "2.50", "Pears", "3.75"]


def test_nothing_found_is_an_empty_text() -> None:
    assert read(Image.new("RGB", (60, 40), "white")) == ""


def total(image: Image.Image, colour: Any = "black") -> Image.Image:
    ImageDraw.Draw(image).text((30, 50), "Total 450", fill=colour, font=ImageFont.load_default(48))
    return image


def clear(*colours: str) -> Image.Image:
    image = Image.new("RGBA", (300 * len(colours), 160), (0, 0, 0, 0))
    for number, colour in enumerate(colours):
        image.alpha_composite(total(Image.new("RGBA", (300, 160), (0, 0, 0, 0)), colour), (300 * number, 0))
    return image


def turned(orientation: int, transpose: Image.Transpose) -> Image.Image:
    exif, stream = Image.Exif(), io.BytesIO()
    exif[0x0112] = orientation
    total(Image.new("RGB", (300, 160), "white")).transpose(transpose).save(stream, "JPEG", exif=exif)
    return Image.open(stream)


BLACK_ON_WHITE = total(Image.new("RGB", (300, 160), "white"))
AS_FILES_COME = {
    "black on nothing": clear("black"),
    "white on nothing": clear("white"),
    "yellow on nothing": clear("yellow"),
    "grey on nothing": clear("#808080"),
    "black and white on nothing": clear("black", "white"),
    "with levels of grey": clear("white").convert("LA"),
    "with a palette": clear("white").quantize(64),
    "upside down": turned(3, Image.Transpose.ROTATE_180),
    "on its side": turned(6, Image.Transpose.ROTATE_90),
    "16 bits": BLACK_ON_WHITE.convert("L").convert("I").point(lambda value: value * 257).convert("I;16"),
    "fractions": BLACK_ON_WHITE.convert("F").point(lambda value: value * (1 / 255) + 0),
    "printing colours": BLACK_ON_WHITE.convert("CMYK"),
}


@pytest.mark.parametrize("name", AS_FILES_COME)
def test_text_is_read_as_a_viewer_shows_it(name: str) -> None:
    texts = [line.partition(") ")[2] for line in read(AS_FILES_COME[name]).splitlines()]
    assert texts and set(texts) == {"Total 450"} and len(texts) == (2 if "black and" in name else 1)


@pytest.mark.parametrize(("colour", "ground"), [("black", "white"), ("white", "dark grey")])
def test_the_basic_description_names_the_background_that_a_transparent_picture_gets(colour: str, ground: str) -> None:
    found = ImageDescription(ToolSettings(basic=True)).apply(Path(), image=clear(colour))
    assert re.fullmatch(rf"A picture of 300 by 160 pixels, mainly {ground}.*\. It reads: Total 450", found)


@pytest.mark.parametrize("size", [(5000, 3), (3, 5000), (1, 101)])
def test_a_picture_that_is_too_thin_is_refused_in_a_sentence(size: tuple[int, int]) -> None:
    with pytest.raises(ToolError, match=r"image has \d+ by \d+ pixels, which is too thin to be read; .* so cut it$"):
        read(Image.new("RGB", size, "white"))


@pytest.mark.parametrize("size", [(1, 1), (3, 300), (5000, 50), (30, 3000)])
def test_small_and_long_pictures_are_read(size: tuple[int, int]) -> None:
    assert read(Image.new("RGB", size, "white")) == ""


def test_all_tools_of_a_process_share_a_reader() -> None:
    assert reader() is reader("cpu") is reader("cpu:1")


def test_paragraphs_can_be_switched_off() -> None:
    image = page((20, 20, "the quick brown fox"), (20, 48, "jumps over the dog"))
    assert len(read(image).splitlines()) == 1
    assert len(read(image, ToolSettings(tables={"OCR": {"paragraphs": False}})).splitlines()) == 2


def test_reading_says_nothing() -> None:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        assert len(Reader().lines(page((40, 60, "quiet")))) == 1
    assert (out.getvalue(), err.getvalue()) == ("", "")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="onnxruntime has this option for x86 only")
def test_tiny_floats_are_zero_for_the_reader_alone() -> None:
    program = (
        "import json; from tool_impls.perception.ocr_engine import OnProcessor;"
        "half = float('1e-310').__truediv__; print(json.dumps([OnProcessor().run(half, 2.0), half(2.0)]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [0.0, 5e-311]


def line(x1: int, y1: int, x2: int, y2: int, text: str) -> Block:
    return Block(x1, y1, x2, y2, text, y2 - y1)


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ([], []),
        ([line(0, 0, 50, 10, "a")], ["(0, 0, 50, 10) a"]),
        ([line(0, 0, 50, 10, "a"), line(2, 14, 60, 24, "b")], ["(0, 0, 60, 24) a b"]),
        ([line(0, 14, 50, 24, "b"), line(0, 0, 50, 10, "a"), line(0, 28, 50, 38, "c")], ["(0, 0, 50, 38) a b c"]),
        (
            [line(0, 0, 50, 10, "a"), line(0, 15, 50, 25, "gap of half a line")],
            ["(0, 0, 50, 10) a", "(0, 15, 50, 25) gap of half a line"],
        ),
        ([line(0, 0, 50, 10, "a"), line(60, 12, 90, 22, "aside")], ["(0, 0, 50, 10) a", "(60, 12, 90, 22) aside"]),
        (
            [line(0, 0, 50, 20, "Heading"), line(0, 22, 50, 32, "text")],
            ["(0, 0, 50, 20) Heading", "(0, 22, 50, 32) text"],
        ),
        (
            [
                line(0, 0, 40, 10, "tea"),
                line(60, 0, 80, 10, "1"),
                line(0, 11, 40, 21, "milk"),
                line(60, 11, 80, 21, "2"),
            ],
            ["(0, 0, 40, 10) tea", "(60, 0, 80, 10) 1", "(0, 11, 40, 21) milk", "(60, 11, 80, 21) 2"],
        ),
    ],
)
def test_lines_become_paragraphs(lines: list[Block], joined: list[str]) -> None:
    assert [str(block) for block in paragraphs(lines)] == joined
