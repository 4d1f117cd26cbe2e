"""Tools that cut, clean, change and measure sound, without network and weights (docs/benchmarks/tools.md#audio)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter, Tool
from tool_impls import base
from tool_impls.arguments import file_name, plain_name
from tool_impls.audio import features, sound_file
from tool_impls.settings import ToolSettings

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

AUDIO = base.path("audio", "Path of the sound file.")
OUTPUT_DIR = base.optional("text", "output_dir", None, "Has no effect: results lie in the task's output folder.")
AUDIO_OUT = Parameter("audio")
CLIP_NAME = "Name of the result; the suffix (mp3, wav, flac, m4a, ogg) sets its kind, MP3 if none."
TIMES = (
    base.optional("float", "start_time", None, "Where the part begins, in seconds; 0 if left out."),
    base.optional("float", "end_time", None, "Where the part ends, in seconds; 10 if left out."),
)

MOST_STEPS = 24.0  # semitones, up or down
STEPS = f"Semitones up, or down if negative, at most {MOST_STEPS:g}; 12 are an octave."
OTHERS = (".aac", ".aif", ".aiff", ".amr", ".au", ".mp4", ".oga", ".opus", ".wma")  # known, but not written


def seconds_text(value: float) -> str:
    """A time for a file name: a whole number has no point."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def check_times(start: float | None, end: float | None) -> tuple[float, float]:
    """Start and end in seconds, by default 0 and 10. Raises ToolError unless 0 <= start < end."""
    start, end = 0.0 if start is None else start, 10.0 if end is None else end
    if not (math.isfinite(start) and math.isfinite(end) and 0 <= start < end):
        must = "must be seconds with 0 <= start_time < end_time (left out they are 0 and 10)"
        raise ToolError(f"start_time and end_time {must}; got {start:g}, {end:g}")
    return start, end


class AudioClipTool(base.BenchTool):
    """Cuts a part out of a sound file. The released tool always writes MP3."""

    meta = base.tool(
        "AudioClipTool",
        "Cuts a part out of a sound file.",
        (AUDIO, *TIMES, OUTPUT_DIR, base.optional("text", "filename", None, CLIP_NAME)),
        AUDIO_OUT,
    )
    category = "operation"
    pure = True
    confined = True
    packages = ("av", "numpy")
    concurrency = 2
    seconds = 120.0

    def apply(
        self,
        folder: Path,
        /,
        audio: Path,
        start_time: float | None = None,
        end_time: float | None = None,
        output_dir: str | None = None,
        filename: str | None = None,
    ) -> Path:
        """Raises ToolError for invalid times, times after the end, an unreadable file, and an unknown format."""
        start, end = check_times(start_time, end_time)
        target = folder / _clip_name(filename, f"audio_clip_{seconds_text(start)}_{seconds_text(end)}")
        with sound_file.open_sound(audio) as container:
            stream = container.streams.audio[0]
            layout = sound_file.layout_of(stream)
            rate, layout = sound_file.shape_for(target.suffix, stream.rate, layout, stream.channels)
            sounds = sound_file.in_time(container, audio.name, rate, layout)
            sound_file.write(target, _part(sounds, start, end, rate, audio.name), rate, layout)
        return target


def _clip_name(wanted: str | None, default: str) -> str:
    """The name of a clip with the suffix of what is written. Raises ToolError for a format that cannot be."""
    suffix = Path((wanted or "").strip()).suffix.lower()
    kinds = sound_file.writable()
    if suffix in OTHERS or (suffix in sound_file.KINDS and suffix not in kinds):
        raise ToolError(f"filename must end in one of {', '.join(kinds)}; {suffix} cannot be written")
    return file_name(wanted, default, suffix if suffix in kinds else ".mp3")


def _part(
    sounds: Iterator[NDArray[numpy.float32]], start: float, end: float, rate: int, name: str
) -> Iterator[NDArray[numpy.float32]]:
    """What lies between two times. Raises ToolError where that is nothing."""
    first, last, position = round(start * rate), round(end * rate), 0
    for samples in sounds:
        begin, stop = max(first - position, 0), min(last - position, samples.shape[1])
        if begin < stop:
            yield samples[:, begin:stop]
        position += samples.shape[1]
        if position >= last:
            return
    if position <= first:
        length = f"{position / rate:.2f} seconds long"
        raise ToolError(f"start_time {start:g} is after the end of {name}, which is {length}")


class NoiseReduction(base.BenchTool):
    meta = base.tool(
        "NoiseReduction",
        "Takes steady background noise out of a sound file. The result is a WAV file.",
        (AUDIO, OUTPUT_DIR),
        AUDIO_OUT,
    )
    category = "operation"
    pure = True
    confined = True
    packages = ("av", "numpy")
    library = "noisereduce"
    seconds = 300.0

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        missing = base.missing_package(("noisereduce", "scipy"))
        reason = f"the Python package {missing} is missing; install agentgauge[tools]"
        return base.unavailable(reason) if missing else base.READY

    def setup(self, device: str = "cpu") -> None:
        import noisereduce  # noqa: F401 - it brings torch along where that is installed

    def apply(self, folder: Path, /, audio: Path, output_dir: str | None = None) -> Path:
        """Raises ToolError for a file that is no sound or too long."""
        noisy = sound_file.read(audio, features.DENOISED)
        target = folder / file_name(f"{plain_name(audio.stem)}_denoised", "denoised", ".wav")
        sound_file.write_sound(target, replace(noisy, samples=features.reduce_noise(noisy.samples, noisy.rate)))
        return target


class PitchShifting(base.BenchTool):
    """Shifts the pitch of a sound. The released tool has a fixed shift of 0, so it only changes the sample rate."""

    meta = base.tool(
        "PitchShifting",
        "Raises or lowers the pitch of a sound file without changing its length.",
        (AUDIO, OUTPUT_DIR, base.optional("float", "n_steps", 0.0, STEPS)),
        AUDIO_OUT,
    )
    category = "operation"
    confined = True
    packages = ("soxr", "av", "numpy")
    pure = True
    seconds = 300.0

    @classmethod
    def offered(cls, settings: ToolSettings) -> Tool:
        if not settings.released:
            return cls.meta
        return replace(cls.meta, inputs=tuple(value for value in cls.meta.inputs if value.name != "n_steps"))

    def setup(self, device: str = "cpu") -> None:
        import soxr  # noqa: F401 - loaded before a call is timed

    def apply(self, folder: Path, /, audio: Path, output_dir: str | None = None, n_steps: float = 0.0) -> Path:
        """Raises ToolError for a file that is no sound or too long, and for steps beyond two octaves."""
        if not abs(n_steps) <= MOST_STEPS:
            raise ToolError(f"n_steps must be semitones from {-MOST_STEPS:g} to {MOST_STEPS:g}; got {n_steps:g}")
        shifted = features.shift(features.at_rate(sound_file.read(audio)), n_steps, audio.name)
        suffix = audio.suffix.lower() if audio.suffix.lower() in sound_file.writable() else ".wav"
        if sound_file.shape_for(suffix, features.RATE, "mono", 1)[0] != features.RATE:
            suffix = ".wav"
        name = f"{plain_name(audio.stem)}_pitchshift_{n_steps:+g}"
        target = folder / file_name(name, "pitchshift", suffix)
        sound_file.write_sound(target, shifted)
        return target


class SoundCharacteristicExtraction(base.BenchTool):
    meta = base.tool(
        "SoundCharacteristicExtraction",
        "Measures a sound file: mean and variance of 13 MFCCs, spectral centroid, spectral rolloff and zero crossing"
        " rate, as JSON.",
        (AUDIO, OUTPUT_DIR),
        base.TEXT_OUT,
    )
    category = "perception"
    confined = True
    packages = ("soxr", "scipy", "av", "numpy")
    pure = True
    seconds = 120.0

    def setup(self, device: str = "cpu") -> None:
        import scipy.fft  # noqa: F401 - loaded before a call is timed
        import soxr  # noqa: F401

    def apply(self, folder: Path, /, audio: Path, output_dir: str | None = None) -> str:
        """Raises ToolError for a file that is no sound or too long."""
        samples = features.at_rate(sound_file.mixed(sound_file.read(audio)))
        return json.dumps(features.measure(samples.samples[0]), indent=4)


TOOLS: tuple[type[base.BenchTool], ...] = (AudioClipTool, NoiseReduction, PitchShifting, SoundCharacteristicExtraction)
