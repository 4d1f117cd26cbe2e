"""The end of a run on the terminal: aligned tables that fit the screen, without colours of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import presentation_of
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task
from agentgauge.core.tracebacks import HEADING
from agentgauge_reports.keywords import passed_by_keyword
from agentgauge_reports.leaderboard import (
    by_benchmark,
    combined_value,
    interval,
    not_comparable,
    not_selected,
    number,
    task_notes,
)
from agentgauge_reports.leaderboards import mostly_broken
from agentgauge_reports.load import CaseOutline, Run
from agentgauge_reports.notices import limit_of, named
from agentgauge_reports.safe_text import clean
from agentgauge_reports.taxonomy import TITLES, kind_of
from agentgauge_reports.text import WIDTH, aligned, fill

Row = Sequence[str]

_INDENT = "    "

SHOWN = 3
"""Wrong and broken cases that are each listed without ``-v``."""

LINES = 3
"""Lines of an explanation that are shown without ``-v``: what is wrong, what was expected, and what came."""

FEWEST = 5
"""Samples that a keyword needs for a line of its own."""


def tables(summary: Mapping[str, Any], width: int = WIDTH) -> Iterator[str]:
    """The outcomes of each task's cases, and its metrics with their 95 % intervals.

    Lines have at most ``width`` characters; only a longer word overhangs.
    """
    for name, part in summary["tasks"].items():
        task = find_task(name)
        title = named(name, limit_of(summary, [name]))
        yield from fill("", f"{title}: {part['planned']} planned · {_ends(part)}", width, hanging=_INDENT)
        if not mostly_broken(part):
            yield from _metrics(task, part["metrics"], width)
            yield from _reliability(part.get("pass", {}))
        broken = [f"broken: {count} × {cause}" for cause, count in part["causes"].items()]
        for note in (*task_notes(task, part), *broken):
            yield from fill(_INDENT, note, width, hanging="  ")
        yield ""


def reasons(summary: Mapping[str, Any], width: int = WIDTH) -> Iterator[str]:
    """Reasons why the run's rows are not comparable with published ones, each with its tasks."""
    found = not_comparable(summary, map(find_task, summary["tasks"]))
    if not found:
        return
    yield "not comparable with published rows:"
    for reason, names in found.items():
        where = "" if len(names) == len(summary["tasks"]) else f" ({', '.join(names)})"
        yield from fill(_INDENT, f"{reason}{where}", width, hanging="  ")
    yield ""


def _ends(part: Mapping[str, Any]) -> str:
    return " · ".join(f"{part[status]} {status}" for status in ("passed", "wrong", "broken", "missing"))


def _metrics(task: Task, metrics: Mapping[str, Any], width: int) -> Iterator[str]:
    """Columns of figures, as many side by side as fit, and a line of what was only counted."""
    shown = presentation_of(task)
    names = [name for name in shown.columns if name in metrics]
    counted = [name for name in names if name in shown.counts]
    figures = [_column(name, metrics[name]) for name in names if name not in counted]
    for block in _blocks(figures, width - len(_INDENT) - 7):
        widths = [max(map(len, column)) for column in block]
        for label, row in zip(("", "value", "95 %", "clean", "n"), zip(*block, strict=True), strict=True):
            if any(row):
                cells = (text.rjust(width) for text, width in zip(row, widths, strict=True))
                yield f"{_INDENT}{label:5}  {'  '.join(cells)}".rstrip()
    if counted:
        counts = " · ".join(f"{name} {number(metrics[name]['value'], count=True)}" for name in counted)
        yield from fill(_INDENT, f"counted: {counts}", width, hanging="  ")


def _reliability(figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A line for each number of attempts; none for a run with one attempt."""
    if not figures:
        return
    rows = [("attempts", *(cell for kind in figures for cell in (kind, "95 %")), "n")]
    for k in figures["pass@k"]:
        shown = [_column(k, by_k[k]) for by_k in figures.values()]
        rows.append((k, *(cell for _, value, ends, _, _ in shown for cell in (value, ends)), shown[0][-1]))
    yield from (_INDENT + line for line in aligned(rows, left=()))


def _column(name: str, metric: Mapping[str, Any]) -> Row:
    clean = number(metric["value_clean"]) if "value_clean" in metric else ""
    return name, number(metric["value"]), interval(metric["low"], metric["high"]), clean, str(metric["n"])


def _blocks(columns: Sequence[Row], width: int) -> Iterator[list[Row]]:
    """The columns of a table, as many together as fit."""
    block: list[Row] = []
    used = 0
    for column in columns:
        needed = max(map(len, column)) + 2
        if block and used + needed > width:
            yield block
            block, used = [], 0
        block.append(column)
        used += needed
    if block:
        yield block


def combined(summary: Mapping[str, Any]) -> Iterator[str]:
    """The combined scores of benchmarks, one line each, and how many are not shown because they need more tasks."""
    for benchmark, parts in summary["capabilities"].items():
        left_out = 0
        limit = limit_of(summary, [task.name for task in by_benchmark(summary).get(benchmark, ())])
        for part, scores in parts.items():
            shown = {name: score for name, score in scores.items() if not not_selected(score)}
            left_out += len(scores) - len(shown)
            if shown:
                yield named(f"{benchmark}, {part}", limit)
            for name, score in shown.items():
                yield from fill(_INDENT, f"{name:34} {combined_value(score)}", hanging=" " * 35)
        if left_out:
            needs = "combined score needs" if left_out == 1 else "combined scores need"
            yield f"{benchmark}: {left_out} {needs} tasks that were not selected"
        yield ""


def by_keyword(run: Run, width: int = WIDTH) -> Iterator[str]:
    """For ``-v``: why cases of each task did not pass, and the share that passed by keyword, with Wilson's 95 %
    interval for the effective number of samples.

    Attempts count by their share. Keywords of all samples or of fewer than FEWEST, and names of groups, have no line.
    """
    for task, cases in run.by_task.items():
        kinds = Counter(kind for case in cases if (kind := kind_of(case)))
        rows = list(_keywords(cases))
        if not kinds and not rows:
            continue
        yield task
        if kinds:
            legend = ", ".join(f"{title} {kinds[name]}" for name, title in TITLES.items() if kinds[name])
            yield from fill(_INDENT, f"why not passed: {legend}", width, hanging="  ")
        if rows:
            yield from (_INDENT + line for line in aligned([("keyword", "samples", "passed %", "95 %"), *rows]))
        yield ""


def _keywords(cases: Sequence[CaseOutline]) -> Iterator[Row]:
    for one in passed_by_keyword(cases, FEWEST):
        yield one.keyword, str(one.samples), f"{one.value:.1f}", interval(one.low, one.high)


def explanations(status: str, texts: Sequence[tuple[str, str]], width: int = WIDTH, *, full: bool) -> Iterator[str]:
    """Why cases are wrong or broken, from pairs of node id and text: the beginnings of a few, all with ``full``. The
    texts of models and programs do not steer the terminal."""
    for node, text in texts if full else texts[:SHOWN]:
        yield f"{status}  {node}"
        text, heading, trace = text.partition(f"\n{HEADING}")  # a mistake of the benchmark's author, who needs it all
        lines, below = clean(text).splitlines(), clean(heading + trace).splitlines()[1:]
        for line in [*(lines if full else lines[:LINES]), *below]:
            shown = f"{_INDENT}{line}"
            is_cut = status == "wrong" and not full and len(shown) > width  # a fault's line ends with what to do
            yield f"{shown[: width - 1]}…" if is_cut else shown
    if not full and len(texts) > SHOWN:
        yield f"    ... and {len(texts) - SHOWN} more {status}; -v shows them all"
