"""VideoOCR: reading the text in the frames of a video (GTA tools spec 5.4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tool_impls import base
from tool_impls.options import Option
from tool_impls.perception import ocr
from tool_impls.video.frames import Frame, frames

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


def _read(pictures: Iterator[Frame], limit: int, reader: ocr.Reader) -> Iterator[tuple[Frame, str]]:
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
