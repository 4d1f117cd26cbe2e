"""Chooses the line of a question that identifies its case in a list."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from agentgauge_reports.page.one_line import clipped

READ = 20_000
"""Characters of a question that are looked at."""


@dataclass
class _First:
    """The question of a task's first sample, with which the questions of the others are compared."""

    sample: str
    lines: Sequence[str]
    known: frozenset[str]
    places: list[int] = field(default_factory=list)  # of its cases, as long as no other sample has come
    own: str = ""


class Questions:
    """Chooses a line for each case, in the order in which the cases come.

    The line is the first one that the question of the task's first sample does not have: benchmarks that put every
    question into the same prompt would otherwise show the same line everywhere. Only the first sample's question of
    each task is held.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._first: dict[str, _First] = {}

    def add(self, task: str, sample: str, text: str) -> None:
        """Take the next case; ``text`` is empty if the model got no request."""
        lines = [line for each in text[:READ].splitlines() if (line := each.strip())]
        if not lines:
            self.lines.append("")
            return
        first = self._first.setdefault(task, _First(sample, lines, frozenset(lines), own=clipped(lines[0])))
        if sample == first.sample:
            first.places.append(len(self.lines))
            self.lines.append(first.own)
            return
        if first.places:
            first.own = _own(first.lines, set(lines))
            for place in first.places:
                self.lines[place] = first.own
            first.places.clear()
        self.lines.append(_own(lines, first.known))


def _own(lines: Sequence[str], others: Collection[str]) -> str:
    return clipped(next((line for line in lines if line not in others), lines[0]))
