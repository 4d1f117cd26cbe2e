"""When the frames of a video are shown.

A file holds a time for each frame. Recordings of screens, phones and calls have frames at uneven times, so that a
frame's number says nothing of its time; there a file's rate is a mean or a guess.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

FALLBACK_RATE = Fraction(25)
FASTEST = 1000  # frames a second; files that declare more mean their clock
SLACK = 0.0006  # seconds; Matroska rounds times to milliseconds, so they are off by half of one


@dataclass(frozen=True, slots=True)
class Timing:
    """The frames of a video in the order of showing, as its packets announce them."""

    times: Sequence[float]  # seconds by the file's clock
    end: float  # when the last frame is no longer shown
    rate: Fraction  # frames a second
    ticks: Sequence[int] | None  # the same in units of the stream; None where the file holds no times
    exact: bool = True  # whether decoded frames have these times; AVI files do not say which frames change places

    @property
    def begin(self) -> float:
        return self.times[0] if self.times else 0.0

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    def time_of(self, number: int) -> float:
        """Seconds by the file's clock; by the rate for frames that no packet announces."""
        if number < len(self.times):
            return self.times[number]
        return self.end + (number - len(self.times)) / float(self.rate)

    def part(self, start: float, end: float) -> tuple[int, int]:
        """The numbers of the first frame of a part and of the one behind its last; equal where it holds none.

        The part begins with the frame that is shown at ``start``. Its last frame is shown for the time of one frame
        before ``end``. With a constant rate these are int(start * rate) and int(end * rate).
        """
        first = self._shown_at(self.begin + start)
        latest = self.begin + end + self._slack
        last = bisect_right(self.times, latest)
        while last > first and self.times[last - 1] + min(1 / float(self.rate), self._gap(last - 1)) > latest:
            last -= 1
        return first, last

    def stretch(self, first: int, last: int, start: float, end: float) -> tuple[float, float] | None:
        """The beginning and the end of a part by the file's clock. It begins with its first frame, unless that is shown
        for longer than one frame before ``start``. None where the file holds no times."""
        if self.ticks is None:
            return None
        start, end = self.begin + start, self.begin + end
        is_long = start - self.times[first] >= 1 / float(self.rate) - self._slack
        return start if is_long else self.times[first], min(self.times[last - 1] + self._gap(last - 1), end)

    def spread(self, limit: int, every: int = 1, *, middle: bool = False) -> list[int]:
        """At most ``limit`` of every ``every``-th frame, those that are shown at evenly spread moments: from the
        beginning on, or in the middle of equal stretches."""
        numbers = range(0, len(self.times), every)
        if len(numbers) <= limit:
            return list(numbers)
        length = max(self.end, self.times[numbers[-1]] + every / float(self.rate)) - self.begin
        moments = (self.begin + (2 * place + middle) * length / (2 * limit) for place in range(limit))
        return sorted({self._shown_at(moment) // every * every for moment in moments})

    def _shown_at(self, moment: float) -> int:
        return max(0, bisect_right(self.times, moment + self._slack) - 1)

    def _gap(self, number: int) -> float:
        """Seconds for which a frame is shown."""
        return (self.times[number + 1] if number + 1 < len(self.times) else self.end) - self.times[number]

    @property
    def _slack(self) -> float:
        return min(SLACK, 0.1 / float(self.rate))


def timing_of(container: Any) -> Timing:
    """The timing of an opened video. All its packets are read, and none is decoded."""
    stream = container.streams.video[0]
    rate = rate_of(stream)
    shown = [
        (packet.pts, packet.duration) for packet in container.demux(stream) if packet.size and not packet.is_discard
    ]
    ticks = [pts for pts, _ in shown if pts is not None]
    if not shown or len(set(ticks)) < len(shown):
        return Timing([float(number / rate) for number in range(len(shown))], float(len(shown) / rate), rate, None)
    exact = not stream.codec_context.has_b_frames or ticks != sorted(ticks)
    shown.sort()
    unit = float(stream.time_base)
    last, lasts = shown[-1]
    end = last * unit + (lasts * unit if lasts else 1 / float(rate))
    return Timing([pts * unit for pts, _ in shown], end, rate, [pts for pts, _ in shown], exact)


def rate_of(stream: Any) -> Fraction:
    """Frames a second; a usual value where the file declares none, or nonsense."""
    for rate in (stream.guessed_rate, stream.average_rate, stream.base_rate):
        if rate and 0 < rate <= FASTEST:
            return Fraction(rate)
    return FALLBACK_RATE
