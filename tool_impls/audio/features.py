"""Measuring and shifting sound with librosa, at 22 050 samples a second (GTA tools spec 5.3).

The first use on a machine compiles for half a minute (numba); ``load`` does that before a call is timed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from tool_impls.audio.sound_file import Sound

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

RATE = 22_050
FFT, HOP = 2048, 512  # samples; librosa's own presets
COEFFICIENTS = 13
BLOCK = 4096  # frames that are measured at a time: 95 seconds, 34 MB
STRETCHED = 900.0  # seconds of sound in the middle of a shift, at most; a second takes a megabyte and more


def load() -> None:
    """Import and compile what is used.

    Numba keeps the results beside librosa or in the user's cache; where both are closed to writing, in a new folder.
    """
    if "numba" not in sys.modules and "NUMBA_CACHE_DIR" not in os.environ and not _has_cache():
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="agentgauge-numba-")
    import numpy

    hush = numpy.zeros(RATE, dtype=numpy.float32)
    measure(hush)
    shift(Sound(hush[None], RATE, "mono"), 1.0, "")


def _has_cache() -> bool:
    spec = find_spec("librosa")
    places = [Path(spec.origin).parent] if spec and spec.origin else []
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    places.append(next((folder for folder in (home, *home.parents) if folder.exists()), home))
    return any(os.access(place, os.W_OK) for place in places)


def at_rate(sound: Sound) -> Sound:
    """The same at RATE, with the resampler that librosa uses."""
    import librosa

    if sound.rate == RATE:
        return sound
    return replace(sound, samples=librosa.resample(sound.samples, orig_sr=sound.rate, target_sr=RATE), rate=RATE)


def shift(sound: Sound, steps: float, name: str) -> Sound:
    """The sound at RATE with another pitch in semitones, by channel. Raises ToolError where it is too long."""
    import librosa
    import numpy

    if not steps:
        return sound
    most = STRETCHED / max(1.0, 2 ** (steps / 12))
    if sound.seconds > most:
        possible = f"at most {most:.0f} s can be shifted by {steps:g} semitones"
        raise ToolError(f"{name} lasts {sound.seconds:.0f} s; {possible}, so cut it first")
    length = sound.samples.shape[1]
    padded = numpy.pad(sound.samples, ((0, 0), (0, max(0, FFT * 8 - length))))  # librosa warns of very short sounds
    shifted = [librosa.effects.pitch_shift(channel, sr=RATE, n_steps=steps)[:length] for channel in padded]
    return replace(sound, samples=numpy.stack(shifted).astype(numpy.float32))


def measure(samples: NDArray[numpy.float32]) -> dict[str, dict[str, Any]]:
    """Mean and variance over time of what librosa measures in one channel at RATE.

    Frames are worked out in blocks, which gives the same numbers and bounds the memory.
    """
    import librosa
    import numpy

    padded = numpy.pad(samples, FFT // 2)
    count = 1 + samples.size // HOP
    blocks = []
    for first in range(0, count, BLOCK):
        frames = min(BLOCK, count - first)
        part = padded[first * HOP : (first + frames - 1) * HOP + FFT]
        strength = numpy.abs(librosa.stft(part, n_fft=FFT, hop_length=HOP, center=False))
        mel = librosa.feature.melspectrogram(S=strength**2, sr=RATE, n_fft=FFT)
        centroid = librosa.feature.spectral_centroid(S=strength, sr=RATE, n_fft=FFT)
        blocks.append((mel, centroid, librosa.feature.spectral_rolloff(S=strength, sr=RATE, n_fft=FFT)))
    mels, centroids, rolloffs = (numpy.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True))
    mfcc = librosa.feature.mfcc(S=librosa.power_to_db(mels), sr=RATE, n_mfcc=COEFFICIENTS).astype(numpy.float64)
    figures: dict[str, dict[str, Any]] = {
        "mfcc": {"mean": mfcc.mean(axis=1).tolist(), "var": mfcc.var(axis=1).tolist()}
    }
    crossings = librosa.feature.zero_crossing_rate(samples, frame_length=FFT, hop_length=HOP)
    others = {"spectral_centroid": centroids, "spectral_rolloff": rolloffs, "zero_crossing_rate": crossings}
    for name, values in others.items():
        exact = values.astype(numpy.float64)
        figures[name] = {"mean": float(exact.mean()), "var": float(exact.var())}
    return figures
