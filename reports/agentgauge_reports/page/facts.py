"""Facts that the page collects about cases while their transcripts are written, and the line that identifies a case."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from agentgauge.core.text import clipped, one_line
from agentgauge.core.types import Record
from agentgauge_reports.text import WORDS

NAMES, NAME = 30, 80
"""So many tools and files of a case can be searched for, and so many characters of the name of each."""


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
        first = self._first.setdefault(task, _First(sample, lines, frozenset(lines), own=clipped(lines[0], WORDS)))
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
    return clipped(next((line for line in lines if line not in others), lines[0]), WORDS)


# -- the facts


class CaseFacts(NamedTuple):
    """The facts that the page counts and lists for one case; for each event its name, its seconds (of a cached answer
    those of the first), and whether it failed.
    """

    why: str = ""
    question: str = ""  # as a whole
    named: str = ""  # the tools and files that it names
    model: Sequence[tuple[str, float, bool]] = ()
    tools: Sequence[tuple[str, float, bool]] = ()

    @classmethod
    def of(cls, record: Record, shown: Mapping[str, Any]) -> CaseFacts:
        """``shown``: the record's transcript."""
        events = record.transcript.events if record.transcript else ()
        found = [
            (event.kind, (str(event.name), float(event.detail.get("cached", event.seconds)), event.error is not None))
            for event in events
        ]
        model = [one for kind, one in found if kind != "tool"]
        tools = [one for kind, one in found if kind == "tool"]
        return cls(clipped(_why(record), WORDS), _question(shown), _named(shown), model, tools)


@dataclass
class PageFacts:
    """The facts about all cases, in the order of the cases."""

    chunks: int = 0
    chunk_of: list[int] = field(default_factory=list)
    questions: Questions = field(default_factory=Questions)
    why: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    tool_errors: Counter[str] = field(default_factory=Counter)
    tool_seconds: dict[str, array[float]] = field(default_factory=dict)
    model_seconds: dict[str, array[float]] = field(default_factory=dict)

    def add(self, task: str, sample: str, case_facts: CaseFacts) -> None:
        """Take the next case."""
        self.chunk_of.append(self.chunks)
        self.questions.add(task, sample, case_facts.question)
        self.why.append(case_facts.why)
        self.named.append(case_facts.named)
        for events, place in ((case_facts.model, self.model_seconds), (case_facts.tools, self.tool_seconds)):
            for name, seconds, _ in events:
                place.setdefault(name, array("d")).append(seconds)
        self.calls.append(len(case_facts.tools))
        self.errors.append(sum(failed for _, _, failed in case_facts.tools))
        self.tool_errors.update(name for name, _, failed in case_facts.tools if failed)


def _why(record: Record) -> str:
    """The explanation in one line."""
    text = (record.score.explanation if record.score and record.status != "passed" else record.error) or ""
    return one_line(text[: 4 * WORDS])


def _question(shown: Mapping[str, Any]) -> str:
    content = shown["steps"][shown["asked"]].get("content", "") if shown["asked"] is not None else ""
    if not isinstance(content, list):
        return str(content)
    return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and part.get("text"))


def _named(shown: Mapping[str, Any]) -> str:
    tools = (step["name"] for step in shown["steps"] if step["is"] == "tool")
    called = (call.get("name") for step in shown["steps"] for call in step.get("calls", ()))
    files = (PurePosixPath(path).name for path in shown["files"])
    names = dict.fromkeys(clipped(str(name), NAME) for name in (*files, *tools, *called) if name)
    return ", ".join(list(names)[:NAMES])
