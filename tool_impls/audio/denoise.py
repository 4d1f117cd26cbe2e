"""Noise reduction by spectral gating: noisereduce, or a plain gate of the same kind where it is not installed (GTA
tools spec 5.3)."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

MOST = 60_000_000  # samples of all channels: 11 minutes of stereo at 44.1 kHz, worked off in about a minute
FFT, HOP = 1024, 256  # samples
MEMORY = 2.0  # seconds over which a frequency's usual strength is taken
TIMES = 2.0  # a part is signal where it is so many times stronger than that, and noise below
STEEPNESS = 10.0
SMOOTH_HERTZ, SMOOTH_SECONDS = 500.0, 0.05  # to which the gate is smoothed, so that it does not ring


def installed() -> bool:
    return find_spec("noisereduce") is not None and find_spec("scipy") is not None


def load() -> None:
    """Import what is used; noisereduce brings torch along where that is installed."""
    if installed():
        import noisereduce  # noqa: F401 - to have it ready


def reduce(samples: NDArray[numpy.float32], rate: int) -> NDArray[numpy.float32]:
    """The sound (channels, samples) without its steady background; as long as before."""
    import numpy

    if not installed():
        return numpy.stack([gate(channel, rate) for channel in samples])
    import noisereduce

    with numpy.errstate(invalid="ignore", divide="ignore"):  # digital silence is 0 / 0, which comes back as no number
        clean: Any = noisereduce.reduce_noise(
            y=samples,
            sr=rate,
            freq_mask_smooth_hz=max(
                SMOOTH_HERTZ, math.ceil(2 * rate / FFT) + 1
            ),  # it refuses what is finer than its own steps
            time_mask_smooth_ms=max(SMOOTH_SECONDS * 1000, math.ceil(HOP / rate * 1000) + 1),
        )
    result: NDArray[numpy.float32] = numpy.nan_to_num(clean).astype(numpy.float32)
    return result


def gate(channel: NDArray[numpy.float32], rate: int) -> NDArray[numpy.float32]:
    """One channel, gated where a frequency is hardly stronger than it usually is."""
    import numpy

    window = numpy.hanning(FFT + 1)[:-1].astype(numpy.float32)
    count = 1 + math.ceil(channel.size / HOP)
    padded = numpy.pad(channel, (FFT // 2, count * HOP + FFT - channel.size))
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, FFT)[::HOP][: count + 1]
    spectrum = numpy.fft.rfft(frames * window, axis=1)
    strength = numpy.abs(spectrum)
    usual = _smoothed(strength, MEMORY * rate / HOP)
    above = (strength - usual) / numpy.maximum(usual, 1e-12)
    mask = 1 / (1 + numpy.exp(numpy.clip(STEEPNESS * (TIMES - above), -60, 60)))
    mask = _box(_box(mask, round(SMOOTH_SECONDS * rate / HOP), 0), round(SMOOTH_HERTZ * FFT / rate), 1)
    pieces = numpy.fft.irfft(spectrum * mask, axis=1) * window
    result, weight = numpy.zeros(padded.size), numpy.full(padded.size, 1e-9)
    for index, piece in enumerate(pieces):
        result[index * HOP : index * HOP + FFT] += piece
        weight[index * HOP : index * HOP + FFT] += window**2
    whole: NDArray[numpy.float32] = (result / weight)[FFT // 2 :][: channel.size].astype(numpy.float32)
    return whole


def _smoothed(strength: NDArray[Any], frames: float) -> NDArray[Any]:
    """An exponential mean over time, forwards and then backwards."""
    share = 1 / max(frames, 1.0)
    result = strength.astype("float64")
    for order in (range(1, len(result)), range(len(result) - 2, -1, -1)):
        step = order.step
        for index in order:
            result[index] = share * result[index] + (1 - share) * result[index - step]
    return result


def _box(values: NDArray[Any], width: int, axis: int) -> NDArray[Any]:
    """A moving mean of ``width`` values along an axis."""
    import numpy

    width = min(width | 1, (values.shape[axis] - 1) | 1)
    if width < 3:
        return values
    pad = [(0, 0), (0, 0)]
    pad[axis] = (width // 2 + 1, width // 2)
    sums = numpy.cumsum(numpy.pad(values, pad, mode="edge"), axis=axis)
    count = values.shape[axis]
    late, early = numpy.take(sums, range(width, width + count), axis), numpy.take(sums, range(count), axis)
    result: NDArray[Any] = (late - early) / width
    return result
