"""An ideal scheduler: what a run with the same limits could not beat, by simulation on the same draws."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from benchmarks.draws import Draws

AGAIN = ("limited", "limited for a second", "failed", "silent")


def seconds(draws: Draws, keys: Sequence[str], in_flight: int, *, timeout: float) -> float:
    """From the first request to the last answer when the requests ``keys`` are started in order, ``in_flight`` at once.

    A place is free the moment an answer is there. A request that is to be repeated is first in line from the moment it may be:
    at once, or after the second that "Retry-After" asks for. Meanwhile its place serves another. One without an answer
    holds its place for ``timeout`` seconds.
    """
    free = [0.0] * in_flight  # when each place is free
    again: list[tuple[float, str, int]] = []  # (may start at, request, tries before)
    fresh = list(reversed(keys))
    end = 0.0
    while fresh or again:
        now = heapq.heappop(free)
        if again and (again[0][0] <= now or not fresh):
            ready, key, tries = heapq.heappop(again)
            now = max(now, ready)
        else:
            key, tries = fresh.pop(), 0
        drawn = draws.draw(key, tries)
        done = now + (timeout if drawn.kind == "silent" else drawn.seconds)
        heapq.heappush(free, done)
        if drawn.kind in AGAIN:
            heapq.heappush(again, (done + (drawn.kind == "limited for a second"), key, tries + 1))
        else:
            end = max(end, done)
    return end
