"""Reading and writing sound files with av: it reads all formats that FFmpeg decodes, and writes six."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from tool_impls.bounds import SOUND_SAMPLES
from tool_impls.video.frames import decoded, open_media

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

SLOWEST, FASTEST = 1_000, 768_000  # samples a second
MOST_CHANNELS = 8
DRIFT = 0.05  # seconds that sound may be off before it is moved
LONGEST_GAP = 3600  # seconds; where files were joined, the clock may leap by any time


@dataclass(frozen=True, slots=True)
class SoundKind:
    """A kind of sound file that can be written."""

    container: str
    codec: str
    channels: int  # at most; more are mixed to stereo
    rates: tuple[int, ...] = ()  # samples a second; any, if empty


MPEG = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
KINDS = {
    ".mp3": SoundKind("mp3", "libmp3lame", 2, MPEG),
    ".wav": SoundKind("wav", "pcm_s16le", MOST_CHANNELS),
    ".flac": SoundKind("flac", "flac", 8),
    ".m4a": SoundKind("ipod", "aac", 2, (*MPEG, 64_000, 88_200, 96_000)),
    ".ogg": SoundKind("ogg", "libopus", 2, (8_000, 12_000, 16_000, 24_000, 48_000)),
}
"""Suffix → what is written. Ogg holds Opus, because FFmpeg's own Vorbis encoder is experimental."""


@dataclass(frozen=True, slots=True)
class Sound:
    samples: NDArray[numpy.float32]  # (channels, samples), from -1 to 1
    rate: int  # samples a second
    layout: str  # FFmpeg's name of the channels

    @property
    def seconds(self) -> float:
        return float(self.samples.shape[1] / self.rate)


def writable() -> tuple[str, ...]:
    """The suffixes of KINDS whose encoder this FFmpeg has."""
    import av

    return tuple(suffix for suffix, kind in KINDS.items() if kind.codec in av.codecs_available)


def open_sound(path: Path) -> Any:
    """The container (``av.container.InputContainer``), whose first audio stream can be read. Raises ToolError."""
    container = open_media(path, "sound file")
    stream = next(iter(container.streams.audio), None)
    if stream is None:
        problem = "has no sound: it holds no audio track"
    elif stream.codec_context is None:
        problem = "is in a sound format that cannot be decoded"
    elif SLOWEST <= stream.rate <= FASTEST and 1 <= stream.channels <= MOST_CHANNELS:
        return container
    else:
        declared = f"{stream.channels} channels with {stream.rate} samples a second"
        problem = f"declares {declared}, which cannot be right"
    container.close()
    raise ToolError(f"{path.name} {problem}")


def layout_of(stream: Any) -> str:
    """FFmpeg's name of a stream's channels; if the file does not name them, the usual layout for their number."""
    import av

    name = str(stream.layout.name)
    return str(av.AudioLayout(f"{stream.channels}c").name) if name.endswith(" channels") else name


def samples_of(frame: Any) -> NDArray[numpy.float32]:
    """The samples (channels, samples) of an ``av.AudioFrame`` of packed floats: av fails on eight separate ones."""
    samples: NDArray[numpy.float32] = frame.to_ndarray().reshape(-1, frame.layout.nb_channels).T
    return samples


def frame_of(samples: NDArray[numpy.float32], rate: int, layout: str, pts: int) -> Any:
    """An ``av.AudioFrame`` of packed floats. ``pts``: number of its first sample."""
    import av
    import numpy

    packed = numpy.ascontiguousarray(samples.T, dtype=numpy.float32).reshape(1, -1)
    frame = av.AudioFrame.from_ndarray(numpy.clip(packed, -1.0, 1.0), format="flt", layout=layout)
    frame.sample_rate, frame.pts = rate, pts
    return frame


def pieces(container: Any, name: str, rate: int, layout: str) -> Iterator[Any]:
    """The sound of an opened file as ``av.AudioFrame`` of packed floats at one rate and layout. Raises ToolError."""
    import av

    shape: tuple[str, str, int] | None = None
    resampler: Any = None
    try:
        for frame in decoded(container, container.streams.audio[0], name, "sounds"):
            found = (frame.format.name, frame.layout.name, frame.sample_rate)
            if shape != found:  # songs that were joined change in the middle
                yield from _flush(resampler)
                shape = found
                resampler = av.AudioResampler(format="flt", layout=layout, rate=rate)
            yield from resampler.resample(frame)
        yield from _flush(resampler)
    except (av.FFmpegError, ValueError) as error:
        raise ToolError(f"{name} cannot be decoded: its sounds are damaged ({type(error).__name__})") from None


def _flush(resampler: Any) -> Iterator[Any]:
    """What a resampler still holds."""
    yield from (piece for piece in (resampler.resample(None) if resampler else ()) if piece is not None)


def in_time(container: Any, name: str, rate: int, layout: str) -> Iterator[NDArray[numpy.float32]]:
    """As ``pieces``, in arrays (channels, samples), with silence where the file's clock has a gap: players wait there.
    Raises ToolError."""
    import numpy

    begin, position = (container.start_time or 0) / 1e6, 0
    for piece in pieces(container, name, rate, layout):
        samples = samples_of(piece)
        gap = 0 if piece.time is None else round((piece.time - begin) * rate) - position
        if DRIFT * rate < gap <= LONGEST_GAP * rate:
            position += gap
            while gap:
                yield numpy.zeros((samples.shape[0], min(gap, rate)), dtype=numpy.float32)
                gap -= min(gap, rate)
        yield samples
        position += samples.shape[1]


def read(path: Path, most: int = SOUND_SAMPLES) -> Sound:
    """All of the first audio track as it is. Raises ToolError: unreadable, or more than ``most`` samples."""
    import numpy

    with open_sound(path) as container:
        stream = container.streams.audio[0]
        rate, layout, channels = stream.rate, layout_of(stream), stream.channels
        parts, length = [], 0
        for piece in pieces(container, path.name, rate, layout):
            parts.append(samples_of(piece))
            length += parts[-1].shape[1]
            if length * channels > most:
                taken = f"at most {most / channels / rate / 60:.0f} minutes of such sound are taken"
                raise ToolError(f"{path.name} is too long: {taken}; cut it first")
    if not length:
        raise ToolError(f"{path.name} has no sound: its audio track is empty")
    return Sound(numpy.nan_to_num(numpy.concatenate(parts, axis=1)), rate, layout)


def mixed(sound: Sound) -> Sound:
    """One channel: the mean of all."""
    return Sound(sound.samples.mean(axis=0, keepdims=True), sound.rate, "mono")


def shape_for(suffix: str, rate: int, layout: str, channels: int) -> tuple[int, str]:
    """Rate and channel layout that a kind of file takes and that are nearest to the given ones."""
    kind = KINDS[suffix]
    taken = rate if not kind.rates else min(kind.rates, key=lambda known: (known < rate, abs(known - rate)))
    return taken, (layout if channels <= kind.channels else "stereo")


def write(path: Path, parts: Iterable[Any], rate: int, layout: str) -> float:
    """Write a sound file of the kind that the suffix says. ``parts``: arrays (channels, samples). Returns its seconds.

    The file holds no time stamp and no random number, so that equal sounds give equal files.
    """
    import av

    kind = KINDS[path.suffix.lower()]
    length = 0
    with av.open(str(path), "w", format=kind.container, options={"fflags": "+bitexact"}) as container:
        stream: Any = container.add_stream(kind.codec, rate=rate)
        stream.layout = layout
        if kind.codec in ("libmp3lame", "aac", "libopus"):
            stream.bit_rate = 96_000 * stream.channels
        for part in parts:
            for start in range(0, part.shape[1], rate):
                chunk = part[:, start : start + rate]
                container.mux(stream.encode(frame_of(chunk, rate, layout, length)))
                length += chunk.shape[1]
        container.mux(stream.encode(None))
    return length / rate


def write_sound(path: Path, sound: Sound) -> None:
    """Write a sound as the suffix says, at the nearest rate that such a file takes."""
    rate, layout = shape_for(path.suffix.lower(), sound.rate, sound.layout, sound.samples.shape[0])
    parts = (sound.samples,) if (rate, layout) == (sound.rate, sound.layout) else _converted(sound, rate, layout)
    write(path, parts, rate, layout)


def _converted(sound: Sound, rate: int, layout: str) -> Iterator[Any]:
    """The sound at another rate or with other channels, in arrays."""
    import av

    resampler = av.AudioResampler(format="flt", layout=layout, rate=rate)
    for piece in chain(resampler.resample(frame_of(sound.samples, sound.rate, sound.layout, 0)), _flush(resampler)):
        yield samples_of(piece)
