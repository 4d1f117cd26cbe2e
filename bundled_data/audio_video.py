"""Writes the sounds and films of GTA-Workflow's bundled data: ``python -m bundled_data.audio_video [FOLDER]``."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bundled_data.canvas import Pen

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

PROJECT = Path(__file__).parents[1]
WORKFLOW = Path("bench_gta", "workflow", "mini", "files")
RATE = 16_000  # samples a second
COUNTS = (("09:00", 12), ("10:00", 31), ("11:00", 58), ("12:00", 66), ("13:00", 71), ("14:00", 97))
"""What the display at the door shows, a second each: the time, and how many came since the morning."""


def hall_bells(path: Path) -> None:
    """8 seconds: a chime of four notes from 1.0 to 4.0, a low gong from 5.0 to 7.5, and a faint hiss."""
    import numpy

    from tool_impls.audio import sound_file as sound

    samples = numpy.random.default_rng(14).normal(0, 0.0015, 8 * RATE)
    for place, pitch in enumerate((523.25, 659.25, 783.99, 1046.5)):
        _ring(samples, 1.0 + 0.6 * place, 1.2, pitch, 0.3)
    _ring(samples, 5.0, 2.5, 196.0, 0.55)
    sound.write(path, [samples[None, :].astype(numpy.float32)], RATE, "mono")


def wheel(path: Path) -> None:
    """6 seconds of a wheel that turns in the truing stand."""
    _film(path, [_wheel(number) for number in range(72)], 12)


def door_display(path: Path) -> None:
    """6 seconds of the display at the door of the hall, which counts visitors."""
    _film(path, [_display(*COUNTS[number // 4]) for number in range(24)], 4)


def _ring(samples: NDArray[numpy.float64], start: float, seconds: float, pitch: float, loud: float) -> None:
    """Add a bell: its tone and two fainter ones above, dying away; it ends with ``seconds``."""
    import numpy

    time = numpy.arange(round(seconds * RATE)) / RATE
    tone = sum(
        numpy.sin(2 * math.pi * pitch * factor * time) * share for factor, share in ((1, 1.0), (2.0, 0.25), (3.01, 0.1))
    )
    shape = (
        numpy.minimum(time / 0.005, 1) * numpy.exp(-3.2 * time / seconds) * numpy.minimum((seconds - time) / 0.05, 1)
    )
    first = round(start * RATE)
    samples[first : first + time.size] += loud * tone * shape


def _wheel(number: int) -> Any:
    pen = Pen(320, 240, (226, 232, 230))
    pen.rect((0, 206, 320, 240), (236, 228, 212))
    pen.polygon([(128, 214), (154, 118), (166, 118), (192, 214)], (96, 104, 112))
    pen.oval((66, 18, 254, 206), None, (40, 42, 46), 9)
    pen.oval((77, 29, 243, 195), None, (176, 182, 188), 4)
    turn = number * math.tau / 48
    for spoke in range(16):
        angle = turn + spoke * math.tau / 16
        end = (160 + 81 * math.cos(angle), 112 + 81 * math.sin(angle))
        pen.line([(160, 112), end], (206, 60, 46) if spoke == 0 else (112, 118, 124), 3 if spoke == 0 else 1.4)
    pen.oval((149, 101, 171, 123), (40, 42, 46))
    return pen.done()


def _display(time: str, count: int) -> Any:
    pen = Pen(320, 180, (32, 36, 44))
    pen.rect((14, 14, 306, 166), (14, 18, 22), (96, 104, 116), 3, 10)
    pen.text(160, 26, "GRANITE HALL", 20, (150, 190, 220), "Sans-Bold", "ma")
    pen.text(160, 58, time, 36, (250, 210, 90), "Sans-Bold", "ma")
    pen.text(160, 112, f"{count} visitors", 32, (236, 240, 240), "Sans-Bold", "ma")
    return pen.done()


def _film(path: Path, pictures: list[Any], rate: int) -> None:
    import av

    from tool_impls.video.video_file import VideoWriter

    with VideoWriter(path, Fraction(rate), pictures[0].size) as writer:
        for picture in pictures:
            writer.add(av.VideoFrame.from_image(picture))


MAKERS = {"hall_bells.wav": hall_bells, "wheel.mp4": wheel, "door_display.mp4": door_display}


def write(folder: Path) -> None:
    """Write the files into their place below ``folder``."""
    (folder / WORKFLOW).mkdir(parents=True, exist_ok=True)
    for name, make in MAKERS.items():
        make(folder / WORKFLOW / name)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT)
