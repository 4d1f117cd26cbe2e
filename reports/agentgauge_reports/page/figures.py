"""What the page counts: cases, faults, tools, tokens, and apart from these everything that depends on the clock."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentgauge.core.capabilities import presentation_of
from agentgauge.core.task_registry import find_task
from agentgauge.core.types import Record
from agentgauge_reports.capabilities import capabilities
from agentgauge_reports.load import CaseOutline, Run
from agentgauge_reports.taxonomy import TITLES, kind_of

WORDS = 160
"""Characters of an explanation that the table of cases shows."""

STATUSES = ("passed", "wrong", "broken", "missing")


@dataclass
class Seen:
    """What was learnt of the cases while their transcripts were written, in their order."""

    chunks: int = 0
    chunk_of: list[int] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    tool_errors: Counter[str] = field(default_factory=Counter)
    tool_seconds: dict[str, array[float]] = field(default_factory=dict)
    model_seconds: dict[str, array[float]] = field(default_factory=dict)

    def add(self, learnt: Learnt) -> None:
        """Take a case up."""
        self.chunk_of.append(self.chunks)
        self.why.append(learnt.why)
        for events, place in ((learnt.model, self.model_seconds), (learnt.tools, self.tool_seconds)):
            for name, seconds, _ in events:
                place.setdefault(name, array("d")).append(seconds)
        self.calls.append(len(learnt.tools))
        self.errors.append(sum(failed for _, _, failed in learnt.tools))
        self.tool_errors.update(name for name, _, failed in learnt.tools if failed)


class Learnt(NamedTuple):
    """What the page counts of one case: of each event its name, its seconds, and whether it failed."""

    why: str
    model: Sequence[tuple[str, float, bool]]
    tools: Sequence[tuple[str, float, bool]]

    @classmethod
    def of(cls, record: Record | None) -> Learnt:
        """None: there is no record, or none that can be shown."""
        events = record.transcript.events if record and record.transcript else ()
        told = [(event.kind, (str(event.name), float(event.seconds), event.error is not None)) for event in events]
        model = [one for kind, one in told if kind != "tool"]
        return cls(_first_line(_why(record) if record else ""), model, [one for kind, one in told if kind == "tool"])


def figures(run: Run, seen: Seen) -> dict[str, Any]:
    """Everything that is the same in two equal runs, however they were made."""
    about, tasks = run.summary["run"], run.summary["tasks"]
    names = list(tasks)
    kinds = [kind_of(case) for case in run.cases]
    tags = list(dict.fromkeys(tag for case in run.cases for tag in _words(case)))
    tag_of = {tag: number for number, tag in enumerate(tags)}
    numbers = {words: [tag_of[tag] for tag in words] for words in set(map(_words, run.cases))}
    kind_names = list(dict.fromkeys([*TITLES, *kinds, ""]))
    return {
        "model": run.model,
        "facts": [[name, about[name.lower()]] for name in ("dialect", "scoring", "attempts", "AgentGauge")],
        "tasks": [_task(name, part) for name, part in tasks.items()],
        "usage": {name: value for name, value in run.summary["usage"].items() if name != "seconds"},
        "capabilities": [
            {"name": name}
            | {key: round(value, 4) if isinstance(value, float) else value for key, value in found.items()}
            for name, found in capabilities(run).items()
        ],
        "kinds": [[name, TITLES.get(name, name)] for name in kind_names],
        "faults": _faults(run, kinds, kind_names),
        "tools": [
            [name, len(calls), seen.tool_errors[name]]
            for name, calls in sorted(seen.tool_seconds.items(), key=lambda it: (-len(it[1]), it[0]))
        ],
        "tags": tags,
        "cases": {
            "task": [names.index(case.task) for case in run.cases],
            "sample": [case.sample for case in run.cases],
            "attempt": [case.attempt for case in run.cases],
            "status": [STATUSES.index(case.status) for case in run.cases],
            "kind": [kind_names.index(kind) for kind in kinds],
            "tags": [numbers[_words(case)] for case in run.cases],
            "why": seen.why,
            "tokens": [case.usage.prompt_tokens + case.usage.completion_tokens for case in run.cases],
            "usd": [round(case.usage.usd, 6) for case in run.cases],
            "calls": seen.calls,
            "errors": seen.errors,
            "chunk": seen.chunk_of,
        },
    }


def times(run: Run, seen: Seen) -> dict[str, Any]:
    """Everything that two equal runs do not share: seconds, dates, the folder's name."""
    by_task = {task: [case.seconds for case in cases if case.start >= 0] for task, cases in run.by_task.items()}
    return {
        "name": run.name,
        "started": run.about.get("started"),
        "finished": run.about.get("finished"),
        "seconds": [round(case.seconds, 3) for case in run.cases],
        "total": run.summary["usage"]["seconds"],
        "latency": {
            "case": {name: percentiles(found) for name, found in by_task.items() if found},
            "model": {name: percentiles(found) for name, found in sorted(seen.model_seconds.items())},
            "tool": {name: percentiles(found) for name, found in sorted(seen.tool_seconds.items())},
        },
    }


def percentiles(seconds: Sequence[float]) -> list[float]:
    """How many there are, and the 50th, 90th and 99th percentile and the largest of them, in seconds.

    A percentile is the smallest value that so many percent do not exceed (nearest rank). Takes at least one value.
    """
    ordered = sorted(seconds)
    ranks = [-(-len(ordered) * share // 100) for share in (50, 90, 99)]
    return [len(ordered), *(round(ordered[rank - 1], 3) for rank in ranks), round(ordered[-1], 3)]


def _words(case: CaseOutline) -> tuple[str, ...]:
    return (*case.tags, *case.score.labels) if case.score else case.tags


def _task(name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    shown = presentation_of(find_task(name))
    return {
        "name": name,
        "benchmark": shown.benchmark,
        "title": shown.title,
        **{status: part[status] for status in ("planned", *STATUSES)},
    }


def _faults(run: Run, kinds: Iterable[str], names: Sequence[str]) -> list[list[Any]]:
    """Cases by kind and benchmark: ``[number of the kind, {benchmark: count}]``, in the order of the taxonomy."""
    counts: dict[str, Counter[str]] = {}
    for case, kind in zip(run.cases, kinds, strict=True):
        if kind:
            counts.setdefault(kind, Counter())[presentation_of(find_task(case.task)).benchmark] += 1
    return [[names.index(kind), dict(sorted(counts[kind].items()))] for kind in names if kind in counts]


def _why(record: Record) -> str:
    return (record.score.explanation if record.score and record.status != "passed" else record.error) or ""


def _first_line(text: str) -> str:
    line = text[: 4 * WORDS].strip().split("\n", 1)[0]
    return line if len(line) <= WORDS else line[: WORDS - 1] + "…"
