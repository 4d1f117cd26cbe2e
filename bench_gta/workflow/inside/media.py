"""Pictures, sounds and videos inside the sandbox: measured for the judge ``rules``, and made into what a model can look
at (docs/benchmarks/gta_workflow.md#files-for-the-judge).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import flattened, is_plain
from agentgauge.core.types import Json
from tool_impls.audio import sound_file as sounds
from tool_impls.audio.sound_file import layout_of, open_sound
from tool_impls.bounds import check_pixels, opened_picture
from tool_impls.documents.package import check_size
from tool_impls.perception import ocr
from tool_impls.video.frames import decoded, open_video, spread, timing_of, upright, video_frames, video_timing

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from PIL.Image import Image


Found = dict[str, Any]

MOST_COLOURS = 65_536
READ_SIDE = 1_600  # pixels of the longer side of a picture that is read
READ_FRAMES = 3  # of a video
SILENCE = -120.0  # decibels
MOST_SAMPLES = 30_000_000  # of a sound, all channels; ten minutes of one at 44.1 kHz
WINDOW = 65_536  # samples that the strongest frequency is looked for in
FIELDS = 8  # of a picture's look, in each direction
LOWEST = 30.0  # hertz; what is below is hum, not pitch


def picture(path: Path, *, read: bool) -> Found:
    """Size, number of colours, look, and on request what can be read in it. Raises ToolError."""
    with opened_picture(path, "it", then="are looked at") as image:
        colours = flattened(image)
    counted = colours.getcolors(MOST_COLOURS)
    measures = {"width": colours.width, "height": colours.height, "colours": len(counted) if counted else MOST_COLOURS}
    return {"measures": measures, "look": look_of(colours), **({"shown": written_in(colours)} if read else {})}


def sound(path: Path) -> Found:
    """Length, channels, rate, loudness and strongest frequency. Raises ToolError."""
    decoded = sounds.read(path, MOST_SAMPLES)
    measures = {"seconds": round(decoded.seconds, 3), "rate": decoded.rate, "channels": decoded.samples.shape[0]}
    measures["loudness"] = _loudness(decoded.samples)
    if (pitch := _pitch(decoded.samples.mean(axis=0), decoded.rate)) is not None:
        measures["pitch"] = pitch
    return {"measures": measures}


def video(path: Path, *, read: bool) -> Found:
    """Frames, length, size, channels, look, and on request what READ_FRAMES frames say. Raises ToolError."""
    from tool_impls.video.video_file import has_sound, shown_size

    count, look, size = 0, "", (0, 0)
    for _, frame in video_frames(path):
        look = look or look_of(upright(frame).to_image())
        count, size = count + 1, shown_size(frame)
    channels = 0
    if has_sound(path):
        with sounds.open_sound(path) as container:
            channels = container.streams.audio[0].channels
    measures = {"frames": count, "seconds": round(video_timing(path).seconds, 3), "width": size[0], "height": size[1]}
    found = {"measures": {**measures, "channels": channels}, "look": look}
    shown = "\n".join(written_in(frame.image) for frame in spread(path, READ_FRAMES)) if read else ""
    return {**found, "shown": shown} if read else found


def written_in(image: Image) -> str:
    """The text in a picture of any size, line by line."""
    small = image.copy()
    small.thumbnail((READ_SIDE, READ_SIDE))
    return "\n".join(block.text for block in ocr.reader().lines(small))


def look_of(image: Image) -> str:
    from PIL.Image import Resampling

    return image.convert("L").resize((FIELDS, FIELDS), Resampling.BOX).tobytes().hex()


def _loudness(samples: NDArray[numpy.float32]) -> float:
    import numpy

    power = float(numpy.square(samples, dtype=numpy.float64).mean())
    return max(SILENCE, round(10 * math.log10(power), 1)) if power > 0 else SILENCE


def _pitch(samples: NDArray[numpy.float32], rate: int) -> float | None:
    """The strongest frequency around the loudest place, to a tenth of a hertz; None for silence."""
    import numpy

    if _loudness(samples) <= SILENCE:
        return None
    middle = int(numpy.argmax(numpy.abs(samples)))
    start = max(0, min(middle - WINDOW // 4, samples.size - WINDOW))
    part = samples[start : start + WINDOW]
    power = numpy.abs(numpy.fft.rfft(part * numpy.hanning(part.size), 4 * WINDOW))
    frequencies = numpy.fft.rfftfreq(4 * WINDOW, 1 / rate)
    power[frequencies < LOWEST] = 0
    return round(float(frequencies[int(numpy.argmax(power))]), 1)


PLAIN = {"PNG": (".png",), "JPEG": (".jpg", ".jpeg"), "WEBP": (".webp",)}
"""What endpoints take as it is, and how such files are called."""

LARGEST_SIDE, LARGEST_FILE = 4096, 12 << 20  # pixels, bytes of a picture that is sent as it is
SIDE = 2048  # pixels of the longer side of one that is made
FRAME_SIDE = 1024  # of a frame of a video
FRAMES_RATE = "4/10"  # a second: docs/benchmarks/gta_workflow.md#files-for-the-judge
BY = "Pillow"


def shown_picture(order: Mapping[str, Json]) -> Json:
    """The file itself, or PNG pictures of it: of a moving one ``max_frames``, evenly spread. Raises ToolError."""
    path, folder = Path(order["source"]), Path(order["folder"])
    size = check_size(path)
    with opened_picture(path, "it", then="are shown") as image:
        count = getattr(image, "n_frames", 1)
        small = max(image.size) <= LARGEST_SIDE and size <= LARGEST_FILE
        image.load()
        if count == 1 and small and path.suffix in PLAIN.get(image.format or "", ()) and is_plain(image):
            return {"files": [path.name], "note": _described(image, image)}
        note = ""
        files: list[str] = []
        shown = min(count, order["max_frames"])
        for place in (number * count // shown for number in range(shown)):
            image.seek(place)
            check_pixels("it", *image.size, then="are shown")  # frames may differ
            made = flattened(image)
            note = note or _described(image, made)
            made.thumbnail((SIDE, SIDE))
            files.append(f"picture_{len(files) + 1:03}.png")
            made.save(folder / files[-1])
    moving = f", {count} frames of which {len(files)} are shown" if count > 1 else ""
    return {"files": files, "note": f"{note}{moving}; shown as PNG of at most {SIDE} pixels a side, made by {BY}"}


def _described(image: Image, displayed: Image) -> str:
    return f"{image.format} picture of {displayed.width} by {displayed.height} pixels"


def shown_video(order: Mapping[str, Json]) -> Json:
    """At most ``max_frames`` frames, evenly spread over the video's length, as JPEG. Raises ToolError."""
    path = Path(order["source"])
    check_size(path)
    with open_video(path) as container:
        stream = container.streams.video[0]
        size, sound = f"{stream.width} by {stream.height} pixels", bool(container.streams.audio)
        timing = timing_of(container)
    chosen = timing.spread(order["max_frames"], middle=True)
    shown = _at(path, [timing.ticks[place] for place in chosen]) if timing.ticks else _counted(path, chosen)
    files = [_save(frame, order, number, FRAME_SIDE) for number, frame in enumerate(shown, start=1)]
    if not files:
        raise ToolError("the video holds no frames that can be decoded")
    track = "with sound, which cannot be played to you" if sound else "without sound"
    frames = f"{len(files)} evenly spaced frames of {len(timing.times)} are shown, made by PyAV"
    return {"files": files, "note": f"video of {timing.seconds:.1f} s, {size}, {track}; {frames}"}


def upstream_video(order: Mapping[str, Json]) -> Json:
    """One frame for each 2.5 s, chosen by FFmpeg's filter, in full size
    (docs/benchmarks/gta_workflow.md#files-for-the-judge). Raises ToolError."""
    import av.filter

    path = Path(order["source"])
    check_size(path)
    files: list[str] = []
    with open_video(path) as container:
        stream = container.streams.video[0]
        graph = av.filter.Graph()
        source, sink = graph.add_buffer(template=stream), graph.add("buffersink")
        graph.link_nodes(source, graph.add("fps", FRAMES_RATE), sink).configure()
        for frame in chain(decoded(container, stream, path.name), (None,)):  # None ends the stream
            graph.push(frame)
            for picture in _pulled(graph):
                files.append(_save(picture, order, len(files) + 1))
    return {"files": files, "note": "frames made by PyAV"}


def shown_audio(order: Mapping[str, Json]) -> Json:
    """Only a note: its length, rate and channels. Raises ToolError."""
    path = Path(order["source"])
    check_size(path)
    with open_sound(path) as container:
        stream = container.streams.audio[0]
        facts = f"{stream.codec_context.name}, {stream.rate} samples a second, {layout_of(stream)}"
        packets = (packet for packet in container.demux(stream) if packet.size and packet.pts is not None)
        ends = [packet.pts + (packet.duration or 0) for packet in packets]
        seconds = float((max(ends) - (stream.start_time or 0)) * stream.time_base) if ends else 0.0
    if not seconds > 0:
        raise ToolError("it holds no sound")
    return {"note": f"audio of {seconds:.1f} s ({facts}); it exists, but cannot be played to you"}


def _at(path: Path, wanted: list[int]) -> Iterator[Any]:
    """The frames shown at these times (the stream's units, in order), each sought from the key frame before."""
    import av

    with open_video(path) as container:
        stream = container.streams.video[0]
        shown: int | None = None
        for time in wanted:
            if shown is not None and shown >= time:
                continue
            try:
                container.seek(time, stream=stream)
                frames = decoded(container, stream, path.name)
                frame = next(frame for frame in frames if frame.pts is not None and frame.pts >= time)
            except (av.FFmpegError, StopIteration, ToolError):
                continue  # damaged there, or shorter than it says
            shown = frame.pts
            yield frame


def _counted(path: Path, chosen: Collection[int]) -> Iterator[Any]:
    """The frames of these numbers, in a file that holds no times."""
    for number, frame in video_frames(path):
        if number in chosen:
            yield frame
        if number >= max(chosen):
            return


def _pulled(graph: Any) -> Iterator[Any]:
    """The frames that the filter has ready."""
    import av

    while True:
        try:
            yield graph.pull()
        except (av.BlockingIOError, av.EOFError):
            return


def _save(frame: Any, order: Mapping[str, Json], number: int, side: int | None = None) -> str:
    image = upright(frame).to_image()
    if side is not None:
        image.thumbnail((side, side))
    name = f"frame_{number:03}.jpg"
    image.save(Path(order["folder"]) / name, quality=90)
    return name
