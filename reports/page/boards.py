"""Our row between the published ones: the columns of ``leaderboard.md``, per benchmark and edition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import PublishedRows, presentation_of
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task
from reports.leaderboard import not_comparable, number, task_notes
from reports.leaderboards import BOARDS


def boards(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry per benchmark of the run::

        {"benchmark", "columns": [name], "help": [task of each column],
         "ours": [{"value", "interval", "n", "broken"}], one per column, as texts
         "editions": [{"title", "source", "date", "rows": [{"model", "cells": [text]}]}],
         "made": [[part, name, text]], "notes": [sentence], "reasons": [[task, sentence]]}

    A cell is as in ``leaderboard.md``: two decimals, a dash where nothing is published.
    """
    by_benchmark: dict[str, list[Task]] = {}
    for name in summary["tasks"]:
        by_benchmark.setdefault(presentation_of(find_task(name)).benchmark, []).append(find_task(name))
    return [_board(benchmark, tasks, summary) for benchmark, tasks in by_benchmark.items()]


def _board(benchmark: str, tasks: Sequence[Task], summary: Mapping[str, Any]) -> dict[str, Any]:
    columns: dict[str, tuple[Task, dict[str, Any]]] = {}
    for task in tasks:
        part = summary["tasks"][task.name]
        shown = presentation_of(task)
        for name in shown.published:
            if name in part["metrics"]:
                columns[shown.leaderboard_columns.get(name, name)] = (task, _ours(part, name, task))
    rows = [row for task in tasks if isinstance(task, PublishedRows) for row in task.published_rows()]
    combined = summary["capabilities"].get(benchmark, {})
    reasons: dict[str, list[str]] = {}
    for task in tasks:
        for reason in not_comparable(summary["run"], task, summary["tasks"][task.name]):
            reasons.setdefault(reason, []).append(task.name)
    return {
        "benchmark": benchmark,
        "columns": list(columns),
        "help": [f"{task.name}: {presentation_of(task).title}" for task, _ in columns.values()],
        "ours": [ours for _, ours in columns.values()],
        "editions": [
            _edition(benchmark, title, rows, list(columns)) for title in dict.fromkeys(row["edition"] for row in rows)
        ],
        "made": [
            [
                part,
                name,
                f"incomplete, without {', '.join(score['missing'])}" if score["missing"] else number(score["value"]),
            ]
            for part, scores in combined.items()
            for name, score in scores.items()
        ],
        "notes": [note for task in tasks for note in task_notes(task, summary["tasks"][task.name])],
        "reasons": [
            ["every task" if len(named) == len(tasks) else ", ".join(named), reason]
            for reason, named in reasons.items()
        ],
    }


def _ours(part: Mapping[str, Any], name: str, task: Task) -> dict[str, Any]:
    metric = part["metrics"][name]
    return {
        "value": number(metric["value"], count=name in presentation_of(task).counts),
        "interval": "" if metric["low"] is None else f"{metric['low']:.1f}–{metric['high']:.1f}",
        "n": metric["n"],
        "broken": part["broken"],
        "clean": number(metric["value_clean"]) if "value_clean" in metric else "",
    }


def _edition(benchmark: str, title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    """The rows of one edition; those that several tasks have of one model are one row."""
    models: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["edition"] == title:
            models.setdefault(row["model"], {}).update(row)
    source, date = _published(benchmark, title)
    return {
        "title": title,
        "source": source,
        "date": date,
        "rows": [
            {"model": model, "cells": [number(row.get(column)) for column in columns]} for model, row in models.items()
        ],
    }


def _published(benchmark: str, edition: str) -> tuple[str, str]:
    """Source and date of an edition: of the published table that is named like it, else of the benchmark's first;
    empty without one."""
    known = [board for board in BOARDS if board.benchmark == benchmark]
    named = [board for board in known if edition in board.title]
    return next(((board.source, board.date) for board in named or known), ("", ""))
