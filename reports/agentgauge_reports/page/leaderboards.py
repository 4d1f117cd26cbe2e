"""Our row between the published ones: the columns of ``leaderboard.md``, per benchmark and edition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import headline_of, presentation_of
from agentgauge.core.task import Task
from agentgauge_reports.headlines import Headline, headlines, leading
from agentgauge_reports.leaderboard import (
    by_benchmark,
    combined_value,
    interval,
    not_comparable,
    number,
    our_columns,
    task_notes,
)
from agentgauge_reports.leaderboards import mostly_broken, published_editions, published_in
from agentgauge_reports.limited import limit_of


def leaderboards(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry per benchmark of the run::

        {"benchmark", "limit", "top": [{"name", "value", "interval", "n", "why"}] of its headline figures,
         "columns": [name], "help": [task of each column], "headline": place of a column,
         "ours": [{"value", "interval", "n", "broken"}], one per column, as texts,
         "editions": [{"title", "source", "date", "rows": [{"model", "cells": [text]}]}],
         "made": [[part, name, text]], "notes": [sentence], "reasons": [[task, sentence]]}

    A cell is as in ``leaderboard.md``: two decimals, a dash where nothing is published.
    """
    return [_leaderboard(benchmark, tasks, summary) for benchmark, tasks in by_benchmark(summary).items()]


def _leaderboard(benchmark: str, tasks: Sequence[Task], summary: Mapping[str, Any]) -> dict[str, Any]:
    columns = our_columns(summary, tasks)
    combined = summary["capabilities"].get(benchmark, {})
    return {
        "benchmark": benchmark,
        "limit": limit_of(summary, [task.name for task in tasks]),
        "top": [_top(figure, combined) for figure in headlines(summary, benchmark, tasks) if figure],
        "columns": list(columns),
        "headline": _headline(tasks, list(columns.values())),
        "help": [f"{task.name}: {presentation_of(task).title}" for task, _ in columns.values()],
        "ours": [_ours(summary["tasks"][task.name], name, task) for task, name in columns.values()],
        "editions": [_edition(tasks, title, rows, list(columns)) for title, rows in published_editions(tasks).items()],
        "made": [[part, name, _made(score)] for part, scores in combined.items() for name, score in scores.items()],
        "notes": [note for task in tasks for note in task_notes(task, summary["tasks"][task.name])],
        "reasons": [
            ["every task" if len(named) == len(tasks) else ", ".join(named), reason]
            for reason, named in not_comparable(summary, tasks).items()
        ],
    }


def _top(top: Headline, combined: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """``why``: what an incomplete figure lacks, else empty."""
    value, ends = top.texts()
    scores = [score for part in combined.values() for score in part.values()]
    why = combined_value(scores[-1]).partition(", ")[2] if top.n is None and scores else top.why
    return {"name": top.name, "value": value, "interval": ends, "n": top.n, "why": why}


def _made(score: Mapping[str, Any]) -> str:
    """With its interval, which runs of earlier versions do not have."""
    ends = interval(score.get("low"), score.get("high"))
    return combined_value(score) + (f" ({ends})" if ends else "")


def _headline(tasks: Sequence[Task], columns: Sequence[tuple[Task, str]]) -> int:
    """The column that rows are sorted by: that of the first task which names its own, else of the first task."""
    task = leading(tasks)
    wanted = (task, headline_of(task))
    return columns.index(wanted) if wanted in columns else 0


def _ours(part: Mapping[str, Any], name: str, task: Task) -> dict[str, Any]:
    metric = part["metrics"][name]
    if mostly_broken(part):
        return {"value": "–", "interval": "", "n": metric["n"], "broken": part["broken"], "clean": ""}
    return {
        "value": number(metric["value"], count=name in presentation_of(task).counts),
        "interval": interval(metric["low"], metric["high"]),
        "n": metric["n"],
        "broken": part["broken"],
        "clean": number(metric["value_clean"]) if "value_clean" in metric else "",
    }


def _edition(
    tasks: Sequence[Task], title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> dict[str, Any]:
    source, date = published_in(tasks, title)
    cells = [{"model": row["model"], "cells": [number(row.get(column)) for column in columns]} for row in rows]
    return {"title": title, "source": source, "date": date, "rows": cells}
