"""Dynamic batching: calls of several threads become one call of a model."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

SIZES: deque[int] = deque(maxlen=10_000)
"""Lengths of the lists that models of this process worked on, until a worker reports and removes them."""


class Batched(Generic[T, R]):
    """Lets many threads share a function that works on lists.

    While one list is worked on, further calls wait; they are the next list, at most ``limit`` long. So a single call
    never waits for others, and a busy model gets full batches. If the function fails, each value of the list is tried
    alone, so that the exception reaches the call that caused it.
    """

    def __init__(self, function: Callable[[list[T]], Sequence[R]], limit: int) -> None:
        self._function = function
        self._limit = limit
        self._waiting: deque[tuple[T, Future[R]]] = deque()
        self._lock = threading.Lock()
        self._working = False

    def __call__(self, value: T) -> R:
        """The function's result for one value. The first thread runs the function for all waiting threads."""
        mine: Future[R] = Future()
        with self._lock:
            self._waiting.append((value, mine))
            lead = not self._working
            self._working = True
        if lead:
            self._work_off(until=mine)
        return mine.result()

    def _work_off(self, until: Future[R] | None = None) -> None:
        """Work off lists until none waits. The calling thread leaves with its own result; another one goes on."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._working = False
                    return
                if until is not None and until.done():
                    threading.Thread(target=self._work_off, name="batches", daemon=True).start()
                    return
                batch = [self._waiting.popleft() for _ in range(min(self._limit, len(self._waiting)))]
            self._work(batch)

    def _work(self, batch: list[tuple[T, Future[R]]]) -> None:
        SIZES.append(len(batch))
        try:
            results = self._function([value for value, _ in batch])
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)
        except BaseException as error:  # of any kind: no thread may wait forever
            left = [(value, future) for value, future in batch if not future.done()]
            if len(batch) > 1 and isinstance(error, Exception):
                for one in left:  # one bad value must not fail the others
                    self._work([one])
            else:
                for _, future in left:
                    future.set_exception(error)
