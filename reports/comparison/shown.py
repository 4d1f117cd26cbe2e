"""A comparison as plain data: what JSON has, and what the other forms are written from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentgauge.core.capabilities import presentation_of
from agentgauge.core.task_registry import find_task
from reports.comparison.compare import Against, Comparison
from reports.comparison.paired import ALPHA, Effect
from reports.comparison.pairs import TaskPairs
from reports.load import Run

NOTE = (
    "Differences are on the samples that both runs finished, attempts averaged. Intervals (95\u00a0%) and MDE, the"
    " smallest true difference that this set finds in about four of five cases, are for a figure looked at alone; p is"
    " corrected for all {family} tests shown here (Holm). *: p \u2264 0.05"
)


def shown(comparison: Comparison, base: Path) -> dict[str, Any]:
    """``base``: the folder that links start from."""
    first = comparison.first
    return {
        "runs": [_run("A", first), *(_run(one.letter, one.run) for one in comparison.others)],
        "alpha": ALPHA,
        "tests": comparison.family,
        "note": NOTE.format(family=comparison.family),
        "comparisons": [
            {
                "run": one.letter,
                "against": "A",
                "warnings": list(one.warnings),
                "tasks": {pairs.task: _task(pairs, one, first, base) for pairs in one.tasks},
            }
            for one in comparison.others
        ],
    }


def link(run: Run, task: str, sample: str, base: Path) -> str:
    """Where the run's own page shows a case."""
    page = quote(os.path.relpath(run.path / "report.html", base))
    return f"{page}#case={'/'.join(quote(part, safe='') for part in (task, sample, '1'))}"


def _run(letter: str, run: Run) -> dict[str, Any]:
    return {"letter": letter, "path": str(run.path), "model": run.model}


def _task(pairs: TaskPairs, one: Against, first: Run, base: Path) -> dict[str, Any]:
    def moved(samples: Sequence[str]) -> list[dict[str, str]]:
        return [
            {"sample": sample, "a": link(first, pairs.task, sample, base), "b": link(one.run, pairs.task, sample, base)}
            for sample in samples
        ]

    return {
        "common": pairs.common,
        "units": pairs.units,
        "left_out": dict(pairs.left_out),
        "figures": {name: _figure(effect, pairs.task, name, one) for name, effect in pairs.effects.items()},
        "gained": moved(pairs.gained),
        "lost": moved(pairs.lost),
    }


def _figure(effect: Effect, task: str, name: str, one: Against) -> Mapping[str, Any]:
    return {
        "count": name in presentation_of(find_task(task)).counts,
        "a": effect.a,
        "b": effect.b,
        "difference": effect.difference,
        "low": effect.low,
        "high": effect.high,
        "p": effect.p,
        "p_holm": one.corrected.get((task, name)),
        "significant": one.significant(task, name),
        "detectable": effect.detectable,
        "differing": effect.differing,
        "n": effect.n,
        "method": effect.method,
    }
