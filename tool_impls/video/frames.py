"""Reads pictures from video files, opens media files safely (docs/benchmarks/tools.md#models-behind-the-tools), and
says when frames are shown.

A file holds a time for each frame. Recordings of screens, phones and calls have frames at uneven times, so that a
frame's number says nothing of its time; there a file's rate is a mean or a guess.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from tool_impls.bounds import FRAME_PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image


FALLBACK_RATE = Fraction(25)
FASTEST = 1000  # frames a second; files that declare more mean their clock
SLACK = 0.0006  # seconds; Matroska rounds times to milliseconds, so they are off by half of one


@dataclass(frozen=True, slots=True)
class Timing:
    """The frames of a video in the order of showing, as its packets announce them."""

    times: Sequence[float]  # seconds by the file's clock
    end: float  # when the last frame is no longer shown
    rate: Fraction  # frames a second
    ticks: Sequence[int] | None  # the same in units of the stream; None where the file holds no times
    exact: bool = True  # whether decoded frames have these times; AVI files do not say which frames change places

    @property
    def begin(self) -> float:
        return self.times[0] if self.times else 0.0

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def time_of(self, number: int) -> float:
        """Seconds by the file's clock; by the rate for frames that no packet announces."""
        if number < len(self.times):
            return self.times[number]
        return self.end + (number - len(self.times)) / float(self.rate)

    def part(self, start: float, end: float) -> tuple[int, int]:
        """The numbers of the first frame of a part and of the one behind its last; equal where it holds none.

        The part begins with the frame that is shown at ``start``. Its last frame is shown for the time of one frame
        before ``end``. With a constant rate these are int(start * rate) and int(end * rate).
        """
        first = self._shown_at(self.begin + start)
        latest = self.begin + end + self._slack
        last = bisect_right(self.times, latest)
        while last > first and self.times[last - 1] + min(1 / float(self.rate), self._gap(last - 1)) > latest:
            last -= 1
        return first, last

    def stretch(self, first: int, last: int, start: float, end: float) -> tuple[float, float] | None:
        """The beginning and the end of a part by the file's clock. It begins with its first frame, unless that is shown
        for longer than one frame before ``start``. None where the file holds no times."""
        if self.ticks is None:
            return None
        start, end = self.begin + start, self.begin + end
        is_long = start - self.times[first] >= 1 / float(self.rate) - self._slack
        return start if is_long else self.times[first], min(self.times[last - 1] + self._gap(last - 1), end)

    def spread(self, limit: int, every: int = 1, *, middle: bool = False) -> list[int]:
        """At most ``limit`` of every ``every``-th frame, those that are shown at evenly spread moments: from the
        beginning on, or in the middle of equal stretches."""
        numbers = range(0, len(self.times), every)
        if len(numbers) <= limit:
            return list(numbers)
        length = max(self.end, self.times[numbers[-1]] + every / float(self.rate)) - self.begin
        moments = (self.begin + (2 * place + middle) * length / (2 * limit) for place in range(limit))
        return sorted({self._shown_at(moment) // every * every for moment in moments})

    def _shown_at(self, moment: float) -> int:
        return max(0, bisect_right(self.times, moment + self._slack) - 1)

    def _gap(self, number: int) -> float:
        """Seconds for which a frame is shown."""
        return (self.times[number + 1] if number + 1 < len(self.times) else self.end) - self.times[number]

    @property
    def _slack(self) -> float:
        return min(SLACK, 0.1 / float(self.rate))


def timing_of(container: Any) -> Timing:
    """The timing of an opened video. All its packets are read, and none is decoded."""
    stream = container.streams.video[0]
    rate = rate_of(stream)
    shown = [
        (packet.pts, packet.duration) for packet in container.demux(stream) if packet.size and not packet.is_discard
    ]
    ticks = [pts for pts, _ in shown if pts is not None]
    if not shown or len(set(ticks)) < len(shown):
        return Timing([float(number / rate) for number in range(len(shown))], float(len(shown) / rate), rate, None)
    exact = not stream.codec_context.has_b_frames or ticks != sorted(ticks)
    shown.sort()
    unit = float(stream.time_base)
    last, lasts = shown[-1]
    end = last * unit + (lasts * unit if lasts else 1 / float(rate))
    return Timing([pts * unit for pts, _ in shown], end, rate, [pts for pts, _ in shown], exact)


def rate_of(stream: Any) -> Fraction:
    """Frames a second; a usual value where the file declares none, or nonsense."""
    for rate in (stream.guessed_rate, stream.average_rate, stream.base_rate):
        if rate and 0 < rate <= FASTEST:
            return Fraction(rate)
    return FALLBACK_RATE


FORMATS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dirac,dts,dv,eac3,flac,flv,gif,h264,hevc,ivf,m4v,matroska,mjpeg,mov,mp3,"
    "mpeg,mpegts,"
    "mpegvideo,mxf,nut,obu,ogg,rm,tta,voc,w64,wav,wtv,wv"
)
"""Kinds of files that are opened. Play lists are none of them: they would name other files and addresses."""

LATE = 300  # frames; to reach one beyond, a key frame is looked up rather than everything before it decoded
LEAD = 60  # frames that are decoded before the wanted one at least, for those that rest on later ones


@dataclass(frozen=True, slots=True)
class Frame:
    number: int  # from 0, in the order of showing
    seconds: float  # from the beginning
    image: Image  # RGB, upright


def open_media(path: Path, noun: str) -> Any:
    """The container (``av.container.InputContainer``) of a local file. ``noun``: the expected kind, for messages.
    Raises ToolError.
    """
    import av

    # titles in old code pages are no reason to fail; from PyAV 19 on they are none, and there is no such option
    titles: Any = {"metadata_errors": "ignore"} if int(av.__version__.partition(".")[0]) < 19 else {}
    options = {"format_whitelist": FORMATS, "protocol_whitelist": "file", "max_pixels": str(FRAME_PIXELS)}
    try:
        return av.open(str(path), options=options, **titles)
    except (av.FFmpegError, OSError, ValueError) as error:
        problem = f"it is damaged or of another kind ({type(error).__name__})"
        raise ToolError(f"{path.name} is not a {noun} that can be read: {problem}") from None


def open_video(path: Path) -> Any:
    """The container (``av.container.InputContainer``), whose first video stream can be read. Raises ToolError."""
    from av.stream import Disposition

    container = open_media(path, "video")
    stream = next(iter(container.streams.video), None)
    if stream is None or stream.disposition & Disposition.attached_pic:  # the cover of a song
        problem = "holds no pictures: it has no video track"
    elif stream.codec_context is None:
        problem = "is in a video format that cannot be decoded"
    elif 0 < stream.width * stream.height <= FRAME_PIXELS:
        stream.codec_context.options = {"max_pixels": str(FRAME_PIXELS)}
        stream.thread_type = "AUTO"
        return container
    else:
        problem = f"has frames of no known size or of more than {FRAME_PIXELS // 10**6} million pixels"
    container.close()
    raise ToolError(f"{path.name} {problem}")


def decoded(container: Any, stream: Any, name: str, noun: str = "pictures") -> Iterator[Any]:
    """The frames of a stream. Damaged parts are left out, as players do.

    Raises ToolError if nothing can be decoded, or if more is damaged than intact.
    """
    import av

    good = bad = 0
    last = ""
    try:
        for packet in container.demux(stream):
            try:
                found = packet.decode()
            except av.FFmpegError as error:
                if isinstance(error, av.EOFError):
                    break
                bad, last = bad + 1, type(error).__name__
                if bad > good + 20:
                    break
                continue
            good += bool(found)
            yield from found
    except (av.FFmpegError, OSError) as error:  # the file ends in the middle
        bad, last = bad + 1, type(error).__name__
    if bad > good:
        raise ToolError(f"{name} cannot be decoded: its {noun} are damaged ({last})")
    if not good:
        raise ToolError(f"{name} holds no {noun} that can be decoded")


def video_timing(path: Path) -> Timing:
    """When the frames of a video are shown. Raises ToolError."""
    with open_video(path) as container:
        return timing_of(container)


def video_frames(path: Path, first: int = 0, timing: Timing | None = None) -> Iterator[tuple[int, Any]]:
    """Number (from 0) and ``av.VideoFrame`` of every frame from number ``first`` on. Raises ToolError.

    ``timing``: of this file, if it is known. Then, and for a later ``first``, a number is the place among the times of
    the file, so that damaged frames do not shift it. Else, and where the file's times are not exact, frames are
    counted.
    """
    timing = timing or (video_timing(path) if first else None)
    if timing and timing.ticks:
        if first >= len(timing.ticks):
            return
        with open_video(path) as container:
            if (found := _numbered(container, path.name, first, timing)) is not None:
                yield from found
                return
    with open_video(path) as container:
        frames = decoded(container, container.streams.video[0], path.name)
        yield from ((number, frame) for number, frame in enumerate(frames) if number >= first)


def _numbered(container: Any, name: str, first: int, timing: Timing) -> Iterator[tuple[int, Any]] | None:
    """As ``video_frames``, for a late one from a key frame before it on; None where that is not found."""
    import av

    ticks, stream = timing.ticks or (), container.streams.video[0]
    frames = decoded(container, stream, name)
    try:
        if is_late := first > LATE:
            container.seek(ticks[max(0, first - LEAD)], stream=stream)
        start = next(frames)
    except (av.FFmpegError, ToolError, StopIteration):
        return None
    if start.pts is None or (is_late and start.pts > ticks[first]):
        return None
    counted = enumerate(chain((start,), frames), bisect_left(ticks, start.pts))
    if not timing.exact:
        return ((number, frame) for number, frame in counted if number >= first)
    placed = ((bisect_left(ticks, frame.pts), frame) for _, frame in counted if frame.pts is not None)
    return ((number, frame) for number, frame in placed if number >= first)


def upright(frame: Any) -> Any:
    """The frame (``av.VideoFrame``) rotated as its file says, because phones film on their side."""
    turns = round(frame.rotation / 90) % 4
    if not turns:
        return frame
    import av
    import numpy

    pixels = numpy.rot90(frame.to_ndarray(format="rgb24"), turns)
    turned = av.VideoFrame.from_ndarray(numpy.ascontiguousarray(pixels), format="rgb24")
    turned.pts, turned.time_base = frame.pts, frame.time_base
    return turned


def frames(path: Path, every: int = 1, limit: int | None = None) -> Iterator[Frame]:
    """Every ``every``-th frame, at most ``limit`` of them. Raises ToolError for an unreadable video."""
    _check_skip(every)
    last = None if limit is None else (limit - 1) * every
    return _chosen(path, lambda number: number % every == 0, last)


def spread(path: Path, limit: int, every: int = 1) -> Iterator[Frame]:
    """At most ``limit`` of every ``every``-th frame, spread evenly over the video's length. Raises ToolError for an
    unreadable video."""
    _check_skip(every)
    timing = video_timing(path)
    chosen = frozenset(timing.spread(limit, every) or [0])
    return _chosen(path, chosen.__contains__, max(chosen), timing)


def _check_skip(every: int) -> None:
    if every < 1:
        raise ToolError(f"frame_skip must be at least 1; got {every}")


def _chosen(
    path: Path, wanted: Callable[[int], bool], last: int | None, timing: Timing | None = None
) -> Iterator[Frame]:
    if last is not None and last < 0:
        return
    for number, picture in video_frames(path, timing=timing):
        if wanted(number):
            yield Frame(number, float(picture.time or 0.0), upright(picture).to_image())
        if last is not None and number >= last:
            return
