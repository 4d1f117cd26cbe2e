"""The three tools that find things: TextToBbox, CountGivenObject and VideoObjectDetection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import crop
from tool_impls.model_sources import local
from tool_impls.perception import vision
from tool_impls.perception.detection import finder
from tool_impls.perception.detection.detector import SHIPPED, Hit, Names, lacks_encoder, vocabulary
from tool_impls.settings import Option, ToolSettings
from tool_impls.video.frames import Frame, frames

if TYPE_CHECKING:
    from PIL.Image import Image

    from tool_impls.model_sources import Vision
    from tool_impls.perception.detection.finder import Finder
    from tool_impls.perception.vision import LocalVision

FOUND = 0.5  # least score of a hit, as released (docs/benchmarks/tools.md#pictures)
BEST = 0.1  # least score of the best hit, where only that is asked for
COUNTED = 0.4  # least score of a hit that counts
SEEN = 0.25  # least score of a hit in a frame

LONGEST = 200  # characters of a description

BY = Option("by", "text", None, "who counts, by default vision where it is set", accepted=("vision", "detection"))
THINGS = "person, bicycle, car, bus, truck, boat, dog, cat, bird, horse, bottle, cup, chair, table, phone, laptop, book"
PART = "The part to look at, as (x1, y1, x2, y2) in pixels; the whole picture if left out."
FRAME_SKIP = "Every how many frames to look, from the first on; 1, every frame, if left out."
NOTHING = "No such object was found in the picture."


class _Detecting(base.BenchTool):
    """Looks for things with the shared detector. ``takes_words``: whether the model says what to look for."""

    packages: ClassVar[tuple[str, ...]] = ("PIL",)
    extra = "vision"
    pure = True
    version = 2  # pictures as viewers display them
    tables: ClassVar[tuple[str, ...]] = ("detection",)
    concurrency = 16  # so that calls that come together become one batch
    takes_words: ClassVar[bool] = True
    finder: Finder  # since setup

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        state, choice = finder.state(settings), finder.chosen(settings)
        if state != base.READY or choice is None or not isinstance(choice.weights, Path):
            return state
        known = vocabulary(choice.weights)
        if known.any_words is False and (cls.takes_words or choice.weights == SHIPPED):
            return base.substitute(f"detector of fixed classes: {known}")
        missing = lacks_encoder(choice.weights) if known.any_words and choice.backend == "ultralytics" else None
        if missing and cls.takes_words:
            return base.substitute(f"detector of fixed classes: its free text needs {missing}")
        return state

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        choice = finder.chosen(settings)
        return (
            f"{choice.backend} {Path(choice.weights).name}"
            if choice
            else str(settings.value(finder.TABLE, finder.BACKEND))
        )

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        choice = finder.chosen(settings)
        return local(choice.weights) if choice else ()

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return finder.chosen(settings) is not None

    def setup(self, device: str = "cpu") -> None:
        self.finder = finder.load_finder(self.settings, device)

    def least(self, own: float) -> float:
        """The smallest score of a hit: the table's, else the tool's own."""
        value = self.settings.value(finder.TABLE, finder.THRESHOLD)
        return own if value is None else float(value)


class TextToBbox(_Detecting):
    meta = base.tool(
        "TextToBbox",
        "Finds a described object in a picture. Each line of the answer is a box (x1, y1, x2, y2) in pixels and a score"
        " in percent.",
        (
            base.IMAGE,
            base.text("text", "The object, in English."),
            base.optional("bool", "top1", True, "True: only the best match; false: every match with a score above 50."),
        ),
        base.TEXT_OUT,
    )
    category = "perception"
    options = (Option("empty", "bool", False, "answer with an empty text for no match, without top1", released=True),)

    def apply(self, folder: Path, /, image: Image, text: str, top1: bool = True) -> str:
        """The lines, or a fixed sentence where nothing fits (docs/benchmarks/tools.md#pictures)."""
        hits = self.finder.find(image, described(text), BEST if top1 else self.least(FOUND))
        if hits:
            return "\n".join(f"{corners(hit)}, score {100 * hit.score:.0f}" for hit in (hits[:1] if top1 else hits))
        return "" if self.option("empty") and not top1 else NOTHING


class CountGivenObject(_Detecting):
    meta = base.tool(
        "CountGivenObject",
        "Counts how many of a named thing a picture holds.",
        (base.IMAGE, base.text("text", "The thing to count, in English."), base.optional("text", "bbox", None, PART)),
        Parameter("int"),
    )
    category = "logic"
    seconds = 300.0  # a local vision model may take its time
    options = (BY,)
    tables = ("detection", "vision")
    _model: Vision | LocalVision | None = None

    @classmethod
    def _asks(cls, settings: ToolSettings) -> bool:
        by = settings.value(cls.meta.name, BY)
        return by == "vision" or (by is None and vision.configured(settings))

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        return vision.VisionTool.back_end(settings) if cls._asks(settings) else super().back_end(settings)

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        return vision.VisionTool.backend(settings) if cls._asks(settings) else super().backend(settings)

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        return vision.VisionTool.weights(settings) if cls._asks(settings) else super().weights(settings)

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return vision.VisionTool.on_device(settings) if cls._asks(settings) else super().on_device(settings)

    @classmethod
    def device_table(cls, settings: ToolSettings) -> str:
        return vision.TABLE if cls._asks(settings) else finder.TABLE

    def setup(self, device: str = "cpu") -> None:
        if self._asks(self.settings):
            self._model = vision.vision_model(self.settings, device)
        else:
            super().setup(device)

    def apply(self, folder: Path, /, image: Image, text: str, bbox: str | None = None) -> int:
        """The number of hits; with vision the first digits in the answer, 0 if there are none
        (docs/benchmarks/tools.md#pictures)."""
        part, thing = crop(image, bbox) if bbox else image, described(text)
        if self._model is None:
            return len(self.finder.find(part, thing, self.least(COUNTED)))
        answer = self._model.ask(part, f"How many of these are in the picture: {thing}? Answer with a digit.")
        number = re.search(r"[0-9]+", answer)
        return int(number[0]) if number else 0


class VideoObjectDetection(_Detecting):
    meta = base.tool(
        "VideoObjectDetection",
        "Finds objects in the frames of a video. Each line of the answer is one frame: its number, then box, confidence"
        " and class of every object in it.",
        (base.path("video", "The video file."), base.optional("int", "frame_skip", None, FRAME_SKIP)),
        base.TEXT_OUT,
    )
    category = "perception"
    packages = ("PIL", "av")
    seconds = 300.0
    concurrency = 2
    takes_words = False
    options = (
        Option("objects", "text", THINGS, "what a detector of free text looks for, separated by commas"),
        Option("limit", "int", 2000, "most frames that are looked at", least=1),
    )

    def apply(self, folder: Path, /, video: Path, frame_skip: int | None = None) -> str:
        """One line for each frame (docs/benchmarks/tools.md#images-and-video); a last one says where the limit cut the
        video short."""
        limit = self.option("limit")
        lines: list[str] = []
        pictures = frames(video, 1 if frame_skip is None else frame_skip, limit + 1)
        while part := list(islice(pictures, min(self.finder.batch, limit + 1 - len(lines)))):
            lines += self._lines(part)
        if not lines:
            raise ToolError(f"{video.name} holds no frame that can be shown")
        cut = f"(only the first {limit} frames looked at; a larger frame_skip reaches further)"
        return "\n".join(lines if len(lines) <= limit else [*lines[:limit], cut])

    def _lines(self, part: list[Frame]) -> Iterator[str]:
        found = self.finder.find_all([frame.image for frame in part], self._names(), self.least(SEEN))
        for frame, hits in zip(part, found, strict=True):
            things = (f"{corners(hit)} conf: {hit.score:.2f}, class: {hit.label} ({hit.number})" for hit in hits)
            yield f"Frame {frame.number}: {' | '.join(things) or '(no detections)'}"

    def _names(self) -> Names | None:
        """None where the detector knows what to look for."""
        if self.finder.classes is not None:
            return None
        return tuple(name.strip() for name in self.option("objects").split(",") if name.strip())


def described(text: str) -> str:
    """The words, without blanks around them. Raises ToolError where there are none or too many."""
    words = text.strip()
    if not words:
        raise ToolError("text must name an object in English, such as 'red car'; it is empty")
    if len(words) > LONGEST:
        raise ToolError(f"text must name an object in at most {LONGEST} characters; it has {len(words)}")
    return words


def corners(hit: Hit) -> str:
    """The box in whole pixels."""
    return f"({', '.join(f'{value:.0f}' for value in hit.box)})"
