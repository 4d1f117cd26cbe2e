"""A run's rows between the published ones, in the shape of the published tables: for a spreadsheet, a page, or a
program."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.capabilities import presentation_of
from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import find_task, known_tasks
from agentgauge.store import RunFolder
from reports.breakdowns import breakdowns_of, csv_block, markdown
from reports.leaderboard import not_comparable, number
from reports.leaderboards import BOARDS, COMBINED, Board

Table = Mapping[str, Any]
"""A published table with a row of ours: see ``tables_of``."""


def rows(run: Path, kind: str) -> str:
    """The published tables that the run has a figure of, then its breakdowns, as ``md``, ``csv`` or ``json``.

    CSV has one block a table, with a line of names each and an empty line between. Raises UsageProblem for another
    kind, and for a folder without a finished run.
    """
    if kind not in _WRITERS:
        raise UsageProblem(f"there is no table as {kind!r}; accepted are {', '.join(_WRITERS)}")
    summary = RunFolder(run).read_json("summary.json")
    return _WRITERS[kind](tables_of(summary), breakdowns_of(summary))


def tables_of(summary: Mapping[str, Any]) -> list[Table]:
    """``{"benchmark", "table", "source", "date", "columns", "not_comparable", "rows"}`` of each table; the first row is
    the run's.

    A row: ``{"model", "this_run", "values": {column: number or None}}``; the run's has ``"intervals": {column: [low,
    high]}`` as well. Values are in the published unit: per cent, but Root Score, which is 0 to 10.
    """
    found: list[Table] = []
    for board in BOARDS:
        ours = board.ours(summary)
        if ours:
            found.append(_table(board, summary, ours))
    return found


def _table(board: Board, summary: Mapping[str, Any], ours: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = [column.title for column in board.columns]
    mine = {
        "model": summary["run"]["model"],
        "this_run": True,
        "values": {name: _rounded(ours[name]["value"]) if name in ours else None for name in columns},
        "intervals": {
            name: [_rounded(one["low"]), _rounded(one["high"])] for name, one in ours.items() if one["low"] is not None
        },
    }
    published = [
        {"model": row["model"], "this_run": False, "values": {name: row[name] for name in columns}}
        for row in board.rows()
    ]
    return {
        "benchmark": board.benchmark,
        "table": board.title,
        "source": board.source,
        "date": board.date,
        "columns": columns,
        "not_comparable": _reasons(board, summary),
        "rows": [mine, *published],
    }


def _reasons(board: Board, summary: Mapping[str, Any]) -> list[str]:
    """Why the run's row may not stand beside the others, of every task that has a part in it."""
    tasks = summary["tasks"]
    of_board = [name for name in board.tasks if name in tasks]
    if any(column.ours and column.ours[0] in COMBINED for column in board.columns):
        of_board = [
            name
            for name in tasks
            if name in known_tasks() and presentation_of(find_task(name)).benchmark == board.benchmark
        ]
    found = [reason for name in of_board for reason in not_comparable(summary["run"], find_task(name), tasks[name])]
    return list(dict.fromkeys(found))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _markdown(tables: Sequence[Table], breakdowns: Sequence[Table]) -> str:
    lines: list[str] = []
    for table in tables:
        lines += [f"## {table['table']}", "", f"Published rows: {table['source']}, {table['date']}.", ""]
        if table["not_comparable"]:
            lines += [f"Our row is not comparable: {'; '.join(table['not_comparable'])}.", ""]
        lines += [
            "| " + " | ".join(["model", *table["columns"]]) + " |",
            "|---" + "|---:" * len(table["columns"]) + "|",
        ]
        for row in table["rows"]:
            name = row["model"].replace("|", "\\|")
            cells = [
                f"**{name} (this run)**" if row["this_run"] else name,
                *(_cell(row, column) for column in table["columns"]),
            ]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += [line for table in breakdowns for line in markdown(table)]
    return "\n".join(lines).rstrip("\n")


def _cell(row: Mapping[str, Any], column: str) -> str:
    low_high = row.get("intervals", {}).get(column)
    return number(row["values"][column]) + (f" ({low_high[0]:.1f}–{low_high[1]:.1f})" if low_high else "")


def _csv(tables: Sequence[Table], breakdowns: Sequence[Table]) -> str:
    blocks = []
    for table in tables:
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["benchmark", "table", "source", "date", "this_run", "model", *table["columns"]])
        for row in table["rows"]:
            told = [
                table["benchmark"],
                table["table"],
                table["source"],
                table["date"],
                int(row["this_run"]),
                row["model"],
            ]
            writer.writerow(
                [
                    *told,
                    *("" if row["values"][name] is None else f"{row['values'][name]:.2f}" for name in table["columns"]),
                ]
            )
        blocks.append(stream.getvalue())
    blocks += map(csv_block, breakdowns)
    return "\n".join(blocks).rstrip("\n")


def _json(tables: Sequence[Table], breakdowns: Sequence[Table]) -> str:
    return json.dumps([*tables, *breakdowns], indent=2, ensure_ascii=False)


_Writer = Callable[[Sequence[Table], Sequence[Table]], str]
_WRITERS: Mapping[str, _Writer] = {"md": _markdown, "csv": _csv, "json": _json}
