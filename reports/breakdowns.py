"""Breakdowns: tables of further figures that a run's tasks put into ``summary.json``, as text and for the page."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import presentation_of
from agentgauge.core.task_registry import find_task
from reports.leaderboard import not_comparable, number

Table = Mapping[str, Any]
"""A breakdown: see ``breakdowns_of``."""


def breakdowns_of(summary: Mapping[str, Any]) -> list[Table]:
    """The breakdowns of every task of the run. Summaries of earlier versions have none.

    Each has the keys of a published table (``reports.tables``), with ``source`` and ``date`` empty, since no such rows
    are published; and ``"what", "counts", "heat", "note"``, which are those of ``Breakdown``.
    A row is ``{"model", "this_run", "row", "values": {column: number or None}, "n": {column: what the value rests
    on}}``.
    """
    tasks = summary["tasks"].items()
    return [_table(name, breakdown, summary) for name, part in tasks for breakdown in part.get("breakdowns", ())]


def _table(name: str, breakdown: Mapping[str, Any], summary: Mapping[str, Any]) -> Table:
    task, columns = find_task(name), breakdown["columns"]
    rows = [
        {
            "model": summary["run"]["model"],
            "this_run": True,
            "row": row["name"],
            "values": {column: _rounded(cell["value"]) for column, cell in zip(columns, row["cells"], strict=True)},
            "n": {column: cell["n"] for column, cell in zip(columns, row["cells"], strict=True)},
        }
        for row in breakdown["rows"]
    ]
    return {
        "benchmark": presentation_of(task).benchmark,
        "table": breakdown["title"],
        "source": "",
        "date": "",
        **{key: breakdown[key] for key in ("what", "columns", "counts", "heat", "note")},
        "not_comparable": not_comparable(summary["run"], task, summary["tasks"][name]),
        "rows": rows,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def markdown(table: Table) -> list[str]:
    """Lines of a section; a cell says what it rests on."""
    lines = [f"## {table['benchmark']}: {table['table']}", "", *([table["note"], ""] if table["note"] else [])]
    lines.append("| " + " | ".join([table["what"], *table["columns"]]) + " |")
    lines.append("|---" + "|---:" * len(table["columns"]) + "|")
    for row in table["rows"]:
        cells = [row["row"].replace("|", "\\|"), *(_cell(table, row, column) for column in table["columns"])]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _cell(table: Table, row: Mapping[str, Any], column: str) -> str:
    """With what it rests on, unless the table has counts, which say it."""
    value = number(row["values"][column], count=column in table["counts"])
    return value if table["counts"] or row["values"][column] is None else f"{value} (n {row['n'][column]})"


def csv_block(table: Table) -> str:
    """A line of names and one for each row: the values of all columns, then what each rests on."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    columns: Sequence[str] = table["columns"]
    writer.writerow(["benchmark", "table", "model", table["what"], *columns, *(f"n {name}" for name in columns)])
    for row in table["rows"]:
        values = ["" if row["values"][name] is None else f"{row['values'][name]:.2f}" for name in columns]
        rests_on = [row["n"][name] for name in columns]
        writer.writerow([table["benchmark"], table["table"], row["model"], row["row"], *values, *rests_on])
    return stream.getvalue()
