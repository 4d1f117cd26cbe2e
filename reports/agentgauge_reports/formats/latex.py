"""A run's figures as LaTeX tables for a paper, with their 95 % intervals; they need the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import advice
from agentgauge_reports.leaderboard import interval, number
from agentgauge_reports.load import load_run
from agentgauge_reports.notices import named
from agentgauge_reports.results.metrics import Metrics
from agentgauge_reports.results.rows import MetricResult
from agentgauge_reports.tables import tables_of
from agentgauge_reports.unshown import Unshown

_ESCAPES = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "‖": r"$\|$",
    "¶": r"\P{}",
}

Cells = Sequence[str]
"""The cells of a row, escaped."""


def write(run: Path, output: Path, unshown: Unshown) -> list[Path]:
    """Write the result of ``latex`` to a file. Raises UsageProblem if the file cannot be written."""
    text = latex(run, unshown)
    try:
        output.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        do = advice(error) or "name a file in a folder that exists"
        raise UsageProblem(f"--output {output} cannot be written ({error.strerror}); {do}") from None
    return [output]


def latex(run: Path, unshown: Unshown) -> str:
    """The headline figure of every task, and the scores that benchmarks make of several; of several attempts pass@k and
    pass^k; and the published tables that the run has figures of. Published rows stand beside the run's row if it is
    comparable with them.

    Raises UsageProblem for a folder without a finished run.
    """
    loaded = load_run(run, tolerant=True)
    unshown.problems += loaded.problems
    figures = [one for one in Metrics(loaded.summary) if not one.warning]
    parts = ["% needs \\usepackage{booktabs}", *_overview(loaded.model, figures)]
    parts += _reliability(loaded.model, figures)
    for table in tables_of(loaded.summary):
        parts += _published(table)
    return "\n".join(parts) + "\n"


def _overview(model: str, figures: Iterable[MetricResult]) -> list[str]:
    """A row a task, and one for each score of several tasks, which has no ``n``."""
    rows = []
    for one in figures:
        if one.is_headline or not one.task:
            n = "" if one.n is None else str(one.n)
            name = named(one.task or one.benchmark, one.limit)
            cells = (name, one.name, number(one.value), interval(one.low, one.high), n)
            rows.append([*map(escaped, cells)])
    caption = f"Headline figures of {escaped(model)}, with the 95\\,\\% interval and the samples $n$."
    return _table(caption, "overview", "llrrr", ["Task", "Figure", "Value", "95\\,\\%", "$n$"], rows)


def _reliability(model: str, figures: Iterable[MetricResult]) -> list[str]:
    """A row a task and k; nothing for a run with one attempt."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in figures:
        if shown := re.fullmatch(r"pass[@^](\d+)", one.name):
            row = found.setdefault((one.task, shown[1]), [escaped(named(one.task, one.limit)), shown[1]])
            row += [escaped(number(one.value)), _interval(one.low, one.high)]
    caption = f"Reliability of {escaped(model)} over attempts, with 95\\,\\% intervals."
    head = ["Task", "$k$", "pass@$k$", "95\\,\\%", r"pass\textasciicircum{}$k$", "95\\,\\%"]
    return _table(caption, "reliability", "lrrrrr", head, list(found.values())) if found else []


def _published(table: Mapping[str, Any]) -> list[str]:
    """The run's row with its intervals below, then the published rows, unless the run may not stand beside them."""
    columns = table["columns"]
    ours, *others = table["rows"]
    ends = {name: f"{{\\scriptsize {_interval(*both)}}}" for name, both in ours["intervals"].items()}
    rows = [_row(ours, columns)]
    if ends:
        rows.append(["\\quad 95\\,\\%", *(ends.get(name, "") for name in columns)])
    reasons = "; ".join(table["not_comparable"])
    caption = f"{escaped(table['benchmark'])}: {escaped(table['table'])}."
    if reasons:
        caption += f" Published rows are left out, because this run is not comparable with them: {escaped(reasons)}."
    else:
        caption += f" Published rows: {escaped(table['source'])}, {escaped(table['date'])}."
        rows += [["\\midrule"], *(_row(row, columns) for row in others)]
    marks, notes = ({}, []) if reasons else (table["marks"], table["footnotes"])
    titles = [escaped(name + marks.get(name, "")) for name in columns]
    label = re.sub(r"\W+", "-", table["table"].lower()).strip("-")
    below = [f"{sign} {text}".strip() for sign, text in notes]
    return _table(caption, label, "l" + "r" * len(columns), ["Model", *titles], rows, below)


def _row(row: Mapping[str, Any], columns: Sequence[str]) -> Cells:
    marks = row["marks"]
    name = named(row["model"], row.get("limit", "")) + marks.get("model", "")
    cells = (number(row["values"][name]) + marks.get(name, "") for name in columns)
    return [escaped(name), *map(escaped, cells)]


def _interval(low: float | None, high: float | None) -> str:
    return escaped(interval(low, high))


def _table(
    caption: str, label: str, columns: str, head: Cells, rows: Iterable[Cells], notes: Sequence[str] = ()
) -> list[str]:
    """A float, with notes below the table. A row of one cell is a rule."""
    return [
        "",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{caption}}}",
        f"\\label{{tab:agentgauge-{label}}}",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
        " & ".join(head) + " \\\\",
        "\\midrule",
        *(row[0] if len(row) == 1 else _line(row) for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
        *(["\\par\\footnotesize\\raggedright"] if notes else []),
        *(f"{escaped(note)}\\par" for note in notes),
        "\\end{table}",
    ]


def _line(row: Cells) -> str:
    """Empty braces stand before what the line above would take for its argument."""
    return ("{}" if row[0].startswith(("[", "*")) else "") + " & ".join(row) + " \\\\"


def escaped(text: str) -> str:
    """Any text as LaTeX that shows it, in one line."""
    return "".join(_ESCAPES.get(sign, sign) for sign in " ".join(text.split()))
