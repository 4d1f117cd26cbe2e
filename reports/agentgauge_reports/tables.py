"""A run's rows in the shape of the published tables, and its breakdowns: for a spreadsheet, a page, or a program."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.presentation import Breakdown, Cell
from agentgauge.core.published import Leaderboard
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.figures import leaderboards_of, number, our_figures, published_table
from agentgauge_reports.grouping import passed_by_keyword
from agentgauge_reports.leaderboard import by_benchmark, footnotes, not_comparable, tasks_of_run
from agentgauge_reports.load import Omitted, Run, load_run
from agentgauge_reports.notices import columns, limit_of, model_title, mostly_broken, named, presentable
from agentgauge_reports.rows import write_rows
from agentgauge_reports.text import markdown


def task_tables(task: Task, figures: Mapping[str, Any], cases: Iterable[CaseOutline]) -> Iterator[Breakdown]:
    """``figures``: the task's part of ``summary.json``, as far as it may be shown. A run with several attempts has a
    table of attempts; a task whose keywords distinguish samples has a table of keywords."""
    part, metrics = _part(task), figures["metrics"]
    if metrics:
        yield _figures(f"Figures{part}", {name: metrics[name] for name in columns(task, metrics)})
    if attempts := figures.get("pass"):
        yield _reliability(f"Reliability over attempts{part}", attempts)
    yield from keyword_table(task, cases)


def keyword_table(task: Task, cases: Iterable[CaseOutline]) -> Iterator[Breakdown]:
    """The share of passed samples by keyword, if keywords distinguish the task's samples."""
    if shares := list(passed_by_keyword(cases)):
        yield Breakdown(
            f"Passed by keyword{_part(task)}",
            "keyword",
            ("samples", "per cent", "low", "high"),
            {
                one.keyword: tuple(Cell(value, one.samples) for value in (one.samples, one.value, one.low, one.high))
                for one in shares
            },
            counts=("samples",),
            note="Finished samples that passed, with the 95 % interval.",
        )


def _part(task: Task) -> str:
    return "" if task.shown.title == task.shown.benchmark else f", {task.shown.title}"


def _reliability(title: str, figures: Mapping[str, Mapping[str, Any]]) -> Breakdown:
    """A row for each number of attempts."""
    kinds, keys = tuple(figures), ("value", "low", "high")
    names = [kind if key == "value" else f"{kind} {key}" for kind in kinds for key in keys]
    rows = {
        k: (
            *(Cell(figures[kind][k][key], figures[kind][k]["n"]) for kind in kinds for key in keys),
            Cell(figures[kinds[0]][k]["n"], figures[kinds[0]][k]["n"]),
        )
        for k in figures[kinds[0]]
    }
    return Breakdown(
        title,
        "attempts",
        (*names, "samples"),
        rows,
        counts=("samples",),
        note="pass@k: at least one of k attempts is right; pass^k: all of them are. With the 95 % interval.",
    )


def _figures(title: str, metrics: Mapping[str, Mapping[str, Any]]) -> Breakdown:
    """A row a metric; with a column ``clean``, the figure without broken cases, where there are any."""
    clean = any("value_clean" in metric for metric in metrics.values())
    keys = {
        "value": "value",
        "low": "low",
        "high": "high",
        **({"clean": "value_clean"} if clean else {}),
        "samples": "n",
    }
    return Breakdown(
        title,
        "metric",
        tuple(keys),
        {name: tuple(Cell(metric.get(key), metric["n"]) for key in keys.values()) for name, metric in metrics.items()},
        counts=("samples",),
        note="With the 95 % interval." + (" clean: without broken cases." if clean else ""),
    )


# -- the tables as Markdown, CSV and JSON

PrintedTable = Mapping[str, Any]
"""A published table with a row of ours, or a breakdown: see ``tables_of`` and ``breakdowns_of``."""


def rows(run: Path, kind: str, *, tasks: Registry, omitted: Omitted | None = None) -> str:
    """The published tables that the run has a figure of, the tables that every task has, and the breakdowns; as ``md``,
    ``csv`` or ``json``.

    CSV has one block a table, with a line of names each and an empty line between. ``tasks``: all that are known.
    ``omitted`` collects records that cannot be read. Raises UsageProblem for a folder without a finished run.
    """
    loaded = load_run(run, tasks=tasks, tolerant=True)
    if omitted:
        omitted.problems += loaded.problems
    tables = tables_of(loaded.summary, loaded.tasks)
    breakdowns = [*tables_of_tasks(loaded), *breakdowns_of(loaded.summary, loaded.tasks)]
    if kind == "json":
        return json.dumps([*tables, *breakdowns], indent=2, ensure_ascii=False)
    if kind == "csv":
        return "\n".join([*map(_csv, tables), *map(_breakdown_csv, breakdowns)]).rstrip("\n")
    lines = [line for table in tables for line in _markdown(table)]
    return markdown(lines + [line for table in breakdowns for line in _breakdown_markdown(table)]).rstrip("\n")


def tables_of(summary: Mapping[str, Any], known: Registry) -> list[PrintedTable]:
    """Each published table, in the shape of ``published_table``, with ``"benchmark"`` and ``"not_comparable"``; the
    first row is the run's.

    The run's row has ``"intervals": {column: [low, high]}`` and ``"limit"``, as of ``limit_of``, as well. Values are in
    the published unit: per cent, but Root Score, which is 0 to 10.
    """
    return [
        _table(published, benchmark, tasks, summary, ours)
        for benchmark, tasks in by_benchmark(summary, known).items()
        for published in leaderboards_of(tasks)
        if (ours := our_figures(published, benchmark, summary))
    ]


def _table(
    published: Leaderboard,
    benchmark: str,
    tasks: Sequence[Task],
    summary: Mapping[str, Any],
    ours: Mapping[str, Mapping[str, Any]],
) -> PrintedTable:
    printed = published_table(published)
    our_row = {
        "model": model_title(summary["run"]),
        "this_run": True,
        "limit": limit_of(summary, [task.name for task in tasks]),
        "values": {name: _rounded(ours[name]["value"]) if name in ours else None for name in printed["columns"]},
        "marks": {},
        "intervals": {
            name: [_rounded(one["low"]), _rounded(one["high"])]
            for name, one in ours.items()
            if None not in (one["low"], one["high"])
        },
    }
    return {
        "benchmark": benchmark,
        **printed,
        "not_comparable": _reasons(published, benchmark, tasks, summary),
        "rows": [our_row, *printed["rows"]],
    }


def _reasons(published: Leaderboard, benchmark: str, tasks: Sequence[Task], summary: Mapping[str, Any]) -> list[str]:
    """Why the run's row may not stand beside the others, of every task that has a part in it."""
    parts = {column.part for column in published.columns}
    combined = not parts.isdisjoint(summary["capabilities"].get(benchmark, {}))
    return list(not_comparable(summary, [task for task in tasks if combined or task.name in parts]))


def tables_of_tasks(run: Run) -> list[PrintedTable]:
    """The tables that every task has: its figures, and the share that passed by keyword. In the shape of
    ``breakdowns_of``."""
    return [
        _breakdown(task, table.to_json(), run.summary)
        for task in tasks_of_run(run.summary, run.tasks)
        for table in task_tables(task, presentable(run.summary["tasks"][task.name]), run.by_task.get(task.name, ()))
    ]


def keywords_of(run: Run) -> list[PrintedTable]:
    """The share that passed by keyword, of each task. In the shape of ``breakdowns_of``."""
    return [
        _breakdown(task, table.to_json(), run.summary)
        for task in tasks_of_run(run.summary, run.tasks)
        for table in keyword_table(task, run.by_task.get(task.name, ()))
        if not mostly_broken(run.summary["tasks"][task.name])
    ]


def breakdowns_of(summary: Mapping[str, Any], tasks: Registry) -> list[PrintedTable]:
    """The breakdowns of every task of the run, and the figures that a project has added. Summaries of earlier versions
    have none.

    Each has the keys of a published table, with ``source`` and ``date`` empty, since no such rows are published; and
    ``"what", "counts", "heat", "note"``, which are those of ``Breakdown``.
    A row is ``{"model", "this_run", "limit", "row", "values": {column: number or None}, "n": {column: what the value
    rests on}}``.
    """
    return [
        _breakdown(tasks[name], one, summary)
        for name, part in summary["tasks"].items()
        for one in (*_added(presentable(part)), *presentable(part).get("breakdowns", ()))
    ]


def _added(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if added := {name: figure for name, figure in part["metrics"].items() if figure.get("added")}:
        yield _figures("Figures that this project adds", added).to_json()


def _breakdown(task: Task, breakdown: Mapping[str, Any], summary: Mapping[str, Any]) -> PrintedTable:
    columns = breakdown["columns"]
    return {
        "benchmark": task.shown.benchmark,
        "table": breakdown["title"],
        "source": "",
        "date": "",
        **{key: breakdown[key] for key in ("what", "columns", "counts", "heat", "note")},
        "not_comparable": list(not_comparable(summary, [task])),
        "rows": [
            {
                "model": model_title(summary["run"]),
                "this_run": True,
                "limit": limit_of(summary, [task.name]),
                "row": row["name"],
                "values": {column: _rounded(cell["value"]) for column, cell in zip(columns, row["cells"], strict=True)},
                "n": {column: cell["n"] for column, cell in zip(columns, row["cells"], strict=True)},
            }
            for row in breakdown["rows"]
        ],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _markdown(table: PrintedTable) -> list[str]:
    reasons = "; ".join(table["not_comparable"])
    titles = [name + table["marks"].get(name, "") for name in table["columns"]]
    return [
        *(f"## {table['table']}", "", f"Published rows: {table['source']}, {table['date']}.", ""),
        *([f"Our row is not comparable: {reasons}.", ""] if reasons else []),
        *_grid("model", titles, ([_name(row), *_cells(table, row)] for row in table["rows"])),
        *footnotes(table),
    ]


def _name(row: Mapping[str, Any]) -> str:
    name = str(row["model"]).replace("|", "\\|")
    limit = f", {row['limit']}" if row.get("limit") else ""
    return f"**{name} (this run{limit})**" if row["this_run"] else name + row["marks"].get("model", "")


def _cells(table: PrintedTable, row: Mapping[str, Any]) -> list[str]:
    """Values with their intervals, or with the signs of footnotes."""
    ends = {name: f" ({low:.1f}–{high:.1f})" for name, (low, high) in row.get("intervals", {}).items()} | row["marks"]
    return [number(row["values"][column]) + ends.get(column, "") for column in table["columns"]]


def _breakdown_markdown(table: PrintedTable) -> list[str]:
    limit = next((row["limit"] for row in table["rows"]), "")
    return [
        named(f"## {table['benchmark']}: {table['table']}", limit),
        "",
        *([table["note"], ""] if table["note"] else []),
        *_grid(
            table["what"],
            table["columns"],
            (
                [row["row"].replace("|", "\\|"), *(_breakdown_cell(table, row, column) for column in table["columns"])]
                for row in table["rows"]
            ),
        ),
    ]


def _breakdown_cell(table: PrintedTable, row: Mapping[str, Any], column: str) -> str:
    """With what it rests on, unless the table has counts, which say it."""
    value = number(row["values"][column], count=column in table["counts"])
    return value if table["counts"] or row["values"][column] is None else f"{value} (n {row['n'][column]})"


def _grid(first: str, columns: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in ([first, *columns], *body)]
    return [lines[0], "|---" + "|---:" * len(columns) + "|", *lines[1:], ""]


def _csv(table: PrintedTable) -> str:
    """A line of names and one for each row. The last column holds the footnotes, since a figure with a sign would be no
    number in a spreadsheet."""
    same = [table[key] for key in ("benchmark", "table", "source", "date")]
    return _csv_block(
        ["benchmark", "table", "source", "date", "this_run", "model", *table["columns"], "footnotes"],
        (
            [
                *(*same, int(row["this_run"]), named(row["model"], row.get("limit", ""))),
                *(*_csv_values(table, row), _csv_footnotes(table, row)),
            ]
            for row in table["rows"]
        ),
    )


def _csv_footnotes(table: PrintedTable, row: Mapping[str, Any]) -> str:
    """Those to figures of the row, with their columns, and those to the columns and to the table."""
    if row["this_run"]:
        return ""
    found = []
    for sign, text in table["footnotes"]:
        at = [
            name
            for name in ("model", *table["columns"])
            for marks in (row, table)
            if sign and sign in marks["marks"].get(name, "")
        ]
        if at or not sign:
            found.append(f"{', '.join(at)}: {text}" if at else text)
    return " ".join(found)


def _breakdown_csv(table: PrintedTable) -> str:
    """A line of names and one for each row: the values of all columns, then what each rests on."""
    same = [table["benchmark"], table["table"]]
    return _csv_block(
        ["benchmark", "table", "model", table["what"], *table["columns"], *(f"n {name}" for name in table["columns"])],
        (
            [
                *same,
                named(row["model"], row["limit"]),
                row["row"],
                *_csv_values(table, row),
                *(row["n"][name] for name in table["columns"]),
            ]
            for row in table["rows"]
        ),
    )


def _csv_values(table: PrintedTable, row: Mapping[str, Any]) -> list[str]:
    return ["" if (value := row["values"][name]) is None else f"{value:.2f}" for name in table["columns"]]


def _csv_block(head: Sequence[str], body: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    write_rows(stream, [head, *body])
    return stream.getvalue()
