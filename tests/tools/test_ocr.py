"""OCR, and the model that reads for all tools of a process."""

from __future__ import annotations

import io
import json
import platform
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image, ImageDraw, ImageFont
from rapidocr import RapidOCR

from agentgauge.core.errors import ToolError, ToolFault, ToolUnavailable
from tool_impls.perception import ocr_engine
from tool_impls.perception.ocr import OCR, Block, TextReader, paragraphs, reader
from tool_impls.perception.ocr_engine import OnProcessor, SharedEngine, on_gpu
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
        assert len(TextReader().lines(page((40, 60, "quiet")))) == 1
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


# -- the engine


PICTURES = Path(__file__).parents[2] / "bench_gta" / "atomic" / "mini" / "image"


def drawn(*lines: str) -> Any:
    image = Image.new("RGB", (360, 60 * len(lines) + 20), "white")
    for number, text in enumerate(lines):
        ImageDraw.Draw(image).text((20, 60 * number + 20), text, fill="black", font=ImageFont.load_default(32))
    return numpy.array(image)


def pixels(name: str) -> Any:
    return numpy.array(Image.open(PICTURES / name).convert("RGB"))[:, :, ::-1].copy()


@pytest.fixture(scope="module")
def alone() -> OnProcessor:
    return OnProcessor()


def at_once(engine: Callable[[Any], Any], pictures: list[Any]) -> list[Any]:
    with ThreadPoolExecutor(len(pictures)) as threads:
        return list(threads.map(engine, pictures))


def test_pictures_of_several_callers_are_read_as_each_alone(alone: OnProcessor) -> None:
    wide = "a line that is much wider than it is high"
    pictures = [pixels("receipt_cafe.jpg"), pixels("scale_red.jpg"), drawn("Tea 2.50", "Milk 1.20"), drawn(wide)]
    for found, wanted in zip(at_once(SharedEngine(), pictures), map(alone, pictures), strict=True):
        assert found.txts == wanted.txts and len(found.txts) > 0
        assert numpy.array_equal(found.boxes, wanted.boxes)
        assert found.scores == pytest.approx(wanted.scores, abs=1e-4)


def test_a_picture_without_text_has_no_lines() -> None:
    assert SharedEngine()(numpy.full((60, 90, 3), 255, "uint8")).txts is None


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of lines that went through the recogniser at once. The first wait until text is found in 4 pictures."""
    seen: list[int] = []
    left, all_found = list(range(4)), threading.Event()
    find, read = RapidOCR.detect_and_crop, RapidOCR.recognize_txt

    def found(self: RapidOCR, *picture: Any) -> Any:
        result = find(self, *picture)
        left.pop()
        if not left:
            all_found.set()
        return result

    def reads(self: RapidOCR, lines: list[Any]) -> Any:
        assert all_found.wait(60)
        seen.append(len(lines))
        return read(self, lines)

    monkeypatch.setattr(RapidOCR, "detect_and_crop", found)
    monkeypatch.setattr(RapidOCR, "recognize_txt", reads)
    return seen


def test_lines_that_wait_go_through_the_recogniser_together(sizes: list[int]) -> None:
    words = ["Tea", "Milk", "Rice", "Bread"]
    found = at_once(SharedEngine(), [drawn(word) for word in words])
    assert [result.txts for result in found] == [(word,) for word in words]
    assert sorted(sizes) == [1, 3]


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines the memory has room for, and after that the numbers that were tried."""
    from rapidocr.inference_engine.onnxruntime import ONNXRuntimeError

    read, most = RapidOCR.recognize_txt, [2]

    def reads(self: RapidOCR, lines: list[Any]) -> Any:
        most.append(len(lines))
        if len(lines) > most[0]:
            full = RuntimeError("Failed to allocate memory for requested buffer of size 1288490188")
            raise ONNXRuntimeError(str(full)) from full
        return read(self, lines)

    monkeypatch.setattr(RapidOCR, "recognize_txt", reads)
    return most


def test_lines_that_do_not_fit_into_memory_together_are_read_in_parts(room: list[int]) -> None:
    assert SharedEngine()(drawn("Tea", "Milk", "Rice", "Bread")).txts == ("Tea", "Milk", "Rice", "Bread")
    assert room[1:] == [4, 2, 2]


def test_a_line_that_does_not_fit_alone_is_a_fault_that_says_what_it_needed(room: list[int]) -> None:
    room[0] = 0
    with pytest.raises(ToolFault, match=r"OCR ran out of memory on cpu: it needed 1.2 GiB more, over one call"):
        SharedEngine()(drawn("Tea"))


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        (None, "the package onnxruntime is built for the processor; install onnxruntime-gpu in its place"),
        ("", r"onnxruntime could not load its libraries; install the CUDA and cuDNN libraries that onnxruntime \d"),
    ],
    ids=["another package", "libraries"],
)
def test_a_gpu_that_onnxruntime_does_not_use_is_refused(
    lacking: str | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """onnxruntime goes on with the processor, and says nothing."""
    if ocr_engine.lacks_gpu() == "":
        pytest.skip("this onnxruntime can use a GPU")
    if lacking is not None:
        monkeypatch.setattr(ocr_engine, "lacks_gpu", lambda: lacking)
    with pytest.raises(ToolUnavailable, match=rf'^OCR cannot use cuda:7: {told}.*, or set device = "cpu" in \[tools'):
        on_gpu("cuda:7")


def test_pictures_wait_for_each_other_on_the_processor_alone() -> None:
    assert [OCR(ToolSettings()).together(name) for name in ("cpu", "cpu:1", "cuda:0")] == [1, 1, OCR.concurrency]
    assert OCR.concurrency > 1
