"""How many calls a second a tool answers to several callers at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any


def together(call: Callable[[int], Any], numbers: Sequence[int]) -> list[Any]:
    """The results of calls that begin at the same time, in their order."""
    gate = threading.Barrier(len(numbers))

    def one(number: int) -> Any:
        gate.wait()
        return call(number)

    with ThreadPoolExecutor(len(numbers)) as pool:
        return list(pool.map(one, numbers))


def rate(call: Callable[[int], Any], callers: int, seconds: float) -> float:
    """Calls a second. Each caller begins its next call when it has the result of the last, until the time is over."""
    together(call, range(callers))  # warm: a GPU chooses its programs by the shape of a batch
    numbers = count()
    start = time.perf_counter()

    def calls(_: int) -> int:
        done = 0
        while not done or time.perf_counter() - start < seconds:
            call(next(numbers))
            done += 1
        return done

    done = sum(together(calls, range(callers)))
    return done / (time.perf_counter() - start)
