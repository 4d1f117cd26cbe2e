"""The figures of the page: counts, our row between the published ones, and separately all that depends on the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from agentgauge.core.published import Column, Leaderboard
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.text import counted
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.figures import (
    Headline,
    combined_value,
    headlines,
    interval,
    leading,
    number,
    published_table,
    yardstick,
)
from agentgauge_reports.grouping import TITLES, capabilities, kind_below, kind_of
from agentgauge_reports.leaderboard import (
    boards_of,
    by_benchmark,
    in_no_table,
    not_comparable,
    our_columns,
    task_notes,
    wording_notes,
)
from agentgauge_reports.load import Run
from agentgauge_reports.notices import limit_of, mostly_broken, presentable
from agentgauge_reports.page.facts import PageFacts
from agentgauge_reports.page.floor import floor
from agentgauge_reports.text import WAITS

STATUSES = ("passed", "wrong", "broken", "missing")


def figures(run: Run, facts: PageFacts) -> dict[str, Any]:
    """Everything that is the same in two equal runs."""
    about, tasks = run.summary["run"], run.summary["tasks"]
    names = list(tasks)
    is_own = all(run.tasks[name].data.in_run_folder for name in names)  # tests that pytest runs as they are
    kinds = [kind_of(case, run.tasks) for case in run.cases]
    tags = list(dict.fromkeys(tag for case in run.cases for tag in _words(case)))
    tag_of = {tag: number for number, tag in enumerate(tags)}
    numbers = {words: [tag_of[tag] for tag in words] for words in set(map(_words, run.cases))}
    below = [kind_below(case, run.tasks) for case in run.cases]
    full = [f"{kind}/{other}" if other else kind for kind, other in zip(kinds, below, strict=True)]
    both = sorted(name for name in set(full) if "/" in name)
    kind_names = [name for kind in TITLES for name in (kind, *(one for one in both if one.startswith(f"{kind}/")))] + [
        ""
    ]
    columns = {
        "question": facts.questions.lines(),
        "expected": facts.expected,
        "got": facts.got,
        "finish": facts.finish,
        "why": facts.why,
        "named": facts.named,
    }
    texts = {text: number for number, text in enumerate(dict.fromkeys(chain(*columns.values())))}
    return {
        "model": run.model,
        "facts": [
            *([name, about[name.lower()]] for name in ("dialect", "scoring", "attempts") if not is_own),
            ["AgentGauge", about["agentgauge"]],
            *([["limit", about["limit"]]] if limit_of(run.summary) else []),
        ],
        "tasks": [
            _task(run.tasks[name], part) | {"limit": limit_of(run.summary, [name])} for name, part in tasks.items()
        ],
        "usage": {name: value for name, value in run.summary["usage"].items() if name not in ("seconds", "times")},
        "capabilities": [
            {"name": name}
            | {key: round(value, 4) if isinstance(value, float) else value for key, value in found.items()}
            for name, found in capabilities(run).items()
        ],
        "kinds": [_kind(name) for name in kind_names],
        "faults": _faults(run, full, kind_names, columns),
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
            "kind": [kind_names.index(kind) for kind in full],
            "tags": [numbers[_words(case)] for case in run.cases],
            **{name: [texts[text] for text in found] for name, found in columns.items()},
            "requests": [case.usage.requests for case in run.cases],
            "tokens": [case.usage.prompt_tokens + case.usage.completion_tokens for case in run.cases],
            "usd": [round(case.usage.usd, 6) for case in run.cases],
            **({"saved": saved} if any(saved := [round(case.usage.saved_usd, 6) for case in run.cases]) else {}),
            "calls": facts.calls,
            "errors": facts.errors,
            "chunk": facts.chunk_of,
        },
    }


def times(run: Run, facts: PageFacts) -> dict[str, Any]:
    """Everything that two equal runs do not share: seconds, dates, the folder's name."""
    started, sums = run.about.get("started") or 0.0, run.summary["usage"].get("times", {})
    ran = {task: [case for case in cases if case.start >= 0] for task, cases in run.by_task.items()}
    by_task = {task: [case.working for case in cases if not case.is_cached] for task, cases in ran.items()}
    return {
        "name": run.name,
        "started": run.about.get("started"),
        "finished": run.about.get("finished"),
        "resumed": any(0 < case.finished < started for case in run.cases),  # then the times are of the last session
        "seconds": [round(case.working, 3) for case in run.cases],
        "total": working["seconds"] if (working := sums.get("working")) else run.summary["usage"]["seconds"],
        "working": bool(sums),  # else the times include waiting for slots
        **({"cached": cached} if (cached := sum(case.is_cached for cases in ran.values() for case in cases)) else {}),
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


def _kind(name: str) -> list[str]:
    """Name and title; of the name of two kinds also those of each."""
    parts = name.split("/")
    first, *others = titles = [TITLES.get(part, part) for part in parts]
    both = [text for pair in zip(parts, titles, strict=True) for text in pair] if others else []
    return [name, ": ".join([first, *(title.lower() for title in others)]), *both]


def _words(case: CaseOutline) -> tuple[str, ...]:
    return (*case.tags, *case.score.labels) if case.score else case.tags


def _task(task: Task, part: Mapping[str, Any]) -> dict[str, Any]:
    counts = {status: part[status] for status in ("planned", *STATUSES)}
    if task.data.in_run_folder:  # pytest says which tests it did not run
        counts |= {"planned": counts["planned"] - counts["missing"], "missing": 0}
    return {
        "name": task.name,
        "benchmark": task.shown.benchmark,
        "title": task.shown.title,
        **counts,
        "pass": presentable(part).get("pass"),
    }


def _faults(
    run: Run, kinds: Sequence[str], names: Sequence[str], columns: Mapping[str, Sequence[str]]
) -> list[list[Any]]:
    """Cases by kind and benchmark: ``[number of the kind, {benchmark: count}, place of an example, {number of both
    kinds: count}]``, in the order of the taxonomy. The example is the first case that has a question and says what was
    expected and what came; the last part counts the cases that are of another kind besides."""
    counts: dict[str, Counter[str]] = {}
    both = Counter(name for name in kinds if "/" in name)
    examples: dict[str, tuple[int, int]] = {}  # how much it says, and its place
    for place, (case, name) in enumerate(zip(run.cases, kinds, strict=True)):
        if kind := name.partition("/")[0]:
            counts.setdefault(kind, Counter())[run.tasks[case.task].shown.benchmark] += 1
            says = sum(bool(columns[name][place]) for name in ("question", "expected", "got"))
            examples[kind] = max(examples.get(kind, (-1, -1)), (says, place), key=lambda one: one[0])
    return [
        [
            names.index(kind),
            dict(sorted(counts[kind].items())),
            examples[kind][1],
            {names.index(name): both[name] for name in names if name in both and name.startswith(f"{kind}/")},
        ]
        for kind in names
        if kind in counts
    ]


# -- the tables of ``leaderboard.md``


def leaderboards(summary: Mapping[str, Any], known: Registry) -> list[dict[str, Any]]:
    """One entry per benchmark of the run::

    {"benchmark", "limit", "top": [headline figure, see ``_top``],
     "editions": [a published table: see ``_edition``], and one without rows for figures that no table has,
     "made": [[part, name, text]], "notes": [sentence], "reasons": [[task, sentence]]}
    """
    return [_leaderboard(benchmark, tasks, summary) for benchmark, tasks in by_benchmark(summary, known).items()]


def _leaderboard(benchmark: str, tasks: Sequence[Task], summary: Mapping[str, Any]) -> dict[str, Any]:
    combined = summary["capabilities"].get(benchmark, {})
    boards = boards_of(summary, benchmark, tasks)
    editions = [_edition(board, tasks, summary, combined) for board in boards]
    if unpublished := in_no_table(summary, tasks, boards):
        ours = our_columns(summary, tasks)
        columns = [Column(title, title, ours[title][0].name, ours[title][1]) for title in unpublished]
        title = "figures without published rows" if boards else ""
        editions.append(_edition(Leaderboard(title, "", "", tuple(columns), []), tasks, summary, combined))
    return {
        "benchmark": benchmark,
        "limit": limit_of(summary, [task.name for task in tasks]),
        "top": [_top(figure, boards, tasks, summary) for figure in headlines(summary, benchmark, tasks) if figure],
        "editions": editions,
        "made": [[part, name, _made(score)] for part, scores in combined.items() for name, score in scores.items()],
        "notes": [
            note
            for task in tasks
            for note in (*task_notes(task, summary["tasks"][task.name]), *wording_notes(task, summary["run"]))
        ],
        "reasons": [
            ["every task" if len(named) == len(tasks) else ", ".join(named), reason]
            for reason, named in not_comparable(summary, tasks).items()
        ],
    }


def _top(
    top: Headline, boards: Sequence[Leaderboard], tasks: Sequence[Task], summary: Mapping[str, Any]
) -> dict[str, Any]:
    """``help``: what it is a figure of. ``why``: what an incomplete figure lacks, else empty. ``yardstick``:
    ``{"table", "rows", "best", "model", "median"}`` where a published table has the figure, else None. ``floor``: what
    the baseline reaches on the same data, or None. ``ours``: value and interval as numbers."""
    value, ends = top.texts()
    found = yardstick(top, boards)
    task = next((task for task in tasks if task.name == top.column[0]), None)
    return {
        **{"name": top.name, "value": value, "interval": ends, "n": top.n, "why": top.why},
        "help": f"{task.name}, {task.shown.title}" if task else f"over {counted(len(tasks), 'task')} of this run",
        "yardstick": found and asdict(found),
        "floor": floor(top.column, summary),
        "ours": [top.value, top.low, top.high],
    }


def _made(score: Mapping[str, Any]) -> str:
    """With its interval, which runs of earlier versions do not have."""
    ends = interval(score.get("low"), score.get("high"))
    return combined_value(score) + (f" ({ends})" if ends else "")


def _edition(
    board: Leaderboard, tasks: Sequence[Task], summary: Mapping[str, Any], combined: Mapping[str, Any]
) -> dict[str, Any]:
    """``{"title", "source", "date", "columns": [name], "help": [what each column is a figure of], "marks": {name: signs
    of footnotes}, "headline": place of a column, "ours": [{"value", "interval", "n", "broken", "clean"}] as texts, one
    per column, "rows": [{"model", "cells": [text], "marks": {column, or "model": signs}}], "footnotes": [[sign,
    text]]}``.

    A cell is as in ``leaderboard.md``: two decimals, a dash where nothing is published.
    """
    printed = published_table(board)
    columns = printed["columns"]
    named = {task.name: task for task in tasks}
    task = leading(tasks)  # rows are sorted by its headline
    wanted = (task.name, task.shown.headline)
    places = [place for place, column in enumerate(board.columns) if (column.part, column.name) == wanted]
    return {
        **{key: printed[key] for key in ("source", "date", "columns", "marks", "footnotes")},
        "title": board.title,
        "help": [_help(column, named) for column in board.columns],
        "headline": places[0] if places else 0,
        "ours": [_ours(column, named, summary, combined) for column in board.columns],
        "rows": [
            {
                "model": row["model"],
                "cells": [number(row["values"][column]) for column in columns],
                "marks": row["marks"],
            }
            for row in printed["rows"]
        ],
    }


def _help(column: Column, tasks: Mapping[str, Task]) -> str:
    if task := tasks.get(column.part):
        return f"{task.name}: {task.shown.title}"
    return f"combined from several tasks: {column.name}" if column.name else "no task has this figure"


def _ours(
    column: Column, tasks: Mapping[str, Task], summary: Mapping[str, Any], combined: Mapping[str, Any]
) -> dict[str, Any]:
    found = {"value": "–", "interval": "", "n": None, "broken": 0, "clean": ""}
    if score := combined.get(column.part, {}).get(column.name):
        return found | {"value": number(score["value"]), "interval": interval(score.get("low"), score.get("high"))}
    part = summary["tasks"].get(column.part, {})
    if not (metric := part.get("metrics", {}).get(column.name)):
        return found
    found |= {"n": metric["n"], "broken": part["broken"]}
    if mostly_broken(part):
        return found
    return found | {
        "value": number(metric["value"], count=column.name in tasks[column.part].shown.counts),
        "interval": interval(metric["low"], metric["high"]),
        "clean": number(metric["value_clean"]) if "value_clean" in metric else "",
    }
