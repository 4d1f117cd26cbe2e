"""Where the requests of batches are: numbers that each process notes, and the progress line sums up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from agentgauge.core.text import counted
from agentgauge.run.coordination.numbers import summed

FILE, FORM = "batched", "iiii"
"""Of the file in the run folder: see ``agentgauge.run.coordination.numbers``."""


class Counts(NamedTuple):
    waiting: int = 0  # requests that are not submitted yet
    submitted: int = 0  # requests in batches that have not ended
    batches: int = 0  # of these requests
    done: int = 0  # batches that have ended

    @classmethod
    def sum(cls, counts: Iterable[Counts]) -> Counts:
        return cls(*map(sum, zip(NONE, *counts, strict=True)))

    def __str__(self) -> str:
        """``3 requests wait for a batch · 500 submitted in 1 batch · 2 batches done``; empty without batches."""
        words = []
        if self.waiting:
            words.append(f"{self.waiting} {'request waits' if self.waiting == 1 else 'requests wait'} for a batch")
        if self.batches:
            words.append(f"{self.submitted} submitted in {_batches(self.batches)}")
        if self.done:
            words.append(f"{_batches(self.done)} done")
        return " · ".join(words)


NONE = Counts()


def _batches(number: int) -> str:
    return counted(number, "batch", "batches")


def counts_of(folder: Path) -> Counts:
    """The sum over all processes of a run."""
    return Counts(*summed(folder / FILE, FORM))
