"""Pictures, sounds and videos, looked at inside the sandbox (``facts.child``; GTA-Workflow spec 3.2, "Ours")."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.pictures import flattened
from tool_impls.audio import sound_file as sounds
from tool_impls.bounds import opened_picture
from tool_impls.perception import ocr
from tool_impls.video.frames import spread, upright, video_frames, video_timing

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
