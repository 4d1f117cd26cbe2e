"""The published tables of a run's benchmarks with our figures, and the headline figure of each benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from statistics import median
from typing import Any

from agentgauge.core.published import Column, Footnote, Leaderboard
from agentgauge.core.task import Task
from agentgauge.core.task import leading as leading
from agentgauge_reports.notices import mostly_broken, presentable

_SIGNS = "†‡§‖¶"
"""Signs of footnotes, in their order. The star is left to publications."""


def leaderboards_of(tasks: Sequence[Task]) -> list[Leaderboard]:
    """The published tables of one benchmark, the newest first: the tables that its tasks define, else one for each
    edition of published rows. ``tasks``: some or all of its tasks."""
    given = {board.title: board for task in tasks if task.published for board in task.published.leaderboards()}
    return sorted(given.values(), key=lambda board: board.date, reverse=True) or [
        Leaderboard(edition, "", "", _columns(tasks), rows) for edition, rows in published_editions(tasks).items()
    ]


def _columns(tasks: Sequence[Task]) -> tuple[Column, ...]:
    """The published columns of all tasks, under the names that they have in published rows."""
    named = [
        (task.shown.leaderboard_columns.get(name, name), task, name) for task in tasks for name in task.shown.published
    ]
    return tuple(Column(column, column, task.name, name) for column, task, name in named)


def published_editions(tasks: Sequence[Task]) -> dict[str, list[dict[str, Any]]]:
    """The published rows by edition. The rows of one model from several tasks become one row."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for task in tasks:
        for row in task.published.rows if task.published else ():
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
    found = {column.title: _column_figure(summary, benchmark, column) for column in board.columns}
    return {title: figure for title, figure in found.items() if figure}


def is_part_of(board: Leaderboard, benchmark: str, summary: Mapping[str, Any]) -> bool:
    """Whether the run has one of the table's figures, with or without a value."""
    combined = summary["capabilities"].get(benchmark, {})
    return any(
        column.name in combined.get(column.part, {})
        or column.name in summary["tasks"].get(column.part, {}).get("metrics", {})
        for column in board.columns
    )


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else round(value * factor, 6)


def _column_figure(summary: Mapping[str, Any], benchmark: str, column: Column) -> dict[str, Any] | None:
    if score := summary["capabilities"].get(benchmark, {}).get(column.part, {}).get(column.name):
        return {"n": None, **{key: score.get(key) for key in ("value", "low", "high")}}
    part = summary["tasks"].get(column.part)
    metric = part and presentable(part)["metrics"].get(column.name)
    return metric and {key: metric[key] for key in ("value", "low", "high", "n")}


def number(value: float | None, *, count: bool = False) -> str:
    """Two decimals, as published; a count without; a dash where there is no value."""
    return "–" if value is None else f"{value:.0f}" if count else f"{value:.2f}"


def interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.1f}–{high:.1f}"


def not_selected(score: Mapping[str, Any]) -> list[str]:
    """The tasks of a combined score that the run did not set out to do."""
    others = (*score.get("without_figure", ()), *score.get("not_applicable", ()))  # earlier versions do not tell these
    return [name for name in score.get("missing", ()) if name not in others]


def combined_value(score: Mapping[str, Any]) -> str:
    """The value of a combined score, or the tasks that the run lacks or has no figure of."""
    if not score["missing"]:
        return number(score["value"])
    ran, blind, absent = score.get("without_figure", ()), score.get("not_applicable", ()), not_selected(score)
    reasons = [f"without {', '.join(absent)}"] if absent else []
    reasons += [f"{', '.join(ran)} ran without an answer that counts"] if ran else []
    needs = "needs" if len(blind) == 1 else "need"
    reasons += [f"{', '.join(blind)} {needs} pictures, which the model does not see"] if blind else []
    return f"incomplete, {'; '.join(reasons)}"


# -- headline figures


@dataclass(frozen=True, slots=True)
class Headline:
    """A headline figure. ``value`` and the interval are None if the run lacks a part of the figure."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None  # samples; None for a score over several tasks
    why: str = ""  # why it has no value: of a figure over groups, and of a score over several tasks
    column: tuple[str, str] = ("", "")  # ``part`` and ``name`` of its column in published tables

    def texts(self) -> tuple[str, str]:
        """Value and interval as tables show them."""
        is_part = self.n is None and self.value is None
        return "incomplete" if is_part else number(self.value), interval(self.low, self.high)


def headline(summary: Mapping[str, Any], benchmark: str, tasks: Sequence[Task]) -> Headline | None:
    """The headline of a benchmark: the last of its combined scores, which covers all of its tasks; the last one that
    the run has all tasks of, if some were not selected; without one the headline of its tasks. ``tasks``: the
    benchmark's tasks in the run. None if the run has no figure."""
    parts = summary["capabilities"].get(benchmark, {})
    scores = [(part, name, score) for part, found in parts.items() for name, score in found.items()]
    selected = [one for one in scores if not not_selected(one[-1])]
    if selected:
        part, name, score = selected[-1]
        combined = tasks[0].combined
        of_all = combined.headline if combined and score is scores[-1][-1] else ""
        ends = (score.get("low"), score.get("high"))
        return Headline(of_all or name, score["value"], *ends, None, _lacks(score), (part, name))
    found = task_headline(summary, tasks)
    is_part = found is not None and bool(scores) and len(tasks) > 1
    return replace(found, name=f"{leading(tasks).name.partition('.')[2]} {found.name}") if found and is_part else found


def _lacks(score: Mapping[str, Any]) -> str:
    return combined_value(score).partition(", ")[2] if score["value"] is None else ""


def headlines(summary: Mapping[str, Any], benchmark: str, tasks: Sequence[Task]) -> list[Headline | None]:
    """The headline of a benchmark, and the second one if the benchmark names one."""
    task = leading(tasks)
    second = _task_figure(summary, task, [task.shown.second_headline])
    return [headline(summary, benchmark, tasks), *([second] if second else [])]


def task_headline(summary: Mapping[str, Any], tasks: Sequence[Task]) -> Headline | None:
    """The figure of the leading task; None if most of its cases are broken."""
    task = leading(tasks)
    return _task_figure(summary, task, [task.shown.headline, *task.shown.published])


def _task_figure(summary: Mapping[str, Any], task: Task, wanted: Sequence[str]) -> Headline | None:
    """The first of the ``wanted`` figures that a task has."""
    part = summary["tasks"][task.name]
    name = next((each for each in wanted if each in part["metrics"]), "")
    if not name or mostly_broken(part):
        return None
    metric = part["metrics"][name]
    ends, why = (metric["low"], metric["high"]), metric.get("why", "")
    return Headline(name, metric["value"], *ends, metric["n"], why, (task.name, name))


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What other models reach in the newest published table that has a headline figure."""

    table: str
    rows: int  # models with this figure
    best: float
    model: str  # the best one
    median: float


def yardstick(figure: Headline, boards: Sequence[Leaderboard]) -> Yardstick | None:
    """``boards``: the newest first. None where no published table has the figure."""
    for board in boards:
        if known := _others(figure, board):
            best, model = max(known, key=lambda one: one[0])
            return Yardstick(board.title, len(known), best, model, median(value for value, _ in known))
    return None


def neighbours(figure: Headline, board: Leaderboard) -> str:
    """Between which models of a published table a headline figure lies, as a sentence; empty where the table does not
    have it."""
    known = _others(figure, board)
    if figure.value is None or not known:
        return ""
    above = min((one for one in known if one[0] >= figure.value), default=None, key=lambda one: one[0])
    below = max((one for one in known if one[0] < figure.value), default=None, key=lambda one: one[0])
    named = [f"{model} ({number(value)})" for value, model in (one for one in (above, below) if one)]
    place = "lies between" if above and below else "is above all of them, next to" if below else "is below"
    return f"{figure.name} {number(figure.value)} {place} {' and '.join(named)}"


def _others(figure: Headline, board: Leaderboard) -> list[tuple[float, str]]:
    """The published values of a headline figure, with their models; none where the table does not have it."""
    keys = [column.key for column in board.columns if (column.part, column.name) == figure.column]
    found = [(_scaled(row.get(key), board.factor), str(row["model"])) for key in keys[:1] for row in board.rows]
    return [(value, model) for value, model in found if value is not None]
