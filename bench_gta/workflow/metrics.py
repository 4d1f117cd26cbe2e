"""From judged tasks to GTA-Workflow's table rows (docs/benchmarks/gta_workflow.md#metrics)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

from agentgauge.core.estimate import MetricFormula, totals
from agentgauge.core.published import Leaderboard, columns_of, footnotes_of
from agentgauge.core.types import Json, Score, Scoring
from bench_gta.tools import WORKFLOW_CATEGORIES

Values = Mapping[str, float]

# of leaves and of roots, inclusive. It is published nowhere; reasons in docs/benchmarks/gta_workflow.md#thresholds
THRESHOLD = 7.0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The scores, 0 to 10, at which a leaf and a root count as met."""

    leaf: float = THRESHOLD
    root: float = THRESHOLD


SENSITIVITY = (5, 6, 7, 8, 9)  # thresholds at which every report shows Leaf SR and Root SR beside the chosen ones

CATEGORY_COLUMNS: Mapping[str, str] = {f"{category[0].upper()}-SR": category for category in WORKFLOW_CATEGORIES}
"""P-SR, O-SR, L-SR, C-SR → category."""

PUBLISHED = ("Tool SR", *CATEGORY_COLUMNS, "Root Score", "Leaf SR", "Root SR")
"""The columns of the published table, in its order."""

COUNTS: Mapping[str, str] = {
    "Tasks": "tasks",
    "Leaves": "leaves",
    **{f"{category[0].upper()} tasks": category for category in WORKFLOW_CATEGORIES},
    "Tool calls": "tool_calls",
    "Tool errors": "tool_errors",
}
"""Plain counts: column → value. The denominators belong into every report
(docs/benchmarks/gta_workflow.md#category-figures)."""

# judges' replies that were not the JSON that was asked for (docs/benchmarks/gta_workflow.md#replies)
FALLBACKS = "Fallbacks"

COLUMNS = (*PUBLISHED, "Root Score (scored)", "Module SR", *COUNTS, FALLBACKS)

_REFERENCE = Path(__file__).parent / "reference" / "gta_workflow.json"

_RESTS_ON: Mapping[str, tuple[str, ...]] = {
    "Root Score": ("tasks",),
    "Root Score (scored)": ("scored",),
    "Leaf SR": ("leaves",),
    "Root SR": ("tasks",),
    **{column: (category,) for column, category in CATEGORY_COLUMNS.items()},
    "Tool SR": ("tool_calls",),
    "Module SR": ("modules",),
}


def calls_of(prediction: Sequence[Sequence[Json]], outputs: Sequence[Sequence[Json]]) -> dict[str, int]:
    """The facts about a run's calls for ``values_of``: ``tool_calls``, ``tool_errors``, ``modules``, ``modules_ok``.

    ``prediction`` and ``outputs``: raw and compressed steps, a list per user turn. A call is any step with
    ``tool_calls``, those for NoAction and InvalidAction included; it is an error where the step has an ``error``
    (docs/benchmarks/gta_workflow.md#tool-success).
    """
    calls = [step for turn in prediction for step in turn if isinstance(step, Mapping) and step.get("tool_calls")]
    summaries = [step.get("tool_calls_summary") for turn in outputs for step in turn if isinstance(step, Mapping)]
    modules = [module for summary in summaries for module in summary or () if isinstance(module, Mapping)]
    return {
        "tool_calls": len(calls),
        "tool_errors": sum(bool(step.get("error")) for step in calls),
        "modules": len(modules),
        "modules_ok": sum(module.get("success") is True for module in modules),
    }


def values_of(
    root_score: float,
    leaf_scores: Sequence[float],
    categories: Collection[str] = (),
    tool_calls: int = 0,
    tool_errors: int = 0,
    modules: int = 0,
    modules_ok: int = 0,
    status: Literal["ok", "error"] = "ok",
    *,
    leaf_threshold: float = THRESHOLD,
    root_threshold: float = THRESHOLD,
) -> dict[str, float]:
    """The values that one task contributes. All figures are functions of sums of these values.

    ``root_score`` and ``leaf_scores``: 0 to 10. ``categories``: the tool categories that the task touches. ``modules``:
    calls after compression. A task with the status ``error`` could not be run or judged: it counts as root score 0 and
    ``len(leaf_scores)`` failed leaves, regardless of its scores (docs/benchmarks/gta_workflow.md#failed-tasks).
    """
    ok = status == "ok"
    roots, leaf = ([root_score] if ok else []), (leaf_scores if ok else [])
    passed = float(_reaching(roots, root_threshold))
    values = {
        "tasks": 1.0,
        "scored": float(ok),
        "root_sum": float(root_score) if ok else 0.0,
        "root_ok": passed,
        "leaves": float(len(leaf_scores)),
        "leaves_ok": float(_reaching(leaf, leaf_threshold)),
        "tool_calls": float(tool_calls),
        "tool_errors": float(tool_errors),
        "modules": float(modules),
        "modules_ok": float(modules_ok),
    }
    for category in WORKFLOW_CATEGORIES:
        values[category] = float(category in categories)
        values[f"{category}_ok"] = passed if category in categories else 0.0
    for threshold in SENSITIVITY:
        values[f"root_ok_{threshold}"] = float(_reaching(roots, threshold))
        values[f"leaves_ok_{threshold}"] = float(_reaching(leaf, threshold))
    return values


def figures(values: Sequence[Values]) -> dict[str, float | None]:
    """Every column of a run; None where the denominator is 0 (docs/benchmarks/gta_workflow.md#metrics)."""
    return _figures(totals(values))


def sensitivity(scores: Sequence[Score]) -> list[dict[str, float | None]]:
    """Leaf SR and Root SR at several thresholds (docs/benchmarks/gta_workflow.md#thresholds)."""
    sums = totals(score.values for score in scores)
    return [
        {
            "threshold": threshold,
            "Leaf SR": _percent(sums, f"leaves_ok_{threshold}", "leaves"),
            "Root SR": _percent(sums, f"root_ok_{threshold}", "tasks"),
        }
        for threshold in SENSITIVITY
    ]


def leaderboards() -> list[Leaderboard]:
    """The published main table as it was printed."""
    titles = "Tool SR | P-SR | O-SR | L-SR | C-SR | Root Score | Leaf SR | Root SR"
    published, table = _published(), "main_results"
    return [
        Leaderboard(
            "GTA-Workflow (GTA-2), main results",
            "arXiv:2604.15715",
            "2026-04",
            columns_of("gta_workflow", titles),
            published[table],
            footnotes=footnotes_of(published, table),
        )
    ]


@lru_cache(maxsize=1)
def _published() -> Json:
    return json.loads(_REFERENCE.read_text(encoding="utf-8"))


def _reaching(scores: Sequence[float], threshold: float) -> int:
    return sum(score >= threshold for score in scores)


def _figures(sums: Values) -> dict[str, float | None]:
    calls = sums.get("tool_calls", 0.0)
    return {
        "Tool SR": 100 * (calls - sums.get("tool_errors", 0.0)) / calls if calls else None,
        **{column: _percent(sums, f"{category}_ok", category) for column, category in CATEGORY_COLUMNS.items()},
        "Root Score": _mean(sums, "root_sum", "tasks"),
        "Leaf SR": _percent(sums, "leaves_ok", "leaves"),
        "Root SR": _percent(sums, "root_ok", "tasks"),
        "Root Score (scored)": _mean(sums, "root_sum", "scored"),
        "Module SR": _percent(sums, "modules_ok", "modules"),
        **{column: sums.get(name, 0.0) for column, name in COUNTS.items()},
    }


def _row_of(sums: Values) -> dict[str, float | None]:
    found = _figures(sums) | {FALLBACKS: sums.get("fallbacks", 0.0)}
    return {column: found[column] for column in COLUMNS}


def _mean(sums: Values, part: str, whole: str) -> float | None:
    return sums.get(part, 0.0) / sums[whole] if sums.get(whole) else None


def _percent(sums: Values, part: str, whole: str) -> float | None:
    return 100 * sums.get(part, 0.0) / sums[whole] if sums.get(whole) else None


_FORMULA = MetricFormula(_row_of, _RESTS_ON, scale={"Root Score": 10.0, "Root Score (scored)": 10.0})


def formula(scoring: Scoring, *, thresholds: Thresholds) -> MetricFormula:
    """The table's row from sums of values. Leaves of a task are dependent, so intervals are over tasks."""
    return replace(_FORMULA, details=partial(_details, thresholds=thresholds))


def _details(scores: Sequence[Score], *, thresholds: Thresholds) -> Mapping[str, Mapping[str, Json]]:
    """Leaf SR and Root SR also at other thresholds."""
    found = {
        column: {"threshold": threshold, "at": {str(row["threshold"]): row[column] for row in sensitivity(scores)}}
        for column, threshold in (("Leaf SR", thresholds.leaf), ("Root SR", thresholds.root))
    }
    for name in ("shown_otherwise", "votes", "stored_votes", "unreadable"):  # scores of earlier versions lack some
        found["Root SR"][name] = sum(score.values.get(name, 0.0) for score in scores)
    return found
