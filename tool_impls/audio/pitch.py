"""Shifting the pitch of sound as librosa does with its presets: a phase vocoder, then another sample rate."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from agentgauge.core.errors import ToolError
from tool_impls.audio.features import FFT, HOP, RATE, fixed_length, resample, window
from tool_impls.audio.sound_file import Sound

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

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
