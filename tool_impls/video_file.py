"""Writing video files: H.264 in MP4, with the sound of the file that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tool_impls import sound

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

CLOCK = 90_000  # ticks a second: whole for all usual rates
QUALITY = "20"  # of x264: 0 is exact, 51 is the worst; what it changes is not seen
SOUND_RATE = 48_000  # samples a second
DRIFT = 0.05  # seconds that sound may be off before it is moved
RGB = ("rgb24", "rgba", "gbrp")


class Writer:
    """An MP4 file in the making. Use with ``with``.

    ``size``: of the first frame, in pixels; odd sides get one more row or column, a copy of the last, as H.264 needs.
    ``track``: where sound comes from; None for none. The file holds no time stamp, so that equal videos give equal files.
    """

    def __init__(self, path: Path, rate: Fraction, size: tuple[int, int], track: Track | None = None) -> None:
        import av

        self._container = av.open(str(path), "w", format="mp4", options={"movflags": "+faststart", "fflags": "+bitexact"})
        self._stream: Any = self._container.add_stream("libx264", rate=rate, options={"crf": QUALITY, "preset": "veryfast"})
        self._stream.width, self._stream.height = (side + side % 2 for side in size)
        self._stream.pix_fmt = "yuv420p"
        self._stream.codec_context.time_base = Fraction(1, CLOCK)
        self._step = max(1, round(CLOCK / rate))
        self._next = 0  # tick before which no frame may be shown
        self._begun = False
        self._track = track
        self._sound: Any = None
        if track is not None:
            self._sound = self._container.add_stream("aac", rate=SOUND_RATE)
            self._sound.layout = track.layout
            self._sound.bit_rate = 160_000

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._container.mux(self._stream.encode(None))
                if self._sound is not None:
                    self._container.mux(self._sound.encode(None))
        finally:
            self._container.close()

    def add(self, frame: Any, seconds: float | None = None) -> None:
        """One more frame (``av.VideoFrame``). ``seconds``: when it is shown, from the beginning of the file; by the rate if None."""
        picture = self._fitting(frame)
        if not self._begun:
            self._begun = True
            for name in ("colorspace", "color_range", "color_primaries", "color_trc"):
                setattr(self._stream.codec_context, name, getattr(picture, name))
        tick = self._next if seconds is None else max(round(seconds * CLOCK), self._next)
        self._next = tick + (self._step if seconds is None else 1)
        picture.pts, picture.time_base = tick, Fraction(1, CLOCK)
        picture.duration = self._step
        picture.pict_type = 0  # the encoder chooses key frames
        self._container.mux(self._stream.encode(picture))
        if self._track is not None:
            for samples, place in self._track.until((tick + self._step) / CLOCK):
                self._container.mux(self._sound.encode(sound.frame_of(samples, SOUND_RATE, self._track.layout, place)))

    def _fitting(self, frame: Any) -> Any:
        """The frame as the encoder takes it. Colours of RGB frames follow the rule for high definition, which the file then says."""
        import av

        size = {"width": self._stream.width, "height": self._stream.height}
        if frame.format.name in RGB:
            if (frame.width, frame.height) != tuple(size.values()):
                frame = _padded(frame, **size)
            picture = frame.reformat(format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG")
            picture.colorspace, picture.color_range = av.video.reformatter.Colorspace.ITU709, av.video.reformatter.ColorRange.MPEG
            return picture
        if (frame.width, frame.height) != tuple(size.values()):
            return self._fitting(frame.reformat(format="rgb24"))
        return frame if frame.format.name == "yuv420p" else frame.reformat(format="yuv420p", dst_color_range="MPEG")


def _padded(frame: Any, width: int, height: int) -> Any:
    """An RGB frame with its edges repeated up to a size; one that is larger, as in files that change in the middle, is scaled."""
    import av
    import numpy

    if frame.width not in (width, width - 1) or frame.height not in (height, height - 1):
        return frame.reformat(width=width, height=height)
    pixels = frame.to_ndarray(format="rgb24")
    wide = numpy.pad(pixels, ((0, height - frame.height), (0, width - frame.width), (0, 0)), mode="edge")
    return av.VideoFrame.from_ndarray(wide, format="rgb24")


class Track:
    """The sound of a video from a moment on, at SOUND_RATE, in step with its pictures. Use with ``with``."""

    def __init__(self, path: Path, begin: float) -> None:
        """``begin``: seconds of the file's clock at which the new video begins. Raises ToolError for broken sound."""
        self._container = sound.open_sound(path)
        channels = self._container.streams.audio[0].channels
        self.layout = "mono" if channels == 1 else "stereo"
        self._pieces = sound.pieces(self._container, path.name, SOUND_RATE, self.layout)
        self._begin = begin
        self._place = 0  # samples handed out
        self._rest: NDArray[numpy.float32] | None = None  # read, but not yet due
        self._ended = False

    def __enter__(self) -> Track:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._container.close()

    def until(self, seconds: float) -> Iterator[tuple[NDArray[numpy.float32], int]]:
        """What is not handed out yet of the sound before a moment, and the number of its first sample."""
        due = round(seconds * SOUND_RATE)
        while self._place < due:
            if self._rest is None:
                self._rest = self._read()
                if self._rest is None:
                    return
            now, later = self._rest[:, : due - self._place], self._rest[:, due - self._place :]
            self._rest = later if later.size else None
            if now.size:
                yield now, self._place
                self._place += now.shape[1]

    def _read(self) -> NDArray[numpy.float32] | None:
        """The next piece, its beginning cut or silence put before it such that it is in step; None at the end."""
        import numpy

        for piece in self._pieces:
            samples = sound.samples_of(piece)
            offset = round(((piece.time or 0.0) - self._begin) * SOUND_RATE) - self._place if piece.time is not None else 0
            if offset < 0 and (self._place == 0 or offset < -DRIFT * SOUND_RATE):
                samples = samples[:, -offset:]
            elif offset > DRIFT * SOUND_RATE:
                samples = numpy.pad(samples, ((0, 0), (offset, 0)))
            if samples.size:
                return samples
        return None


def has_sound(path: Path) -> bool:
    """Whether a media file has an audio track that can be decoded."""
    from tool_impls.frames import open_media

    with open_media(path, "video") as container:
        return bool(container.streams.audio) and container.streams.audio[0].codec_context is not None
