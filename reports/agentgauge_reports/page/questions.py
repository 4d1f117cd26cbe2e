"""The line that stands for a case's question in the list of cases.

Benchmarks put questions into prompts of their own, often with a text that several samples share. No record says which
part is the question. So the line is the one below a heading such as ``# Request`` or behind ``Question:``, and
otherwise the first of the lines that the fewest samples of the task have; text goes before tables, code and JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentgauge.core.text import clipped
from agentgauge_reports.text import WORDS

READ = 20_000
"""Characters of a question that are looked at."""

FIRST, LAST = 40, 20
"""So many lines of a longer question are looked at, from its beginning and its end."""

HELD = 1000
"""Samples of a task after which the lines that samples share are taken as known."""

DATA = "[{<|`"
"""What lines of tables, code and JSON begin with."""

_HEADING = re.compile(
    r"(?i)(?P<sign>[#*<\[ ]*)(?:user )?(?:question|request|problem|query|task)(?P<end>[#*>\] ]*:?[* ]*)"
)


@dataclass
class _Asked:
    """The samples of a task whose lines are not chosen yet, and how many samples have a line."""

    samples: dict[str, tuple[Sequence[str], list[int]]] = field(default_factory=dict)  # lines, places of its cases
    counts: Counter[str] = field(default_factory=Counter)
    settled: bool = False


class Questions:
    """Chooses a line for each case, in the order in which the cases come. Few samples of a task are held at a time."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._tasks: dict[str, _Asked] = {}

    def add(self, task: str, sample: str, text: str) -> None:
        """Take the next case; ``text`` is empty if the model got no request."""
        found = [clipped(line, WORDS) for each in text[:READ].splitlines() if (line := each.strip())]
        lines = found if len(found) <= FIRST + LAST else found[:FIRST] + found[-LAST:]
        asked = self._tasks.setdefault(task, _Asked())
        place = len(self._lines)
        self._lines.append("")
        if asked.settled:
            self._lines[place] = question_line(lines, asked.counts)
            return
        if sample not in asked.samples:
            asked.samples[sample] = (lines, [])
            asked.counts.update(set(lines))
        asked.samples[sample][1].append(place)
        if len(asked.samples) == HELD:
            self._settle(asked)

    def lines(self) -> list[str]:
        """The chosen lines, one for each case; empty for a case that was not asked."""
        for asked in self._tasks.values():
            self._settle(asked)
        return self._lines

    def _settle(self, asked: _Asked) -> None:
        for lines, places in asked.samples.values():
            line = question_line(lines, asked.counts)
            for place in places:
                self._lines[place] = line
        asked.samples.clear()
        asked.counts = Counter({line: count for line, count in asked.counts.items() if count > 1})
        asked.settled = True


def question_line(lines: Sequence[str], counts: Mapping[str, int]) -> str:
    """``counts``: line → how many samples of the task have it."""
    if not lines:
        return ""
    headed = [line for line in _headed(lines) if counts.get(line, 1) == 1]
    if headed:
        return _bare(headed[-1])
    fewest = min(counts.get(line, 1) for line in lines)
    rare = [line for line in lines if counts.get(line, 1) == fewest]
    prose = [line for line in rare if line[0] not in DATA] or [line for line in rare if "?" in line]
    return _bare((prose or rare)[0])


def _headed(lines: Sequence[str]) -> list[str]:
    """The lines that a heading names as the question: those below it, or those that begin with it."""
    found = []
    for number, line in enumerate(lines):
        heading = _HEADING.match(line)
        if heading and (heading["sign"].strip() or ":" in heading["end"]):
            if heading.end() < len(line):
                found.append(line)
            elif number + 1 < len(lines):
                found.append(lines[number + 1])
    return found


def _bare(line: str) -> str:
    """Without the heading that it begins with."""
    heading = _HEADING.match(line)
    marked = heading and heading.end() < len(line) and (heading["sign"].strip() or ":" in heading["end"])
    return line[heading.end() :] if heading and marked else line
