"""Small videos and sounds for tests, made with av. Every frame shows its number, so that a test can tell which one
it got."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

SIZE = (96, 64)
BLOCK = 12  # pixels of a bit of the number
BITS = 8
RATE = 16_000  # samples a second

Paint = Callable[[Any, int], None]


def numbered(number: int, size: tuple[int, int] = SIZE, back: tuple[int, int, int] = (90, 120, 90)) -> Any:
    """A picture (array, RGB) with a number below 256 in its first row of blocks: white is a one, black a zero."""
    import numpy

    pixels = numpy.full((size[1], size[0], 3), back, dtype=numpy.uint8)
    for bit in range(BITS):
        pixels[:BLOCK, bit * BLOCK : (bit + 1) * BLOCK] = 255 if number >> bit & 1 else 0
    return pixels


def number_of(image: Any) -> int:
    """The number that a picture (PIL) of ``numbered`` shows."""
    grey = image.convert("L")
    return sum(1 << bit for bit in range(BITS) if grey.getpixel((bit * BLOCK + BLOCK // 2, BLOCK // 2)) > 128)


def make_video(
    path: Path,
    count: int = 20,
    *,
    rate: int = 10,
    size: tuple[int, int] = SIZE,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    options: dict[str, str] | None = None,
    paint: Paint | None = None,
    ticks: Sequence[int] | None = None,
    sound: Any = None,
    rotation: int = 0,
    colorspace: int | None = None,
) -> Path:
    """A video of numbered frames; its suffix sets the container.

    ``paint``: draws on the picture (array) of a number. ``ticks``: when each frame is shown, in frames; one after the
    other if None. ``sound``: samples (channels, samples) at RATE, put beside the frames as AAC. ``rotation``: degrees
    by which players turn it, counterclockwise.
    """
    import av

    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=rate, options=options or {})
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        stream.codec_context.time_base = Fraction(1, rate)
        if colorspace is not None:
            stream.codec_context.colorspace = colorspace
        if rotation:
            stream.set_display_rotation(rotation)
        track: Any = container.add_stream("aac", rate=RATE) if sound is not None else None
        if track is not None:
            track.layout = "mono" if len(sound) == 1 else "stereo"
        for number in range(count):
            pixels = numbered(number, size)
            if paint is not None:
                paint(pixels, number)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            if colorspace is not None:
                frame = frame.reformat(format=pix_fmt, dst_colorspace=colorspace)
            frame.pts, frame.time_base = ticks[number] if ticks else number, Fraction(1, rate)
            container.mux(stream.encode(frame))
            if track is not None:
                container.mux(track.encode(_frame(sound, number * RATE // rate, (number + 1) * RATE // rate)))
        container.mux(stream.encode(None))
        if track is not None:
            container.mux(track.encode(None))
    return path


def _frame(sound: Any, begin: int, end: int) -> Any:
    import av
    import numpy

    part = numpy.ascontiguousarray(sound[:, begin:end], dtype=numpy.float32)
    frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono" if len(part) == 1 else "stereo")
    frame.sample_rate, frame.pts = RATE, begin
    return frame


def tone(seconds: float, hertz: Sequence[float] = (440.0,), rate: int = RATE, loud: float = 0.5) -> Any:
    """Samples (channels, samples) of a sine for each channel."""
    import numpy

    times = numpy.arange(round(seconds * rate)) / rate
    return numpy.stack([loud * numpy.sin(2 * numpy.pi * value * times) for value in hertz]).astype(numpy.float32)


def make_sound(path: Path, samples: Any, rate: int = RATE, codec: str = "pcm_s16le") -> Path:
    """A sound file of one or two channels; its suffix sets the container."""
    import av
    import numpy

    layout = "mono" if len(samples) == 1 else "stereo"
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=rate)
        stream.layout = layout
        frame = av.AudioFrame.from_ndarray(
            numpy.ascontiguousarray(samples, dtype=numpy.float32), format="fltp", layout=layout
        )
        frame.sample_rate, frame.pts = rate, 0
        if samples.shape[1]:
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def pitch(samples: Any, rate: int) -> float:
    """The strongest frequency of one channel, in hertz."""
    import numpy

    spectrum = numpy.abs(numpy.fft.rfft(samples * numpy.hanning(samples.size)))
    return float(spectrum.argmax() * rate / samples.size)


BROKEN: dict[str, bytes] = {
    "empty": b"",
    "text": b"this is no film and no song\n" * 200,
    "zeros": bytes(20_000),
    "play list": b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nhttp://127.0.0.1:9/a.ts\n",
    "list of files": b"ffconcat version 1.0\nfile film.mp4\n",
    "beginning of a film": b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41\0\0\0\x08free\0\1\0\0mdat" + bytes(500),
}
"""What may be found in a file that calls itself a film or a song."""
