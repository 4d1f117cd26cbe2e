"""What a run prints at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.task import find_task
from reports.leaderboard import not_comparable, number

Cell = tuple[str, str, str]
"""A column's name, value and interval."""

_INDENT = "    "

SHOWN = 5
"""Wrong and broken cases that are each listed without ``-v``."""


def tables(summary: Mapping[str, Any], width: int = 80) -> Iterator[str]:
    """Of each task how the cases ended, and the metrics with their 95 % intervals, in lines of at most ``width`` where that can be."""
    for name, part in summary["tasks"].items():
        task = find_task(name)
        yield (
            f"{name}: {part['planned']} planned · {part['passed']} passed · {part['wrong']} wrong"
            f" · {part['broken']} broken · {part['missing']} missing"
        )
        metrics = part["metrics"]
        names = [column for column in task.columns if column in metrics]
        cells = [(column, _value(metrics[column], count=column in task.counts), _interval(metrics[column])) for column in names]
        for block in _blocks(cells, width - len(_INDENT) - 7):
            widths = [max(map(len, cell)) for cell in block]
            for label, line in zip(("", "value", "95 %"), zip(*block, strict=True), strict=True):
                yield f"{_INDENT}{label:5}  " + "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for remark in task.remarks(metrics):
            yield f"    {remark}"
        reasons = not_comparable(summary["run"], task, part)
        if reasons:
            yield f"    not comparable with published rows: {'; '.join(reasons)}"
        for cause, count in part["causes"].items():
            yield f"    broken: {count} × {cause}"
        yield ""


def combined(summary: Mapping[str, Any]) -> Iterator[str]:
    """What benchmarks make of several tasks, one line each."""
    for benchmark, parts in summary["capabilities"].items():
        for part, scores in parts.items():
            yield f"{benchmark}, {part}"
            for name, score in scores.items():
                lacks = f"incomplete, without {', '.join(score['missing'])}" if score["missing"] else number(score["value"])
                yield f"    {name:34} {lacks}"
        yield ""


def explanations(status: str, texts: Sequence[tuple[str, str]], *, full: bool) -> Iterator[str]:
    """Why cases are wrong or broken, from pairs of node id and text: the first few by their first line, all whole with ``-v``."""
    for node, text in texts if full else texts[:SHOWN]:
        yield f"{status}  {node}"
        for line in text.splitlines() if full else text.splitlines()[:1]:
            yield f"    {line}"
    if not full and len(texts) > SHOWN:
        yield f"    ... and {len(texts) - SHOWN} more {status}; -v shows them all"


def _blocks(cells: Sequence[Cell], width: int) -> Iterator[list[Cell]]:
    """The columns of a table, as many together as fit."""
    block: list[Cell] = []
    used = 0
    for cell in cells:
        needed = max(map(len, cell)) + 2
        if block and used + needed > width:
            yield block
            block, used = [], 0
        block.append(cell)
        used += needed
    if block:
        yield block


def _value(metric: Mapping[str, Any], *, count: bool) -> str:
    clean = f" (clean {number(metric['value_clean'])})" if "value_clean" in metric else ""
    return number(metric["value"], count=count) + clean


def _interval(metric: Mapping[str, Any]) -> str:
    if metric["low"] is None:
        return ""
    return f"{metric['low']:.1f}–{metric['high']:.1f}"
