"""An ideal scheduler: what a run with the same limits could not beat, by simulation on the same draws."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import TypeVar

Key = TypeVar("Key", int, str)


def simulated(fate: Callable[[Key, int], tuple[float, float | None]], keys: Sequence[Key], in_flight: int) -> float:
    """Seconds from the first request to the last answer when the requests ``keys`` are started in order, ``in_flight``
    at once.

    ``fate`` of a request and its tries before: for how many seconds it holds its place, and how many more it must wait
    before its next try, None for one that is answered. A place is free the moment its request has ended. One that is to
    be repeated is first in line from the moment it may be; meanwhile its place serves another.
    """
    free = [0.0] * in_flight  # when each place is free
    again: list[tuple[float, Key, int]] = []  # (may start at, request, tries before)
    fresh = list(reversed(keys))
    end = 0.0
    while fresh or again:
        now = heapq.heappop(free)
        if again and (again[0][0] <= now or not fresh):
            ready, key, tries = heapq.heappop(again)
            now = max(now, ready)
        else:
            key, tries = fresh.pop(), 0
        held, wait = fate(key, tries)
        heapq.heappush(free, now + held)
        if wait is None:
            end = max(end, now + held)
        else:
            heapq.heappush(again, (now + held + wait, key, tries + 1))
    return end
