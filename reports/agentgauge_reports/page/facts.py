"""Facts that the page collects about cases while their transcripts are written."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from agentgauge.core.text import clipped, one_line
from agentgauge.core.types import Event, Record
from agentgauge_reports.page.answers import expected_and_got
from agentgauge_reports.page.questions import Questions
from agentgauge_reports.text import WORDS

NAMES, NAME = 30, 80
"""So many tools and files of a case can be searched for, and so many characters of the name of each."""


class CaseFacts(NamedTuple):
    """The facts that the page counts and lists for one case; for each event its name, its seconds (of a cached answer
    those of the first), and whether it failed.
    """

    why: str = ""
    question: str = ""  # as a whole
    expected: str = ""
    got: str = ""
    finish: str = ""  # why the tested model's last reply ended, as its endpoint says
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
        said = (_question(shown), *expected_and_got(record, shown), _finish(events))
        return cls(clipped(_why(record), WORDS), *said, _named(shown), model, tools)


@dataclass
class PageFacts:
    """The facts about all cases, in the order of the cases."""

    chunks: int = 0
    chunk_of: list[int] = field(default_factory=list)
    questions: Questions = field(default_factory=Questions)
    why: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    got: list[str] = field(default_factory=list)
    finish: list[str] = field(default_factory=list)
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
        for name in ("why", "expected", "got", "finish", "named"):
            getattr(self, name).append(getattr(case_facts, name))
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


def _finish(events: Sequence[Event]) -> str:
    for event in reversed(events):
        if event.kind == "model" and not event.detail.get("role"):
            return clipped(str(event.detail.get("finish_reason") or ""), NAME)
    return ""


def _named(shown: Mapping[str, Any]) -> str:
    tools = (step["name"] for step in shown["steps"] if step["is"] == "tool")
    called = (call.get("name") for step in shown["steps"] for call in step.get("calls", ()))
    files = (PurePosixPath(path).name for path in shown["files"])
    names = dict.fromkeys(clipped(str(name), NAME) for name in (*files, *tools, *called) if name)
    return ", ".join(list(names)[:NAMES])
