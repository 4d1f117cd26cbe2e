"""Reads pictures from video files, and opens media files safely (GTA tools spec 6)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from tool_impls.bounds import FRAME_PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = (
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dirac,dts,dv,eac3,flac,flv,gif,h264,hevc,ivf,m4v,matroska,mjpeg,mov,mp3,mpeg,mpegts,"
    "mpegvideo,mxf,nut,obu,ogg,rm,tta,voc,w64,wav,wtv,wv"
)
"""Kinds of files that are opened. Play lists are none of them: they would name other files and addresses."""

LATE = 300  # frames; to reach one beyond, a key frame is looked up rather than everything before it decoded
LEAD = 60  # frames that are decoded before the wanted one at least, for those that rest on later ones
FALLBACK_RATE = Fraction(25)
FASTEST = 1000  # frames a second; files that declare more mean their clock


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


def rate_of(stream: Any) -> Fraction:
    """Frames a second; a usual value where the file declares none, or nonsense."""
    for rate in (stream.guessed_rate, stream.average_rate, stream.base_rate):
        if rate and 0 < rate <= FASTEST:
            return Fraction(rate)
    return FALLBACK_RATE


def video_frames(path: Path, first: int = 0) -> Iterator[tuple[int, Any]]:
    """Number (from 0) and ``av.VideoFrame`` of every frame from number ``first`` on. Raises ToolError."""
    with open_video(path) as container:
        if first > LATE and (found := _sought(container, path.name, first)) is not None:
            yield from found
            return
    with open_video(path) as container:
        frames = decoded(container, container.streams.video[0], path.name)
        yield from ((number, frame) for number, frame in enumerate(frames) if number >= first)


def _sought(container: Any, name: str, first: int) -> Iterator[tuple[int, Any]] | None:
    """As ``video_frames``, from a key frame before ``first`` on; None where that frame's number is unknown."""
    import av

    stream = container.streams.video[0]
    times = _times(container, stream)
    if times is None:
        return None
    if first >= len(times):
        return iter(())
    frames = decoded(container, stream, name)
    try:
        container.seek(times[max(0, first - LEAD)], stream=stream)
        start = next(frames)
    except (av.FFmpegError, ToolError):
        return None
    index = bisect_left(times, start.pts) if start.pts is not None else len(times)
    if index > first or times[index] != start.pts:
        return None
    return ((number, frame) for number, frame in enumerate(chain((start,), frames), index) if number >= first)


def _times(container: Any, stream: Any) -> list[int] | None:
    """The time of every frame, in order, without decoding; None where packets hold no times."""
    times = [packet.pts for packet in container.demux(stream) if packet.size and not packet.is_discard]
    if not times or None in times or len(set(times)) != len(times):
        return None
    return sorted(times)


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
    """At most ``limit`` evenly spaced ones of every ``every``-th frame. Raises ToolError for an unreadable video."""
    _check_skip(every)
    with open_video(path) as container:
        count = sum(1 for packet in container.demux(container.streams.video[0]) if packet.size)
    numbers = range(0, max(count, 1), every)
    most = min(limit, len(numbers))
    chosen = {numbers[index * len(numbers) // most] for index in range(most)}
    return _chosen(path, chosen.__contains__, max(chosen))


def _check_skip(every: int) -> None:
    if every < 1:
        raise ToolError(f"frame_skip must be at least 1; got {every}")


def _chosen(path: Path, wanted: Callable[[int], bool], last: int | None) -> Iterator[Frame]:
    if last is not None and last < 0:
        return
    for number, picture in video_frames(path):
        if wanted(number):
            yield Frame(number, float(picture.time or 0.0), upright(picture).to_image())
        if last is not None and number >= last:
            return
