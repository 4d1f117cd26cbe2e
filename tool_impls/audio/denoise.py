"""Noise reduction by spectral gating, with noisereduce (GTA tools spec 5.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

MOST = 60_000_000  # samples of all channels: 11 minutes of stereo at 44.1 kHz, worked off in about a minute
FFT, HOP = 1024, 256  # samples
SMOOTH_HERTZ, SMOOTH_MILLISECONDS = 500.0, 50.0  # to which the gate is smoothed, so that it does not ring


def reduce(samples: NDArray[numpy.float32], rate: int) -> NDArray[numpy.float32]:
    """The sound (channels, samples) without its steady background; as long as before."""
    import noisereduce
    import numpy

    finest = math.ceil(2 * rate / FFT) + 1, math.ceil(HOP / rate * 1000) + 1  # it refuses less than its own steps
    with numpy.errstate(invalid="ignore", divide="ignore"):  # digital silence is 0 / 0, which comes back as no number
        clean: Any = noisereduce.reduce_noise(
            y=samples,
            sr=rate,
            freq_mask_smooth_hz=max(SMOOTH_HERTZ, finest[0]),
            time_mask_smooth_ms=max(SMOOTH_MILLISECONDS, finest[1]),
        )
    result: NDArray[numpy.float32] = numpy.nan_to_num(clean).astype(numpy.float32)
    return result
