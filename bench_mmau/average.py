"""Adding up: verdicts to sums, metrics to the combined score, task scores to domains and capabilities (MMAU spec 1.2,
1.3, 11).

A score that is built from several tasks says which of them are missing; it has no value until all are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench_mmau.tool_use.errors import NotScorable


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a metric says about one record.

    ``passed`` None: the record leaves the denominator. ``values``: the counters that the metric adds up. ``labels``:
    why it is wrong.
    """

    passed: bool | None
    values: Mapping[str, float]
    labels: tuple[str, ...] = ()
    explanation: str = ""


class Counted(Protocol):
    """A verdict, or what was stored of it (``agentgauge.core.types.Score``)."""

    @property
    def values(self) -> Mapping[str, float]: ...


def total(verdicts: Iterable[Counted], names: Iterable[str]) -> tuple[int, dict[str, float]]:
    """The number of verdicts, and the sum of each counter; one that a verdict lacks counts 0."""
    found = list(verdicts)
    return len(found), {name: sum(verdict.values.get(name, 0) for verdict in found) for name in names}


# -- the combined score

EVAL_SET = ("tool_use_execution", "tool_use_plan", "math", "code_contests")
"""The metrics of the eval set ``mmau``, in its order. Notebooks are no part of it."""


@dataclass(frozen=True, slots=True)
class Average:
    """A weighted mean in the unit of its terms. ``value`` is None as long as ``missing`` names a task, or without
    any task."""

    value: float | None
    weights: Mapping[str, int]
    missing: tuple[str, ...] = ()


def average(scores: Mapping[str, float | None], weights: Mapping[str, int]) -> Average:
    """The weighted mean of the named scores; absent or None means missing."""
    missing = tuple(name for name in weights if scores.get(name) is None)
    if missing or not weights:
        return Average(None, weights, missing)
    found = {name: score for name in weights if (score := scores[name]) is not None}
    return Average(sum(weight * found[name] for name, weight in weights.items()) / sum(weights.values()), weights)


def headline(metric: Mapping[str, Any]) -> float:
    """``pass_rate`` if there is one, else ``accuracy``, 0 to 1. Raises NotScorable if there is neither."""
    for name in ("pass_rate", "accuracy"):
        if name in metric:
            return float(metric[name])
    raise NotScorable(
        "",
        f"a metric with the keys {sorted(metric)} has neither 'pass_rate' nor 'accuracy'; leave it out of the average",
    )


def aggregate(metrics: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The unweighted mean of the metrics' headlines, 0 to 1 (MMAU spec 11). Raises NotScorable for none."""
    if not metrics:
        raise NotScorable("", "there are no metrics to average; score at least one task")
    return {"score": sum(map(headline, metrics)) / len(metrics)}


def mmau(metrics: Mapping[str, Mapping[str, Any]]) -> Average:
    """The combined score of the eval set, 0 to 1, from the metrics by name; incomplete unless all four are there."""
    return average({name: headline(metrics[name]) for name in EVAL_SET if name in metrics}, dict.fromkeys(EVAL_SET, 1))


# -- domains and capabilities

SINGLE_STEP = {"tool_single": 184, "tool_parallel": 225}
MULTI_STEP = {"tool_double": 298, "tool_triple": 258}
TOOL_EXECUTION = {**SINGLE_STEP, **MULTI_STEP}
"""Prompts by task: the weights of the tool-use domain."""

DOMAINS: Mapping[str, Mapping[str, int]] = {
    "tool_use": TOOL_EXECUTION,
    "dag_qa": {"dag_reasoning": 451},
    "ds_ml": {"ds_e2e": 328},
    "code_contests": {"contest_standard": 261},
    "math": {"math_standard": 1000},
}
_PROBLEM_SOLVING = {"ds_codegen": 328, "contest_solver": 261, "math_solver": 1000}
# the retry of contests keeps all 261 problems as its weight, though only the failed ones are retried
_SELF_CORRECTION = {"ds_retry": 328, "contest_retry": 261}
CAPABILITIES: Mapping[str, Mapping[str, int]] = {
    "problem_solving_without_tool_use": _PROBLEM_SOLVING,
    "problem_solving_with_tool_use": {**_PROBLEM_SOLVING, **TOOL_EXECUTION},
    "understanding": {"ds_oracle": 328, "contest_parsing": 261, "math_comprehend": 672},
    "reasoning": {"dag_reasoning": 451, "contest_planner": 261, "math_planner": 1000},
    "planning": {"dag_planning": 451, "contest_planner": 261, "math_planner": 1000},
    "self_correction_without_tool_use": _SELF_CORRECTION,
    "self_correction_with_tool_use": {**_SELF_CORRECTION, "tool_self_correct": 282},
}
"""Weights by task: numbers of prompts, recovered from the published tables. Five capabilities, two of them also
without tool use."""

FIVE = ("understanding", "reasoning", "planning", "problem_solving_with_tool_use", "self_correction_with_tool_use")
"""The five capability scores of a model that can use tools."""


def domains(scores: Mapping[str, float | None], *, multi_step: bool = True) -> dict[str, Average]:
    """The domain scores, in the unit of the scores by task, which are named without the leading ``mmau.``.

    ``multi_step`` False is for a model that takes no multi-step conversations: they count as 0 in the tool-use domain.
    """
    known = dict(scores) if multi_step else {**scores, **dict.fromkeys(MULTI_STEP, 0.0)}
    return {name: average(known, weights) for name, weights in DOMAINS.items()}


def capabilities(scores: Mapping[str, float | None], *, multi_step: bool = True) -> dict[str, Average]:
    """The capability scores, in the unit of the scores by task, which are named without the leading ``mmau.``.

    ``multi_step`` False is for a model that takes no multi-step conversations: other than in the domain score they are
    left out.
    """
    return {
        name: average(
            scores, {task: weight for task, weight in weights.items() if multi_step or task not in MULTI_STEP}
        )
        for name, weights in CAPABILITIES.items()
    }


def combined(scores: Mapping[str, float | None]) -> dict[str, dict[str, dict[str, Any]]]:
    """Everything that is made of several tasks' headline scores, in their unit: ``{"domains": {name: {"value",
    "missing"}}, ...}``.

    ``mmau`` is the mean of the four domains of section 11. Capabilities without tool use are for models that cannot use
    any.
    """
    found_domains = domains(scores)
    four = {name: one.value for name, one in found_domains.items() if name != "ds_ml"}
    missing = tuple(task for name in four for task in found_domains[name].missing)
    total = Average(None, {}, missing) if missing else average(four, dict.fromkeys(four, 1))
    parts = {"domains": found_domains, "capabilities": capabilities(scores), "combined": {"mmau": total}}
    return {part: {name: _told(one) for name, one in listed.items()} for part, listed in parts.items()}


def _told(one: Average) -> dict[str, Any]:
    return {"value": one.value, "missing": list(one.missing)}


# -- published rows

_BOARD = "leaderboard of the release"
_PUBLISHED: Mapping[str, tuple[tuple[str, str, str, float], ...]] = {
    "tool_single": (("table_8_tool_use", "single_step", "paper", 100.0),),
    "tool_parallel": (("table_8_tool_use", "parallel", "paper", 100.0),),
    "tool_double": (("table_8_tool_use", "multi_step_double", "paper", 100.0),),
    "tool_triple": (("table_8_tool_use", "multi_step_triple", "paper", 100.0),),
    "dag_reasoning": (
        ("table_2_domain", "dag_qa", "paper", 1.0),
        ("leaderboard_readme", "tool_use_plan", _BOARD, 1.0),
    ),
    "ds_e2e": (("table_9_ds_ml", "e2e", "paper", 1.0),),
    "ds_codegen": (("table_9_ds_ml", "gpt4_qa", "paper", 1.0),),
    "ds_oracle": (("table_9_ds_ml", "oracle_execution", "paper", 1.0),),
    "ds_retry": (("table_9_ds_ml", "retry", "paper", 1.0),),
    "contest_standard": (
        ("table_10_code_contests", "e2e_standard", "paper", 1.0),
        ("leaderboard_readme", "code_contests", _BOARD, 1.0),
    ),
    "contest_parsing": (("table_10_code_contests", "problem_parsing", "paper", 1.0),),
    "contest_planner": (("table_10_code_contests", "planner_shift", "paper", 1.0),),
    "contest_solver": (("table_10_code_contests", "solver_shift", "paper", 1.0),),
    "contest_retry": (("table_10_code_contests", "retry", "paper", 1.0),),
    "math_standard": (("table_7_math", "standard", "paper", 1.0), ("leaderboard_readme", "math", _BOARD, 1.0)),
    "math_comprehend": (("table_7_math", "comprehend_plus", "paper", 1.0),),
    "math_planner": (("table_7_math", "planner_shift", "paper", 1.0),),
    "math_solver": (("table_7_math", "solver_shift", "paper", 1.0),),
}
"""Where a task's published figures are: table, column, edition, factor to per cent."""


def reference_rows(task: str, file: Path) -> list[dict[str, Any]]:
    """The published rows of a task, in per cent: ``{"edition", "model", task: value}``."""
    tables = json.loads(file.read_text(encoding="utf-8"))["tables"]
    # table 8 spells some names with other blanks than the rest
    spelled = {_closed_up(row["model"]): row["model"] for row in tables["table_2_domain"]["rows"]}
    return [
        {
            "edition": edition,
            "model": spelled.get(_closed_up(row["model"]), row["model"]),
            task: None if row[column] is None else factor * row[column],
        }
        for table, column, edition, factor in _PUBLISHED.get(task, ())
        for row in tables[table]["rows"]
    ]


def _closed_up(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "")
