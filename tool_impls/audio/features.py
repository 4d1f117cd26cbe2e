"""Measuring and changing sound as the released tools do: as librosa does with its presets, at 22 050 samples a second
(docs/benchmarks/tools.md#audio), and noise reduction with noisereduce.

The steps and the number types are librosa's, so the figures are equal; librosa itself would bring a compiler along.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from tool_impls.audio.sound_file import Sound

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


RATE = 22_050
FFT, HOP = 2048, 512  # samples
MELS, COEFFICIENTS = 128, 13
BLOCK = 4096  # frames that are measured at a time: 95 seconds, 34 MB
FAINT = 1e-10  # power and amplitude that count as nothing
LOUDEST_RANGE = 80.0  # decibels below the loudest, where measuring ends
ROLLOFF = 0.85  # part of the amplitude below this frequency


def at_rate(sound: Sound) -> Sound:
    """The sound resampled to RATE."""
    if sound.rate == RATE:
        return sound
    import numpy

    return replace(
        sound, samples=numpy.stack([resample(channel, sound.rate, RATE) for channel in sound.samples]), rate=RATE
    )


def resample(channel: NDArray[numpy.float32], rate: float, target: float) -> NDArray[numpy.float32]:
    import soxr

    made: NDArray[numpy.float32] = soxr.resample(channel, rate, target, quality="soxr_hq")
    return fixed_length(made, math.ceil(channel.size * (target / rate)))


def fixed_length(channel: NDArray[numpy.float32], size: int) -> NDArray[numpy.float32]:
    """The sound cut, or padded with silence, at its end."""
    import numpy

    return numpy.pad(channel[:size], (0, max(0, size - channel.size)))


def window() -> NDArray[numpy.float64]:
    """A period of Hann's window."""
    import numpy

    turn: NDArray[numpy.float64] = numpy.linspace(-numpy.pi, numpy.pi, FFT + 1)[:-1]
    return 0.5 + 0.5 * numpy.cos(turn)


def measure(samples: NDArray[numpy.float32]) -> dict[str, dict[str, Any]]:
    """Mean and variance over time of the features of one channel at RATE.

    Frames are worked out in blocks, which gives the same numbers and bounds the memory.
    """
    import numpy
    import scipy.fft

    frames = _frames(numpy.pad(samples, FFT // 2))
    shape, mel_filter = window()[:, None], _mel_filter()
    frequencies = numpy.fft.rfftfreq(FFT, 1 / RATE)
    mels, centroids, rolloffs = [], [], []
    for first in range(0, frames.shape[1], BLOCK):
        part = frames[:, first : first + BLOCK]
        spectra = numpy.empty((FFT // 2 + 1, part.shape[1]), dtype=numpy.complex64, order="F")
        spectra[:] = scipy.fft.rfft(shape * part, axis=0)
        strength = numpy.abs(spectra)
        mels.append(numpy.einsum("ft,mf->mt", strength**2, mel_filter, optimize=True))
        total = strength.astype(numpy.float64).sum(axis=0)
        total[total < numpy.finfo(numpy.float32).tiny] = 1
        shares = (strength / total).astype(numpy.float32)
        centroids.append((frequencies[:, None] * shares).sum(axis=0))
        below = numpy.cumsum(strength, axis=0)
        rolloffs.append(frequencies[(below >= ROLLOFF * below[-1]).argmax(axis=0)])
    decibels = 10 * numpy.log10(numpy.maximum(FAINT, numpy.concatenate(mels, axis=1)))
    decibels = numpy.maximum(decibels, decibels.max() - LOUDEST_RANGE)
    mfcc = scipy.fft.dct(decibels, axis=0, norm="ortho")[:COEFFICIENTS].astype(numpy.float64)
    figures: dict[str, dict[str, Any]] = {
        "mfcc": {"mean": mfcc.mean(axis=1).tolist(), "var": mfcc.var(axis=1).tolist()}
    }
    others = {
        "spectral_centroid": numpy.concatenate(centroids),
        "spectral_rolloff": numpy.concatenate(rolloffs),
        "zero_crossing_rate": _crossing_rates(samples),
    }
    return figures | {name: {"mean": float(each.mean()), "var": float(each.var())} for name, each in others.items()}


def _frames(padded: NDArray[Any]) -> NDArray[Any]:
    """(FFT, frames): views into ``padded``, HOP apart."""
    import numpy

    return numpy.lib.stride_tricks.sliding_window_view(padded, FFT)[::HOP].T


def _crossing_rates(samples: NDArray[numpy.float32]) -> NDArray[numpy.float64]:
    """For each frame, how often the sign changes within it, for each sample."""
    import numpy

    negative = numpy.pad(samples, FFT // 2, mode="edge") < -FAINT
    so_far = numpy.concatenate([[0], numpy.cumsum(negative[1:] != negative[:-1])])
    changes: NDArray[numpy.float64] = (so_far[FFT - 1 :: HOP] - so_far[: so_far.size - FFT + 1 : HOP]) / FFT
    return changes


def _mel_filter() -> NDArray[numpy.float32]:
    """(MELS, frequencies): triangles of equal area on Slaney's scale, linear up to 1 kHz, then logarithmic."""
    import numpy

    step, knee, ratio = 200.0 / 3, 1000.0, math.log(6.4) / 27.0  # hertz for each mel; hertz; logarithm for each mel
    highest = knee / step + math.log(RATE / 2 / knee) / ratio
    mels = numpy.linspace(0.0, highest, MELS + 2)
    edges = step * mels
    above = mels >= knee / step
    edges[above] = knee * numpy.exp(ratio * (mels[above] - knee / step))
    ramps = numpy.subtract.outer(edges, numpy.fft.rfftfreq(FFT, 1 / RATE))
    widths = numpy.diff(edges)[:, None]
    sides = numpy.minimum(-ramps[:-2] / widths[:-1], ramps[2:] / widths[1:])
    weights: NDArray[numpy.float32] = numpy.maximum(0, sides).astype(numpy.float32)
    weights *= (2.0 / (edges[2:] - edges[:-2]))[:, None]
    return weights


# -- the pitch: a phase vocoder, then another sample rate


STRETCHED = 900.0  # seconds of sound in the middle of a shift, at most; a minute takes some seconds of work


def shift(sound: Sound, steps: float, name: str) -> Sound:
    """The sound at RATE with another pitch in semitones, by channel. Raises ToolError if the sound is too long."""
    import numpy

    if not steps:
        return sound
    most = STRETCHED / max(1.0, 2 ** (steps / 12))
    if sound.seconds > most:
        possible = f"at most {most:.0f} s can be shifted by {steps:g} semitones"
        raise ToolError(f"{name} lasts {sound.seconds:.0f} s; {possible}, so cut it first")
    length = sound.samples.shape[1]
    speed = 2.0 ** (-steps / 12)
    padded = [fixed_length(channel, max(length, FFT * 8)) for channel in sound.samples]
    shifted = [resample(stretch(channel, speed), RATE / speed, RATE) for channel in padded]
    return replace(sound, samples=numpy.stack([fixed_length(channel, length) for channel in shifted]))


def stretch(channel: NDArray[numpy.float32], speed: float) -> NDArray[numpy.float32]:
    """The same sound, faster by a factor, with its old pitch.

    A frame of the result has the strength of the frames around its place in the original; its phase goes on from the
    frame before by what the phase changes there.
    """
    import numpy

    shape = window()
    padded = numpy.pad(channel, FFT // 2)
    count = 1 + channel.size // HOP
    length = round(channel.size / speed)
    places = numpy.arange(0, count, speed)[: math.ceil((length + FFT) / HOP)]
    advance = HOP * numpy.fft.rfftfreq(FFT, 1 / (2 * numpy.pi))

    def spectrum(frame: int) -> tuple[NDArray[numpy.float32], NDArray[numpy.float32]]:
        """Strength and phase; after the end of the sound both are 0."""
        if frame >= count:
            silence = numpy.zeros(FFT // 2 + 1, dtype=numpy.float32)
            return silence, silence
        found = numpy.fft.rfft(shape * padded[frame * HOP : frame * HOP + FFT]).astype(numpy.complex64)
        return numpy.abs(found), numpy.angle(found)

    phase = spectrum(0)[1].copy()
    made = numpy.zeros(FFT + HOP * (len(places) - 1), dtype=numpy.float32)
    weight = numpy.zeros_like(made)
    column = numpy.empty(FFT // 2 + 1, dtype=numpy.complex64)
    for index, place in enumerate(places):
        (before, phase_before), (after, phase_after) = spectrum(int(place)), spectrum(int(place) + 1)
        part = place % 1.0
        strength = (1.0 - part) * before + part * after
        column.real, column.imag = numpy.cos(phase) * strength, numpy.sin(phase) * strength
        here = slice(index * HOP, index * HOP + FFT)
        made[here] += shape * numpy.fft.irfft(column)
        weight[here] += shape**2
        change = phase_after - phase_before - advance
        phase += advance + (change - 2.0 * numpy.pi * numpy.round(change / (2.0 * numpy.pi)))
    inside = weight > numpy.finfo(numpy.float32).tiny
    made[inside] /= weight[inside]
    return fixed_length(made[FFT // 2 :], length)


# -- noise reduction by spectral gating


DENOISED = 60_000_000  # samples of all channels: 11 minutes of stereo at 44.1 kHz, worked off in about a minute
GATE_FFT, GATE_HOP = 1024, 256  # samples
SMOOTH_HERTZ, SMOOTH_MILLISECONDS = 500.0, 50.0  # to which the gate is smoothed, so that it does not ring


def reduce_noise(samples: NDArray[numpy.float32], rate: int) -> NDArray[numpy.float32]:
    """The sound (channels, samples) without its steady background; as long as before."""
    import noisereduce
    import numpy

    finest = (
        math.ceil(2 * rate / GATE_FFT) + 1,
        math.ceil(GATE_HOP / rate * 1000) + 1,
    )  # it refuses less than its own steps
    with numpy.errstate(invalid="ignore", divide="ignore"):  # digital silence is 0 / 0, which comes back as no number
        clean: Any = noisereduce.reduce_noise(
            y=samples,
            sr=rate,
            freq_mask_smooth_hz=max(SMOOTH_HERTZ, finest[0]),
            time_mask_smooth_ms=max(SMOOTH_MILLISECONDS, finest[1]),
        )
    result: NDArray[numpy.float32] = numpy.nan_to_num(clean).astype(numpy.float32)
    return result
