"""The engine behind OCR: lines of several pictures that are read together, and GPUs that cannot be used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image, ImageDraw, ImageFont
from rapidocr import RapidOCR

from agentgauge.core.errors import ToolFault, ToolUnavailable
from tool_impls.perception import ocr_engine
from tool_impls.perception.ocr import OCR
from tool_impls.perception.ocr_engine import OnProcessor, Together, on_gpu
from tool_impls.settings import ToolSettings

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
    for found, wanted in zip(at_once(Together(), pictures), map(alone, pictures), strict=True):
        assert found.txts == wanted.txts and len(found.txts) > 0
        assert numpy.array_equal(found.boxes, wanted.boxes)
        assert found.scores == pytest.approx(wanted.scores, abs=1e-4)


def test_a_picture_without_text_has_no_lines() -> None:
    assert Together()(numpy.full((60, 90, 3), 255, "uint8")).txts is None


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
    found = at_once(Together(), [drawn(word) for word in words])
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
    assert Together()(drawn("Tea", "Milk", "Rice", "Bread")).txts == ("Tea", "Milk", "Rice", "Bread")
    assert room[1:] == [4, 2, 2]


def test_a_line_that_does_not_fit_alone_is_a_fault_that_says_what_it_needed(room: list[int]) -> None:
    room[0] = 0
    with pytest.raises(ToolFault, match=r"OCR ran out of memory on cpu: it needed 1.2 GiB more, over one call"):
        Together()(drawn("Tea"))


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
