"""AddTextVideoTool: writing on every frame of a video (docs/benchmarks/tools.md#images-and-video)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import file_name, numbers
from tool_impls.fonts import Pen, boxes
from tool_impls.settings import Option
from tool_impls.video.frames import video_frames, video_timing
from tool_impls.video.video_file import COLOURS, RGB_601, WEIGHTS, copy

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT_TEXT = "Hello, World!"
MOST_SIGNS, MOST_SCALE, MOST_THICKNESS = 500, 20.0, 50
FAR = 50_000.0  # pixels
CAPITAL = 0.729  # height of a capital letter of DejaVu, in font sizes
ITALIC = 16  # added to the number of a font


class Style(NamedTuple):
    capital: float  # pixels that a capital letter is high at scale 1
    serif: bool = False
    bold: bool = False
    italic: bool = False


STYLES = (
    Style(21),
    Style(9),
    Style(21),
    Style(21, serif=True),
    Style(21, serif=True, bold=True),
    Style(13, serif=True),
    Style(21, serif=True, italic=True),
    Style(21, serif=True, italic=True),
)
"""By OpenCV's number of a font; the letters are DejaVu's, as high as OpenCV's."""


class AddTextVideoTool(base.BenchTool):
    """Writes a text on a video. The released tool uses OpenCV's letters, which are Latin only, and drops the sound."""

    meta = base.tool(
        "AddTextVideoTool",
        "Writes text on every frame of a video.",
        (
            base.path("video", "Path of the video file."),
            base.optional("text", "output_dir", None, "Has no effect: results lie in the task's output folder."),
            base.optional("text", "text", None, f"What to write; {DEFAULT_TEXT!r} if left out."),
            base.optional(
                "text", "position", None, "Left end of the text's base line as x,y in pixels; 50,50 if left out."
            ),
            base.optional(
                "int", "font", None, "OpenCV's number of a font, 0 to 7, and 16 more for italics; 0 if left out."
            ),
            base.optional("float", "font_scale", None, "Size: at 1, the default, capital letters are 21 pixels high."),
            base.optional("text", "color", None, "Colour as blue,green,red, each from 0 to 255; white if left out."),
            base.optional("int", "thickness", None, "Thickness of the strokes in pixels; 2 if left out."),
            base.optional("text", "filename", None, "Name of the result, an MP4 file."),
        ),
        Parameter("video"),
    )
    category = "operation"
    confined = True
    packages = ("av", "PIL", "numpy")
    options = (
        Option("sound", "bool", True, "keep the sound; the released tool drops it", released=False),
        Option("max_seconds", "float", 1800.0, "longest video that is taken", least=1),
        Option("font_file", "path", None, "a font file for the text, in place of DejaVu and a font of the system"),
    )
    seconds = 600.0
    library = "av, Pillow"

    def apply(
        self,
        folder: Path,
        /,
        video: Path,
        output_dir: str | None = None,
        text: str | None = None,
        position: str | None = None,
        font: int | None = None,
        font_scale: float | None = None,
        color: str | None = None,
        thickness: int | None = None,
        filename: str | None = None,
    ) -> Path | base.Noted:
        """Raises ToolError for a value out of range, and for a video that is unreadable or too long."""
        words = DEFAULT_TEXT if text is None else text
        point = check_position(position)
        ink = check_colour(color)
        style = check_font(font)
        scale, width = 1.0 if font_scale is None else font_scale, 2 if thickness is None else thickness
        if not 0 < scale <= MOST_SCALE:
            raise ToolError(f"font_scale must be above 0 and at most {MOST_SCALE:g}; got {scale:g}")
        if not 0 <= width <= MOST_THICKNESS:
            raise ToolError(f"thickness must be from 0 to {MOST_THICKNESS}; got {width}")
        if len(words) > MOST_SIGNS:
            raise ToolError(f"text may have {MOST_SIGNS} characters; got {len(words)}")
        target = folder / file_name(filename, default_name(words), ".mp4")
        size = max(1.0, style.capital / CAPITAL * scale)
        pen = Pen(size, serif=style.serif, bold=style.bold, italic=style.italic, own=self.option("font_file"))
        stroke = max(0.0, width - 2) / 2  # a DejaVu letter is about 2 pixels thick by itself
        label = Label(lambda mask: pen.write(mask, *point, words, stroke), ink)
        timing, most = video_timing(video), self.option("max_seconds")
        if timing.seconds > most:
            longest = f"{most:g} seconds, which is the most that is taken"
            raise ToolError(f"{video.name} is longer than {longest}; cut it with VideoClip")
        frames = video_frames(video, timing=timing)
        stretch = (timing.begin, timing.end) if timing.ticks else None
        copy(video, target, frames, timing, sound=self.option("sound"), paint=label.put, stretch=stretch)
        lost = pen.lost(words)
        return base.Noted(target, boxes("video", lost)) if lost else target


class Label:
    """Something in one colour that is put on frames in yuv420p. Only the pixels below it change."""

    def __init__(self, write: Callable[[Image], None], ink: tuple[int, int, int]) -> None:
        """``write``: draws on a grey mask as large as a frame. ``ink``: red, green, blue."""
        self._write, self._ink = write, ink
        self._parts: tuple[tuple[tuple[slice, slice], Any], ...] | None = None

    def put(self, frame: Any) -> Any:
        """The frame with the label on it (both ``av.VideoFrame``)."""
        import av
        import numpy

        if self._parts is None:
            self._parts = self._masks(frame.width, frame.height)
        if not self._parts:
            return frame
        pixels = frame.to_ndarray()
        height, width = frame.height, frame.width
        planes = numpy.split(pixels.reshape(-1), (height * width, height * width * 5 // 4))
        for number, (plane, value) in enumerate(zip(planes, self._values(frame.colorspace), strict=True)):
            (rows, columns), share = self._parts[number > 0]
            view = plane.reshape((height // 2, width // 2) if number else (height, width))[rows, columns]
            view[...] = numpy.rint(view + (value - view) * share)
        written = av.VideoFrame.from_ndarray(pixels, format="yuv420p")
        for name in COLOURS:
            setattr(written, name, getattr(frame, name))
        return written

    def _masks(self, width: int, height: int) -> tuple[tuple[tuple[slice, slice], Any], ...]:
        """Where the label lies and how much of each pixel it covers, for brightness and colour; () if outside."""
        import numpy
        from PIL import Image

        mask = Image.new("L", (width, height))
        self._write(mask)
        if (box := mask.getbbox()) is None:
            return ()
        left, top, right, bottom = (side - side % 2 for side in (*box[:2], box[2] + 1, box[3] + 1))
        cover = numpy.asarray(mask.crop((left, top, right, bottom)), dtype=numpy.float32) / 255
        halves = cover.reshape(cover.shape[0] // 2, 2, cover.shape[1] // 2, 2).mean(axis=(1, 3))
        return (
            ((slice(top, bottom), slice(left, right)), cover),
            ((slice(top // 2, bottom // 2), slice(left // 2, right // 2)), halves),
        )

    def _values(self, space: int) -> tuple[float, float, float]:
        """The colour as brightness, blue and red difference, of limited range."""
        red, green, blue = (part / 255 for part in self._ink)
        of_red, of_blue = WEIGHTS.get(space, WEIGHTS[RGB_601])
        light = of_red * red + (1 - of_red - of_blue) * green + of_blue * blue
        return 16 + 219 * light, 128 + 112 * (blue - light) / (1 - of_blue), 128 + 112 * (red - light) / (1 - of_red)


def check_position(position: str | None) -> tuple[float, float]:
    """A position in pixels. Raises ToolError unless the text holds two numbers."""
    found = numbers("50,50" if position is None else position)
    if len(found) != 2:
        raise ToolError(f"position must be two numbers, x,y in pixels, such as '50,50'; got {position!r}")
    x, y = (min(max(value, -FAR), FAR) for value in found)
    return x, y


def check_colour(color: str | None) -> tuple[int, int, int]:
    """Red, green and blue of a text with blue, green and red. Raises ToolError."""
    found = numbers("255,255,255" if color is None else color)
    if len(found) != 3 or not all(0 <= value <= 255 for value in found):
        must = "must be three numbers from 0 to 255, blue,green,red, such as '0,0,255' for red"
        raise ToolError(f"color {must}; got {color!r}")
    blue, green, red = (int(value) for value in found)
    return red, green, blue


def check_font(font: int | None) -> Style:
    """Raises ToolError for a number that OpenCV does not know either."""
    number, italic = (0 if font is None else font) % ITALIC, (font or 0) >= ITALIC
    if not 0 <= (font or 0) < 2 * ITALIC or number >= len(STYLES):
        raise ToolError(f"font must be a number from 0 to {len(STYLES) - 1}, or {ITALIC} more for italics; got {font}")
    style = STYLES[number]
    return style._replace(italic=style.italic or italic)


def default_name(text: str) -> str:
    """``video_with_text_`` and the first 20 letters, digits and blanks of the text, blanks as ``_``."""
    kept = [sign for sign in text if sign.isalnum() or sign == " "][:20]
    return f"video_with_text_{''.join(kept).replace(' ', '_')}".rstrip("_")
