"""Tools that describe a picture or a video, through a vision model or in a plain basic mode."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import flattened
from tool_impls import base, devices
from tool_impls.geometry import crop
from tool_impls.options import Option
from tool_impls.perception import ocr, vision
from tool_impls.perception.colours import main_colours, name_of
from tool_impls.settings import ToolSettings
from tool_impls.video.frames import Frame, open_video, spread
from tool_impls.video.timing import timing_of

if TYPE_CHECKING:
    from PIL.Image import Image

BOX = base.text("bbox", "The part to look at, as (x1, y1, x2, y2) in pixels.")
FRAME_SKIP = "Every how many frames one is described, 5 if left out; fewer in a long video."


class _Seeing(vision.VisionTool):
    """A tool that asks the vision model, or describes what can be measured without one, if the settings allow it."""

    category = "perception"
    packages: ClassVar[tuple[str, ...]] = ocr.PACKAGES
    pure = True
    version = 2  # pictures as viewers display them
    _device = devices.CPU

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        state = super().back_end(settings)
        if vision.configured(settings):
            return state
        return base.BASIC if settings.basic else f"{state}; or set basic = true in [tools]"

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        reads = not vision.configured(settings) and cls.packages == ocr.PACKAGES
        return reads or super().on_device(settings)  # the reader is a model too

    @classmethod
    def device_table(cls, settings: ToolSettings) -> str:
        return vision.TABLE if vision.configured(settings) else ocr.TABLE

    @classmethod
    def lacks_gpu(cls, settings: ToolSettings) -> str:
        return "" if vision.configured(settings) else ocr.lacks_gpu()

    def setup(self, device: str = devices.CPU) -> None:
        super().setup(device)
        self._device = device

    def _described(self, image: Image, question: str) -> str:
        """The model's answer; without a model what can be measured: size, main colours and text."""
        if self._model:
            return self._model.ask(image, question)
        width, height = image.size
        words = " ".join(block.text for block in ocr.reader(self._device).lines(image))
        seen = f"A picture of {width} by {height} pixels, mainly {' and '.join(main_colours(image))}."
        return f"{seen} It reads: {words}" if words else f"{seen} It holds no text."


class ImageDescription(_Seeing):
    meta = base.tool("ImageDescription", "Describes in words what a picture shows.", (base.IMAGE,), base.TEXT_OUT)

    def apply(self, folder: Path, /, image: Image) -> str:
        return self._described(image, "Describe this picture in detail.")


class RegionAttributeDescription(_Seeing):
    meta = base.tool(
        "RegionAttributeDescription",
        "Describes one attribute of a part of a picture.",
        (base.IMAGE, BOX, base.text("attribute", "What to describe: the colour, the text, the mood ...")),
        base.TEXT_OUT,
    )

    def apply(self, folder: Path, /, image: Image, bbox: str, attribute: str) -> str:
        return self._described(crop(image, bbox), f"Describe this attribute of the picture in detail: {attribute}.")


class VideoDescription(_Seeing):
    """Describes frames of a video (GTA tools spec 5.4). The released tool writes a caption for every ``frame_skip``-th
    frame, without an upper limit.
    """

    meta = base.tool(
        "VideoDescription",
        "Describes frames of a video. Each line of the answer is 'Frame', the frame's number from 0, and what it"
        " shows.",
        (base.path("video", "Path of the video file."), base.optional("int", "frame_skip", None, FRAME_SKIP)),
        base.TEXT_OUT,
    )
    packages = ("av", "PIL")
    options = (Option("max_frames", "int", 16, "frames that are described, at most, spread evenly; 0: all", least=0),)
    concurrency = 2
    seconds = 600.0

    def apply(self, folder: Path, /, video: Path, frame_skip: int | None = None) -> str:
        frames = spread(video, self.option("max_frames") or sys.maxsize, 5 if frame_skip is None else frame_skip)
        if self._model is None:
            lines = [f"Frame {frame.number}: {mean_colour(frame.image)}" for frame in frames]
            return "\n".join([outline(video), *lines])
        with ThreadPoolExecutor(4, thread_name_prefix="caption") as pool:  # a model answers them together
            captions = list(pool.map(self._caption, frames))
        if not captions:
            raise ToolError(f"{video.name} holds no picture that can be decoded")
        return "\n".join(captions)

    def _caption(self, frame: Frame) -> str:
        answer = self._ask(frame.image, "Describe this picture in one short sentence.")
        return f"Frame {frame.number}: {' '.join(answer.split())}"


def outline(path: Path) -> str:
    """Size and length of a video."""
    with open_video(path) as container:
        stream = container.streams.video[0]
        return f"A video of {stream.width} by {stream.height} pixels, {timing_of(container).seconds:.1f} s long."


def mean_colour(image: Image) -> str:
    from PIL import ImageStat

    red, green, blue = (round(value) for value in ImageStat.Stat(flattened(image)).mean)
    return f"mean colour ({red}, {green}, {blue}), {name_of((red, green, blue))}"
