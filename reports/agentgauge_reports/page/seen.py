"""Facts that the page collects about cases while their transcripts are written."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from agentgauge.core.types import Record
from agentgauge_reports.page.one_line import WORDS, clipped, one_line
from agentgauge_reports.page.questions import Questions

NAMES, NAME = 30, 80
"""So many tools and files of a case can be searched for, and so many characters of the name of each."""


class Learnt(NamedTuple):
    """The facts that the page counts and lists for one case; for each event its name, its seconds, and whether it
    failed.
    """

    why: str = ""
    question: str = ""  # as a whole
    named: str = ""  # the tools and files that it names
    model: Sequence[tuple[str, float, bool]] = ()
    tools: Sequence[tuple[str, float, bool]] = ()

    @classmethod
    def of(cls, record: Record, told: Mapping[str, Any]) -> Learnt:
        """``told``: the record's transcript."""
        events = record.transcript.events if record.transcript else ()
        found = [(event.kind, (str(event.name), float(event.seconds), event.error is not None)) for event in events]
        model = [one for kind, one in found if kind != "tool"]
        tools = [one for kind, one in found if kind == "tool"]
        return cls(clipped(_why(record)), _question(told), _named(told), model, tools)


@dataclass
class Seen:
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

    def add(self, task: str, sample: str, learnt: Learnt) -> None:
        """Take the next case."""
        self.chunk_of.append(self.chunks)
        self.questions.add(task, sample, learnt.question)
        self.why.append(learnt.why)
        self.named.append(learnt.named)
        for events, place in ((learnt.model, self.model_seconds), (learnt.tools, self.tool_seconds)):
            for name, seconds, _ in events:
                place.setdefault(name, array("d")).append(seconds)
        self.calls.append(len(learnt.tools))
        self.errors.append(sum(failed for _, _, failed in learnt.tools))
        self.tool_errors.update(name for name, _, failed in learnt.tools if failed)


def _why(record: Record) -> str:
    """The explanation in one line."""
    text = (record.score.explanation if record.score and record.status != "passed" else record.error) or ""
    return one_line(text[: 4 * WORDS])


def _question(told: Mapping[str, Any]) -> str:
    content = told["steps"][told["asked"]].get("content", "") if told["asked"] is not None else ""
    if not isinstance(content, list):
        return str(content)
    return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and part.get("text"))


def _named(told: Mapping[str, Any]) -> str:
    tools = (step["name"] for step in told["steps"] if step["is"] == "tool")
    called = (call.get("name") for step in told["steps"] for call in step.get("calls", ()))
    files = (PurePosixPath(path).name for path in told["files"])
    names = dict.fromkeys(clipped(str(name), NAME) for name in (*files, *tools, *called) if name)
    return ", ".join(list(names)[:NAMES])
