"""A run's times in the format of pytest-benchmark, so that ``pytest-benchmark compare`` sets runs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_benchmark.stats import Stats

from agentgauge.store.jsonl import TIMES, CaseOutline
from agentgauge_reports.load import Run

TIMED = {"model": TIMES.index("endpoint"), "tools": TIMES.index("tools")}
"""What is timed, and its place in ``CaseOutline.times``."""


def entries(run: Run) -> Iterator[dict[str, Any]]:
    """Two entries for each sample, in the order of the plan: the time in which the model was asked, and the time of the
    tools. The sample's attempts are the rounds.

    Only right and wrong cases count: the time of a broken one says how long it was tried. Nor do cases with replies of
    a cache, and those of earlier versions, which have no times.
    """
    samples: dict[tuple[str, str], list[CaseOutline]] = {}
    for case in run.cases:
        if case.status in ("passed", "wrong") and case.times and not case.is_cached and case.id in run.nodes:
            samples.setdefault((case.task, case.sample), []).append(case)
    for (task, sample), attempts in samples.items():
        for what, place in TIMED.items():
            if any(seconds := [round(case.times[place], 6) for case in attempts]):  # as in records.jsonl
                yield _entry(task, sample, run.nodes[attempts[0].id], what, seconds)


def _entry(task: str, sample: str, node: str, what: str, seconds: list[float]) -> dict[str, Any]:
    """As if the test had what is timed as one more parameter. ``node``: the test's id."""
    test, _, own = node.partition("[")
    param = "-".join(filter(None, (own.removesuffix("]"), what)))
    stats = Stats()  # type: ignore[no-untyped-call]
    stats.data = seconds
    return {
        "group": f"{task} {what}",
        "name": f"{test.rpartition('::')[2]}[{param}]",
        "fullname": f"{test}[{param}]",
        "params": {"sample": sample, "time": what},
        "param": param,
        "extra_info": {"task": task, "node": node},
        "options": {},
        "stats": {**stats.as_dict(), "data": seconds, "iterations": 1},  # type: ignore[no-untyped-call]
    }
