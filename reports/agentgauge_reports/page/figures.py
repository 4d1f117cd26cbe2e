"""Counts for the page: cases, faults, tools and tokens, and separately everything that depends on the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from agentgauge.core.capabilities import presentation_of
from agentgauge.core.task_registry import find_task
from agentgauge_reports.capabilities import capabilities
from agentgauge_reports.leaderboards import presentable
from agentgauge_reports.load import CaseOutline, Run
from agentgauge_reports.notices import limit_of
from agentgauge_reports.page.facts import PageFacts
from agentgauge_reports.taxonomy import TITLES, kind_of
from agentgauge_reports.text import WAITS

STATUSES = ("passed", "wrong", "broken", "missing")


def figures(run: Run, facts: PageFacts) -> dict[str, Any]:
    """Everything that is the same in two equal runs."""
    about, tasks = run.summary["run"], run.summary["tasks"]
    names = list(tasks)
    kinds = [kind_of(case) for case in run.cases]
    tags = list(dict.fromkeys(tag for case in run.cases for tag in _words(case)))
    tag_of = {tag: number for number, tag in enumerate(tags)}
    numbers = {words: [tag_of[tag] for tag in words] for words in set(map(_words, run.cases))}
    kind_names = list(dict.fromkeys([*TITLES, *kinds, ""]))
    columns = {"question": facts.questions.lines, "why": facts.why, "named": facts.named}
    texts = {text: number for number, text in enumerate(dict.fromkeys(chain(*columns.values())))}
    return {
        "model": run.model,
        "facts": [
            *([name, about[name.lower()]] for name in ("dialect", "scoring", "attempts", "AgentGauge")),
            *([["limit", about["limit"]]] if limit_of(run.summary) else []),
        ],
        "tasks": [_task(name, part) | {"limit": limit_of(run.summary, [name])} for name, part in tasks.items()],
        "usage": {name: value for name, value in run.summary["usage"].items() if name not in ("seconds", "times")},
        "capabilities": [
            {"name": name}
            | {key: round(value, 4) if isinstance(value, float) else value for key, value in found.items()}
            for name, found in capabilities(run).items()
        ],
        "kinds": [[name, TITLES.get(name, name)] for name in kind_names],
        "faults": _faults(run, kinds, kind_names),
        "tools": [
            [name, len(calls), facts.tool_errors[name]]
            for name, calls in sorted(facts.tool_seconds.items(), key=lambda it: (-len(it[1]), it[0]))
        ],
        "tags": tags,
        "texts": list(texts),  # each once: attempts share their question, and many cases a verdict
        "cases": {
            "task": [names.index(case.task) for case in run.cases],
            "sample": [case.sample for case in run.cases],
            "attempt": [case.attempt for case in run.cases],
            "status": [STATUSES.index(case.status) for case in run.cases],
            "kind": [kind_names.index(kind) for kind in kinds],
            "tags": [numbers[_words(case)] for case in run.cases],
            **{name: [texts[text] for text in found] for name, found in columns.items()},
            "tokens": [case.usage.prompt_tokens + case.usage.completion_tokens for case in run.cases],
            "usd": [round(case.usage.usd, 6) for case in run.cases],
            "calls": facts.calls,
            "errors": facts.errors,
            "chunk": facts.chunk_of,
        },
    }


def times(run: Run, facts: PageFacts) -> dict[str, Any]:
    """Everything that two equal runs do not share: seconds, dates, the folder's name."""
    started, sums = run.about.get("started") or 0.0, run.summary["usage"].get("times", {})
    by_task = {task: [case.working for case in cases if case.start >= 0] for task, cases in run.by_task.items()}
    return {
        "name": run.name,
        "started": run.about.get("started"),
        "finished": run.about.get("finished"),
        "resumed": any(0 < case.finished < started for case in run.cases),  # then the times are of the last session
        "seconds": [round(case.working, 3) for case in run.cases],
        "total": working["seconds"] if (working := sums.get("working")) else run.summary["usage"]["seconds"],
        "working": bool(sums),  # else the times include waiting for slots
        "waits": [[sums[kind]["seconds"], what] for kind, what in WAITS.items()] if sums else [],
        "latency": {
            "case": {name: percentiles(found) for name, found in by_task.items() if found},
            "model": {name: percentiles(found) for name, found in sorted(facts.model_seconds.items())},
            "tool": {name: percentiles(found) for name, found in sorted(facts.tool_seconds.items())},
        },
    }


def percentiles(seconds: Sequence[float]) -> list[float]:
    """The number of values, their 50th, 90th and 99th percentiles, and the largest value, in seconds.

    A percentile p is the smallest value that p percent of the values do not exceed (nearest rank). Takes at least one
    value.
    """
    ordered = sorted(seconds)
    ranks = [-(-len(ordered) * share // 100) for share in (50, 90, 99)]
    return [len(ordered), *(round(ordered[rank - 1], 3) for rank in ranks), round(ordered[-1], 3)]


def _words(case: CaseOutline) -> tuple[str, ...]:
    return (*case.tags, *case.score.labels) if case.score else case.tags


def _task(name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    task = find_task(name)
    shown = presentation_of(task)
    counts = {status: part[status] for status in ("planned", *STATUSES)}
    if task.data.in_run_folder:  # pytest says which tests it did not run
        counts |= {"planned": counts["planned"] - counts["missing"], "missing": 0}
    return {
        "name": name,
        "benchmark": shown.benchmark,
        "title": shown.title,
        **counts,
        "pass": presentable(part).get("pass"),
    }


def _faults(run: Run, kinds: Iterable[str], names: Sequence[str]) -> list[list[Any]]:
    """Cases by kind and benchmark: ``[number of the kind, {benchmark: count}]``, in the order of the taxonomy."""
    counts: dict[str, Counter[str]] = {}
    for case, kind in zip(run.cases, kinds, strict=True):
        if kind:
            counts.setdefault(kind, Counter())[presentation_of(find_task(case.task)).benchmark] += 1
    return [[names.index(kind), dict(sorted(counts[kind].items()))] for kind in names if kind in counts]
