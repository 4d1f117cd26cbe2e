"""The first sentence of the page: what was tested, on which data, and what it is good and bad at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from agentgauge.core.text import counted
from agentgauge_reports.grouping import TITLES, capabilities, kind_of, passed_by_keyword
from agentgauge_reports.load import UNFINISHED, Run
from agentgauge_reports.notices import mostly_broken

FEWEST = 5
"""Samples that a share rests on at least."""

Share = tuple[str, float, float, float]
"""What it is of, its value and 95 % interval, in per cent."""


def opening(run: Run) -> str:
    """One or two sentences without a figure that the page does not have elsewhere."""
    ended = [case for case in run.cases if case.status not in UNFINISHED]
    if not ended or any(mostly_broken(part) for part in run.summary["tasks"].values()):
        return ""
    passed = sum(case.status == "passed" for case in ended)
    said = f"{run.model} passed {passed:,} of {counted(len(ended), 'finished case')}{_data(run)}"
    if count := sum(case.status == "broken" for case in run.cases):
        said += f"; {counted(count, 'broken case')} count{'s' if count == 1 else ''} in the figures, too"
    return f"{said}. {_compared(run)}".rstrip()


def _data(run: Run) -> str:
    """Which benchmarks, and whether on data that is bundled with them; nothing of a project's own tests."""
    tasks = [run.tasks[name] for name in run.by_task if not run.tasks[name].data.in_run_folder]
    if not tasks:
        return ""
    bundled = not any(run.summary["run"]["data"][task.name]["official"] for task in tasks)
    names = dict.fromkeys(task.shown.benchmark for task in tasks)
    return f" on {'the bundled samples of ' if bundled else ''}{_listed(names)}"


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _compared(run: Run) -> str:
    """What stands out among capabilities, or else among a task's keywords: nothing where intervals overlap."""
    shares = _of_capabilities(run) or _of_keywords(run)
    if len(shares) < 2:
        return _most_frequent(run)
    best, worst = max(shares, key=lambda one: one[1]), min(shares, key=lambda one: one[1])
    if best[1] == worst[1]:
        return ""
    if best[2] <= worst[3]:
        return (
            f"Nothing stands out: between {best[0]} ({best[1]:.0f} % passed) and {worst[0]} ({worst[1]:.0f} %) the 95 %"
            " intervals overlap."
        )
    return f"Best at {best[0]} ({best[1]:.0f} % passed), worst at {worst[0]} ({worst[1]:.0f} %)."


def _of_capabilities(run: Run) -> list[Share]:
    found = capabilities(run).items()
    return [_share(name, one) for name, one in found if one["value"] is not None and one["n"] >= FEWEST]


def _share(name: str, one: Mapping[str, Any]) -> Share:
    return name, one["value"], one["low"], one["high"]


def _of_keywords(run: Run) -> list[Share]:
    found = [one for cases in run.by_task.values() for one in passed_by_keyword(cases, FEWEST)]
    return [(one.keyword, one.value, one.low, one.high) for one in found]


def _most_frequent(run: Run) -> str:
    """The most frequent kind of failure, where nothing can be compared and a case has a kind."""
    kinds = Counter(kind for case in run.cases if (kind := kind_of(case, run.tasks)))
    if not {*kinds} - {"other"}:
        return ""
    kind, count = kinds.most_common(1)[0]
    return f"Most frequent failure: {TITLES[kind]} ({count:,})."
