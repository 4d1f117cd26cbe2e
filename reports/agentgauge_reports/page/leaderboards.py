"""Our row between the published ones: the tables of ``leaderboard.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import Column, Leaderboard, headline_of, presentation_of
from agentgauge.core.task import Task
from agentgauge_reports.headlines import Headline, headlines, leading
from agentgauge_reports.leaderboard import (
    boards_of,
    by_benchmark,
    combined_value,
    in_no_table,
    interval,
    not_comparable,
    number,
    our_columns,
    task_notes,
    wording_notes,
)
from agentgauge_reports.leaderboards import mostly_broken, published_table
from agentgauge_reports.notices import limit_of


def leaderboards(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry per benchmark of the run::

    {"benchmark", "limit", "top": [{"name", "value", "interval", "n", "why"}] of its headline figures,
     "editions": [a published table: see ``_edition``], and one without rows for figures that no table has,
     "made": [[part, name, text]], "notes": [sentence], "reasons": [[task, sentence]]}
    """
    return [_leaderboard(benchmark, tasks, summary) for benchmark, tasks in by_benchmark(summary).items()]


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
        "top": [_top(figure) for figure in headlines(summary, benchmark, tasks) if figure],
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


def _top(top: Headline) -> dict[str, Any]:
    """``why``: what an incomplete figure lacks, else empty."""
    value, ends = top.texts()
    return {"name": top.name, "value": value, "interval": ends, "n": top.n, "why": top.why}


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
    wanted = (task.name, headline_of(task))
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
        return f"{task.name}: {presentation_of(task).title}"
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
        "value": number(metric["value"], count=column.name in presentation_of(tasks[column.part]).counts),
        "interval": interval(metric["low"], metric["high"]),
        "clean": number(metric["value_clean"]) if "value_clean" in metric else "",
    }
