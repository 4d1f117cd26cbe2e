"""Tables that every task has: its figures, and the share that passed by keyword."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgauge.core.capabilities import Breakdown, Cell, presentation_of
from agentgauge.core.task import Task
from agentgauge_reports.keywords import passed_by_keyword
from agentgauge_reports.load import CaseOutline


def task_tables(task: Task, figures: Mapping[str, Any], cases: Iterable[CaseOutline]) -> Iterator[Breakdown]:
    """``figures``: the task's part of ``summary.json``, as far as it may be shown. A run with several attempts has a
    table of attempts; a task whose keywords distinguish samples has a table of keywords."""
    shown = presentation_of(task)
    part = "" if shown.title == shown.benchmark else f", {shown.title}"
    metrics = figures["metrics"]
    if metrics:
        yield _figures(f"Figures{part}", {name: metrics[name] for name in shown.columns if name in metrics})
    if attempts := figures.get("pass"):
        yield _reliability(f"Reliability over attempts{part}", attempts)
    shares = list(passed_by_keyword(cases))
    if shares:
        yield Breakdown(
            f"Passed by keyword{part}",
            "keyword",
            ("samples", "per cent", "low", "high"),
            {
                one.keyword: tuple(Cell(value, one.samples) for value in (one.samples, one.value, one.low, one.high))
                for one in shares
            },
            counts=("samples",),
            note="Finished samples that passed, with the 95 % interval.",
        )


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
