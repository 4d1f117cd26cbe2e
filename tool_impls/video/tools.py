"""Tools that make, cut and read videos, and the list of all video tools (docs/benchmarks/tools.md#images-and-video)."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import file_name
from tool_impls.audio.tools import OUTPUT_DIR, TIMES, check_times, seconds_text
from tool_impls.fonts import LINE, Pen, boxes
from tool_impls.perception import ocr
from tool_impls.perception.quality import ImageQualityTest
from tool_impls.settings import Option
from tool_impls.video.frames import Frame, frames, video_frames, video_timing
from tool_impls.video.video_file import VideoWriter, copy
from tool_impls.video.video_text import AddTextVideoTool

if TYPE_CHECKING:
    from PIL.Image import Image


VIDEO_OUT = Parameter("video")

SIDE = 128  # pixels, of a made video
LEAST_SIDE, MOST_SIDE = 16, 2048
MOST_FRAMES, MOST_RATE = 3600, 240
SHOWN = 32  # characters of the description
GREY = (240, 240, 240)
INK = (40, 40, 40)
WORDS = 0.3  # share of the height below the square that the words may take
EDGE = 4  # pixels beside the words
LEAST_LETTERS = 6  # pixels; smaller ones cannot be read


class VideoClip(base.BenchTool):
    """Cuts a part out of a video. The released tool drops the sound."""

    meta = base.tool(
        "VideoClip",
        "Cuts a part out of a video. The result is an MP4 file.",
        (
            base.path("video", "Path of the video file."),
            *TIMES,
            base.optional("text", "filename", None, "Name of the result, an MP4 file."),
            OUTPUT_DIR,
        ),
        VIDEO_OUT,
    )
    category = "operation"
    pure = True
    confined = True
    packages = ("av", "numpy")
    options = (
        Option("sound", "bool", True, "keep the sound; the released tool drops it", released=False),
        Option("max_seconds", "float", 1800.0, "longest part that is cut out", least=1),
    )
    seconds = 600.0

    def apply(
        self,
        folder: Path,
        /,
        video: Path,
        start_time: float | None = None,
        end_time: float | None = None,
        filename: str | None = None,
        output_dir: str | None = None,
    ) -> Path:
        """Frames by their times (``Timing.part``); an end after the last frame is cut. Raises ToolError for invalid
        times, for a part with no frame or too many, and for an unreadable video.
        """
        start, end = check_times(start_time, end_time)
        target = folder / file_name(filename, f"clip_{seconds_text(start)}_{seconds_text(end)}", ".mp4")
        most = self.option("max_seconds")
        timing = video_timing(video)
        if start >= timing.seconds:
            raise ToolError(f"start_time {start:g} is after the end of {video.name}")
        first, last = timing.part(start, end)
        if first == last:
            rates = f"{video.name} has {float(timing.rate):g} frames a second"
            raise ToolError(f"there is no frame from {start:g} to {end:g} seconds: {rates}")
        if min(end, timing.seconds) - start > most:
            raise ToolError(f"a part may be {most:g} seconds long; from {start:g} to {end:g} it is longer")
        frames = takewhile(lambda numbered: numbered[0] < last, video_frames(video, first, timing))
        stretch = timing.stretch(first, last, start, end)
        if not copy(video, target, frames, timing, sound=self.option("sound"), stretch=stretch):
            raise ToolError(f"{video.name} has no frame from {start:g} to {end:g} seconds that can be decoded")
        return target


class TextToVideoTool(base.BenchTool):
    """Makes an animation by rule, without a model, as released."""

    meta = base.tool(
        "TextToVideoTool",
        "Makes a short, simple animation titled with a description.",
        (
            base.text("description", f"What the video is about; its first {SHOWN} characters are shown."),
            OUTPUT_DIR,
            base.optional("int", "num_frames", 8, "How many frames, at least 1."),
            base.optional("text", "resolution", "128,128", f"Width,height in pixels, each at least {LEAST_SIDE}."),
            base.optional("int", "fps", 8, "Frames a second."),
            base.optional("text", "filename", None, "Name of the result, an MP4 file."),
        ),
        VIDEO_OUT,
    )
    category = "creativity"
    confined = True
    packages = ("av", "PIL", "numpy")
    seconds = 300.0
    library = "Pillow, av"

    def apply(
        self,
        folder: Path,
        /,
        description: str,
        output_dir: str | None = None,
        num_frames: int = 8,
        resolution: str = "128,128",
        fps: int = 8,
        filename: str | None = None,
    ) -> Path | base.Noted:
        """An invalid resolution means 128 by 128. Raises ToolError for a number out of range."""
        import av

        if num_frames > MOST_FRAMES:
            raise ToolError(f"num_frames may be {MOST_FRAMES} at most; got {num_frames}")
        if not 1 <= fps <= MOST_RATE:
            raise ToolError(f"fps must be from 1 to {MOST_RATE}; got {fps}")
        size = read_size(resolution)
        target = folder / file_name(filename, "text_to_video", ".mp4")
        count = max(1, num_frames)
        with VideoWriter(target, Fraction(fps), size) as writer:
            for number in range(count):
                writer.add(av.VideoFrame.from_image(drawn(description, number, count, size)))
        lost = Pen(LEAST_LETTERS).lost(description[:SHOWN])
        return base.Noted(target, boxes("video", lost)) if lost else target


def read_size(resolution: str) -> tuple[int, int]:
    """Width and height in pixels; 128 by 128 for a text that is no size. Raises ToolError for a side that is too
    long.
    """
    hit = re.fullmatch(r"\s*\(?\s*(\d{1,9})\s*[,x×]\s*(\d{1,9})\s*\)?\s*", resolution)
    if hit is None:
        return SIDE, SIDE
    width, height = (max(LEAST_SIDE, int(side)) for side in hit.groups())
    if max(width, height) > MOST_SIDE:
        raise ToolError(f"resolution may be {MOST_SIDE} pixels a side; got {resolution!r}")
    return width, height


def drawn(description: str, number: int, count: int, size: tuple[int, int]) -> Image:
    """One frame: on light grey a square on its way to the right and up, in a colour of its own, and the description."""
    from PIL import Image, ImageDraw

    width, height = size
    picture = Image.new("RGB", size, GREY)
    pen, lines = titled(" ".join(description[:SHOWN].split()), width, height)
    side = max(4, min(size) // 4)
    margin = side // 4
    way = number / (count - 1) if count > 1 else 0.0
    lowest = max(margin, round(height * (1 - WORDS)) - side)
    left, top = margin + way * (width - side - 2 * margin), lowest + way * (margin - lowest)
    colour = tuple(round(255 * part) for part in colorsys.hsv_to_rgb(number / count, 0.75, 0.85))
    corner = round(left), round(top)
    ImageDraw.Draw(picture).rectangle((corner, (corner[0] + side - 1, corner[1] + side - 1)), fill=colour)
    mask = Image.new("L", size)
    pen.write(mask, EDGE, height - EDGE - pen.size * (0.2 + LINE * (len(lines) - 1)), "\n".join(lines))
    picture.paste(INK, (0, 0), mask)
    return picture


def titled(title: str, width: int, height: int) -> tuple[Pen, list[str]]:
    """The largest letters with which a title fits into the lower part of a picture, and its lines."""
    size = max(LEAST_LETTERS, min(24, height // 10))
    while True:
        pen = Pen(size)
        lines = broken(title, pen, width - 2 * EDGE)
        if size <= LEAST_LETTERS or len(lines) * LINE * size <= height * WORDS - EDGE:
            return pen, lines
        size -= 1


def broken(title: str, pen: Pen, width: float) -> list[str]:
    """Lines that are no longer than ``width`` pixels, broken at blanks where there are some."""
    lines = [""]
    for word in re.findall(r"\S+\s*", title):
        if lines[-1] and pen.length(lines[-1] + word.rstrip()) > width:
            lines.append("")
        for sign in word:
            if lines[-1].strip() and not sign.isspace() and pen.length(lines[-1] + sign) > width:
                lines.append("")
            lines[-1] += sign
    return [line.rstrip() for line in lines]


FRAME_SKIP = "Every how many frames one is read, from the first on; 1, every frame, if left out."
SAME = 12  # grey levels of 256: where no pixel has changed more, the text is still the same


class VideoOCR(ocr.PictureReader):
    """Reads the text in frames of a video. The released tool uses EasyOCR on all frames, in grey."""

    meta = base.tool(
        "VideoOCR",
        "Reads the text in the frames of a video. Each line of the answer is one frame: its number from 0, then for"
        " each text its box (x1, y1, x2, y2) in pixels and what it says, separated by |.",
        (base.path("video", "Path of the video file."), base.optional("int", "frame_skip", None, FRAME_SKIP)),
        base.TEXT_OUT,
    )
    category = "perception"
    packages = ("av", *ocr.PACKAGES)
    pure = True
    options = (
        Option("skip_same", "bool", False, "leave out frames whose text is that of the frame before"),
        Option("max_frames", "int", 300, "frames that are read, at most; a note says so where there are more", least=1),
    )
    seconds = 600.0
    library = "RapidOCR"

    def apply(self, folder: Path, /, video: Path, frame_skip: int | None = None) -> str:
        """Raises ToolError for an unreadable video and a ``frame_skip`` below 1."""
        limit, quiet = self.option("max_frames"), self.option("skip_same")
        lines: list[str] = []
        before: str | None = None
        pictures = frames(video, 1 if frame_skip is None else frame_skip, limit + 1)
        for number, (frame, text) in enumerate(_read(pictures, limit, ocr.reader(self._device))):
            if number == limit:
                reason = f"only {limit} frames are read at a time; a larger frame_skip reaches further"
                lines.append(f"(stopped before frame {frame.number}: {reason})")
            elif not quiet or text != before:
                lines.append(f"Frame {frame.number}: {text}")
            before = text
        return "\n".join(lines)


def _read(pictures: Iterator[Frame], limit: int, reader: ocr.TextReader) -> Iterator[tuple[Frame, str]]:
    """Each frame and its text. A picture that has not changed is not read again, nor is one beyond the limit."""
    import numpy

    seen: Any = None
    text = ""
    for number, frame in enumerate(pictures):
        if number < limit:
            grey: Any = numpy.asarray(frame.image.convert("L"), dtype=numpy.int16)
            if seen is None or seen.shape != grey.shape or abs(grey - seen).max() > SAME:
                text = " | ".join(map(str, reader.lines(frame.image)))
                seen = grey
        yield frame, text


TOOLS: tuple[type[base.BenchTool], ...] = (ImageQualityTest, VideoClip, VideoOCR, AddTextVideoTool, TextToVideoTool)
