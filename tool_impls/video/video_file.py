"""Writing video files: H.264 in MP4, with the sound of the file that they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tool_impls.audio import sound_file
from tool_impls.bounds import check_result
from tool_impls.video.frames import Timing, open_media, upright

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

SMALL = 400_000  # pixels of a frame up to which one thread is fast enough
CLOCK = 90_000  # ticks a second: whole for all usual rates
QUALITY = "20"  # of x264: 0 is exact, 51 is the worst; what it changes is not seen
SOUND_RATE = 48_000  # samples a second
COLOURS = ("colorspace", "color_range", "color_primaries", "color_trc")
LIMITED = 1  # FFmpeg's number of the range from 16 to 235
RGB_AS = 1  # FFmpeg's number of the rule for high definition (BT.709), which frames made from RGB follow
RGB_601 = 5  # and of the older one, by which FFmpeg shows files that name none
WEIGHTS = {RGB_AS: (0.2126, 0.0722), RGB_601: (0.299, 0.114), 6: (0.299, 0.114), 9: (0.2627, 0.0593)}
"""Share of red and blue in the brightness, by the number of the rule."""


class VideoWriter:
    """An MP4 file in the making. Use with ``with``.

    ``size``: of the first frame, in pixels; odd sides get one more row or column, a copy of the last, as H.264 needs.
    ``timed``: frames are added with their times. ``track``: the source of sound; None for no sound. The file holds no
    time stamp, so that equal videos give equal files; with frames above SMALL the encoder works in several threads, and
    then bits may differ on a busy machine.
    """

    def __init__(
        self, path: Path, rate: Fraction, size: tuple[int, int], track: Track | None = None, *, timed: bool = False
    ) -> None:
        import av

        self._bytes = 0
        flags = {"movflags": "+faststart", "fflags": "+bitexact"}
        self._container = av.open(str(path), "w", format="mp4", options=flags)
        threads = {"threads": "1"} if size[0] * size[1] <= SMALL else {}
        # without mbtree: its fast code gives other bits once in some hundred films where sound is coded beside them
        options = {"crf": QUALITY, "preset": "veryfast", "x264-params": "mbtree=0", **threads}
        self._timed, self._lasts = timed, 0
        if timed:  # where frames change places, the encoder counts uneven times wrong, and the file is too short
            options["bf"] = "0"
        self._stream: Any = self._container.add_stream("libx264", rate=rate, options=options)
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

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                packets = self._stream.encode(None)
                if packets and self._timed:
                    packets[-1].duration = self._lasts  # the encoder gives each packet that of the rate
                self._container.mux(packets)
                if self._sound is not None:
                    self._container.mux(self._sound.encode(None))
        finally:
            self._container.close()

    def add(
        self,
        frame: Any,
        seconds: float | None = None,
        paint: Callable[[Any], Any] | None = None,
        lasts: float | None = None,
    ) -> None:
        """One more frame (``av.VideoFrame``). Raises ToolError where the file becomes too large.

        ``seconds``: when it is shown, from the beginning of the file; by the rate if None. ``paint``: changes the frame
        once it has the format and the size of the file. ``lasts``: seconds for which the last frame is shown; by the
        rate if None.
        """
        picture = fitting(frame, self._stream.width, self._stream.height)
        picture = paint(picture) if paint else picture
        if not self._begun:
            self._begun = True
            for name in COLOURS:
                setattr(self._stream.codec_context, name, getattr(picture, name))
        tick = self._next if seconds is None else max(round(seconds * CLOCK), self._next)
        self._next = tick + (self._step if seconds is None else 1)
        picture.pts, picture.time_base = tick, Fraction(1, CLOCK)
        self._lasts = self._step if lasts is None else max(1, round(lasts * CLOCK))
        picture.duration = self._lasts
        picture.pict_type = 0  # the encoder chooses key frames
        packets = self._stream.encode(picture)
        self._bytes += sum(packet.size for packet in packets)
        check_result(self._bytes)
        self._container.mux(packets)
        if self._track is not None:
            for samples, place in self._track.until((tick + self._lasts) / CLOCK):
                piece = sound_file.frame_of(samples, SOUND_RATE, self._track.layout, place)
                self._container.mux(self._sound.encode(piece))


def fitting(frame: Any, width: int, height: int) -> Any:
    """The frame upright, in yuv420p, of limited range, with even sides. It keeps its colours and says which they are.

    A side that is one short gets a copy of its last row or column; another size, as in files that change in the middle,
    is scaled.
    """
    import av
    import numpy

    if frame.format.name == "yuv420p" and (frame.width, frame.height) == (width, height) and not frame.rotation:
        return frame
    rgb = frame.format.is_rgb or frame.format.has_palette
    space = RGB_AS if rgb else frame.colorspace
    if not rgb and (frame.width, frame.height) == (width, height) and not frame.rotation:
        picture = frame.reformat(format="yuv420p", dst_color_range="MPEG")
    else:
        pixels = upright(frame).to_ndarray(format="rgb24")
        rows, columns = height - pixels.shape[0], width - pixels.shape[1]
        if 0 <= rows <= 1 and 0 <= columns <= 1:
            pixels = numpy.pad(pixels, ((0, rows), (0, columns), (0, 0)), mode="edge")
        upstanding = av.VideoFrame.from_ndarray(numpy.ascontiguousarray(pixels), format="rgb24")
        matrix = space if space in WEIGHTS else RGB_601
        picture = upstanding.reformat(width, height, "yuv420p", dst_colorspace=matrix, dst_color_range="MPEG")
    picture.colorspace, picture.color_range = space, LIMITED
    if not rgb:
        picture.color_primaries, picture.color_trc = frame.color_primaries, frame.color_trc
    return picture


class Track:
    """The sound of a video from a moment on, at SOUND_RATE, in step with its pictures. Use with ``with``."""

    def __init__(self, path: Path, begin: float) -> None:
        """``begin``: seconds of the file's clock at which the new video begins. Raises ToolError for broken sound."""
        self._container = sound_file.open_sound(path)
        channels = self._container.streams.audio[0].channels
        self.layout = "mono" if channels == 1 else "stereo"
        self._pieces = sound_file.pieces(self._container, path.name, SOUND_RATE, self.layout)
        self._begin = begin
        self._place = 0  # samples handed out
        self._rest: NDArray[numpy.float32] | None = None  # read, but not yet due
        self._gap = 0  # samples of silence before it

    def __enter__(self) -> Track:
        return self

    def __exit__(self, *_: object) -> None:
        self._container.close()

    def until(self, seconds: float) -> Iterator[tuple[NDArray[numpy.float32], int]]:
        """The remaining sound before a moment, and the number of its first sample."""
        import numpy

        due = round(seconds * SOUND_RATE)
        while self._place < due:
            if self._rest is None and not self._gap and not self._read():
                return
            most = min(due - self._place, SOUND_RATE)
            if self._gap:
                now = numpy.zeros((1 if self.layout == "mono" else 2, min(self._gap, most)), dtype=numpy.float32)
                self._gap -= now.shape[1]
            else:
                assert self._rest is not None
                now, later = self._rest[:, :most], self._rest[:, most:]
                self._rest = later if later.size else None
            yield now, self._place
            self._place += now.shape[1]

    def _read(self) -> bool:
        """Fetch the next piece, cut or with silence before it so that it is in step; False at the end."""
        for piece in self._pieces:
            samples = sound_file.samples_of(piece)
            offset = 0 if piece.time is None else round((piece.time - self._begin) * SOUND_RATE) - self._place
            if offset < 0 and (self._place == 0 or offset < -sound_file.DRIFT * SOUND_RATE):
                samples = samples[:, -offset:]
            elif offset > sound_file.DRIFT * SOUND_RATE:
                self._gap = offset
            if samples.size:
                self._rest = samples
                return True
        return False


def copy(
    video: Path,
    target: Path,
    frames: Iterable[tuple[int, Any]],
    timing: Timing,
    *,
    sound: bool,
    paint: Callable[[Any], Any] | None = None,
    stretch: tuple[float, float] | None = None,
) -> int:
    """Write numbered frames of a video, and its sound from the first of them on. Returns how many frames there were.

    ``timing``: that of the video. ``paint``: as of ``Writer.add``. ``stretch``: beginning and end of the new video by
    the clock of the old; by its frames if None.
    """
    writer, begin, count = None, 0.0, 0
    sounds = sound and has_sound(video)
    with ExitStack() as stack:
        for (number, frame), is_last in _marked(frames):
            seconds = timing.time_of(number)
            if writer is None:
                begin = seconds if stretch is None else stretch[0]
                track = stack.enter_context(Track(video, begin)) if sounds else None
                writer = stack.enter_context(VideoWriter(target, timing.rate, shown_size(frame), track, timed=True))
            at = max(0.0, seconds - begin)
            writer.add(frame, at, paint, stretch[1] - begin - at if stretch and is_last else None)
            count += 1
    return count


def _marked(frames: Iterable[tuple[int, Any]]) -> Iterator[tuple[tuple[int, Any], bool]]:
    """Each numbered frame, and whether it is the last."""
    before = None
    for one in frames:
        if before is not None:
            yield before, False
        before = one
    if before is not None:
        yield before, True


def has_sound(path: Path) -> bool:
    """Whether a media file has an audio track that can be decoded."""
    with open_media(path, "video") as container:
        return bool(container.streams.audio) and container.streams.audio[0].codec_context is not None


def shown_size(frame: Any) -> tuple[int, int]:
    """Width and height of a frame once it is upright."""
    return (frame.height, frame.width) if round(frame.rotation / 90) % 2 else (frame.width, frame.height)
