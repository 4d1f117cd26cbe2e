"""The published tables of the benchmarks of a run, as their tasks define them, with our figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from agentgauge.core.capabilities import Column, Footnote, Leaderboard, PublishedRows, presentation_of
from agentgauge.core.task import Task

_SIGNS = "†‡§‖¶"
"""Of footnotes, in their order. The star is left to publications."""


def leaderboards_of(tasks: Sequence[Task]) -> list[Leaderboard]:
    """The published tables of one benchmark: the tables that its tasks define, else one for each edition of published
    rows. ``tasks``: some or all of its tasks."""
    given = {board.title: board for task in tasks if isinstance(task, PublishedRows) for board in task.leaderboards()}
    return list(given.values()) or [
        Leaderboard(edition, "", "", _columns(tasks), rows) for edition, rows in published_editions(tasks).items()
    ]


def _columns(tasks: Sequence[Task]) -> tuple[Column, ...]:
    """The published columns of all tasks, under the names that they have in published rows."""
    shown = [(task, presentation_of(task)) for task in tasks]
    named = [(one.leaderboard_columns.get(name, name), task, name) for task, one in shown for name in one.published]
    return tuple(Column(column, column, task.name, name) for column, task, name in named)


def published_editions(tasks: Sequence[Task]) -> dict[str, list[dict[str, Any]]]:
    """The published rows by edition. The rows of one model from several tasks become one row."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for task in tasks:
        for row in task.published_rows() if isinstance(task, PublishedRows) else ():
            found.setdefault(row["edition"], {}).setdefault(row["model"], {}).update(row)
    return {edition: list(rows.values()) for edition, rows in found.items()}


def published_table(board: Leaderboard) -> dict[str, Any]:
    """A published table as reports show it::

    {"table", "source", "date", "columns": [title], "marks": {column title: signs of footnotes},
     "rows": [{"model", "this_run": False, "values": {column title: value or None},
               "marks": {column title, or "model": signs}}],
     "footnotes": [[sign, or "" for the whole table; text]]}
    """
    signed = _signed(board)
    return {
        "table": board.title,
        "source": board.source,
        "date": board.date,
        "columns": [column.title for column in board.columns],
        "marks": _marks(board, signed, ""),
        "rows": [
            {
                "model": row["model"],
                "this_run": False,
                "values": {column.title: _scaled(row.get(column.key), board.factor) for column in board.columns},
                "marks": _marks(board, signed, row["model"]),
            }
            for row in board.rows
        ],
        "footnotes": [[sign, note.text] for sign, note in signed],
    }


def _signed(board: Leaderboard) -> list[tuple[str, Footnote]]:
    """Footnotes with the sign that stands at their figures, in the order in which a reader meets these. Footnotes to
    the whole table are the last, and have none."""
    models = [row["model"] for row in board.rows]
    keys = [column.key for column in board.columns]

    def place(note: Footnote) -> tuple[bool, int, int]:
        row = min(map(models.index, note.models), default=-1)
        return not (note.models or note.columns), row, min(map(keys.index, note.columns), default=-1)

    signs = (sign * times for times in count(1) for sign in _SIGNS)
    ordered = sorted(board.footnotes, key=place)
    return [(note.mark or (next(signs) if note.models or note.columns else ""), note) for note in ordered]


def _marks(board: Leaderboard, signed: Sequence[tuple[str, Footnote]], model: str) -> dict[str, str]:
    """The signs at a row's figures and at its name; ``model`` empty: at the titles of the columns."""
    found: dict[str, str] = {}
    for sign, note in signed:
        if sign and (model in note.models if note.models else not model):
            titles = [column.title for column in board.columns if column.key in note.columns] or ["model"]
            found |= {title: found.get(title, "") + sign for title in titles}
    return found


def our_figures(board: Leaderboard, benchmark: str, summary: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Column title → ``{"value", "low", "high", "n"}`` of this run, for the columns that it has figures of."""
    found = {column.title: _figure(summary, benchmark, column) for column in board.columns}
    return {title: figure for title, figure in found.items() if figure}


def is_part_of(board: Leaderboard, benchmark: str, summary: Mapping[str, Any]) -> bool:
    """Whether the run has one of the table's figures, with or without a value."""
    combined = summary["capabilities"].get(benchmark, {})
    return any(
        column.name in combined.get(column.part, {})
        or column.name in summary["tasks"].get(column.part, {}).get("metrics", {})
        for column in board.columns
    )


def mostly_broken(part: Mapping[str, Any]) -> str:
    """The reason why a task's figures say nothing about the model: more of its cases are broken than not. Else
    empty.
    """
    ended = part["planned"] - part["missing"]
    return f"{part['broken']} of {ended} cases are broken" if 2 * part["broken"] > ended else ""


def presentable(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A task's part of the summary with the figures that may be shown: none where most of its cases are broken."""
    if not mostly_broken(part):
        return part
    return {key: value for key, value in part.items() if key not in ("pass", "breakdowns")} | {"metrics": {}}


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else round(value * factor, 6)


def _figure(summary: Mapping[str, Any], benchmark: str, column: Column) -> dict[str, Any] | None:
    if score := summary["capabilities"].get(benchmark, {}).get(column.part, {}).get(column.name):
        return {"n": None, **{key: score.get(key) for key in ("value", "low", "high")}}
    part = summary["tasks"].get(column.part)
    metric = part and presentable(part)["metrics"].get(column.name)
    return metric and {key: metric[key] for key in ("value", "low", "high", "n")}
