"""From scores to GTA-Atomic's table rows (docs/benchmarks/gta_atomic.md#metrics).

A run takes ``step_formula`` and ``e2e_formula``: columns, with intervals. Files of predictions (``score_files``) take
``step_metrics`` and ``e2e_metrics``: the original's keys, without intervals. Both compute with ``_step`` and ``_e2e``.
The published tables stand at the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from agentgauge.core.estimate import MetricFormula, totals
from agentgauge.core.published import Column, Leaderboard, footnotes_of
from agentgauge.core.types import Scoring
from bench_gta.atomic.fixes import Fix, Fixes, fixes_of
from bench_gta.tools import CATEGORIES

Values = Mapping[str, float]

STEP_COLUMNS: Mapping[str, str] = {
    "inst_align": "InstAcc",
    "tool_acc": "ToolAcc",
    "arg_acc": "ArgAcc",
    "answer_acc": "SummAcc",
    "tool_call": "ToolCalls",
    "tool_call_error": "ToolErrors",
}
"""The original evaluator's keys and the leaderboards' names, step by step."""

E2E_COLUMNS: Mapping[str, str] = {
    "p_f1": "P",
    "o_f1": "O",
    "l_f1": "L",
    "c_f1": "C",
    "answer_acc": "AnsAcc",
    "answer_acc_w_imggen": "AnsAcc+I",
    "tool_call": "ToolCalls",
    "tool_call_error": "ToolErrors",
}
"""The same end to end."""

_EPSILON = 0.00001

_STEP_RESTS_ON = {
    "InstAcc": ("gold_tool", "answer", "gold_answer"),
    "ToolAcc": ("gold_tool",),
    "ArgAcc": ("gold_tool",),
    "SummAcc": ("answer",),
}
_E2E_RESTS_ON = {
    **{category[0].upper(): (f"{category}_gold", f"{category}_predicted") for category in CATEGORIES},
    "AnsAcc": ("answer",),
    "AnsAcc+I": ("samples",),
}


def step_metrics(values: Sequence[Values], scoring: Scoring) -> dict[str, float | None]:
    """The original's result of a step-by-step run; None where a denominator is zero (upstream fails there)."""
    return _step(totals(values), fixes_of(scoring))


def e2e_metrics(values: Sequence[Values], scoring: Scoring) -> dict[str, float | None]:
    """The original's result of an end-to-end run. Under parity a column without gold is 0, as in the 2026 edition; None
    stands for a run without any sample."""
    sums = totals(values)
    answers = sums.get("answer_score", 0.0)
    both = {"total_ansacc": answers, "total_ansacc_wimggen": answers + sums.get("image_score", 0.0)}
    return {**_e2e(sums, fixes_of(scoring)), **both}


def step_formula(scoring: Scoring) -> MetricFormula:
    """The table's row of a step-by-step run from sums of values."""
    return MetricFormula(lambda sums: _titled(_step(sums, fixes_of(scoring)), STEP_COLUMNS), _STEP_RESTS_ON)


def e2e_formula(scoring: Scoring) -> MetricFormula:
    """The table's row of an end-to-end run from sums of values."""
    return MetricFormula(lambda sums: _titled(_e2e(sums, fixes_of(scoring)), E2E_COLUMNS), _E2E_RESTS_ON)


def _titled(figures: Mapping[str, float | None], columns: Mapping[str, str]) -> dict[str, float | None]:
    return {column: figures[key] for key, column in columns.items()}


def _step(sums: Values, fixes: Fixes) -> dict[str, float | None]:
    tools = sums.get("gold_tool", 0.0)
    answers = sums.get("answer", 0.0)
    answer_turns = sums.get("gold_answer", 0.0) if Fix.ANSWER_TURNS in fixes else answers
    return {
        "inst_align": _percent(sums.get("inst", 0.0), tools + answer_turns),
        "tool_acc": _percent(sums.get("tool", 0.0), tools),
        "arg_acc": _percent(sums.get("arg", 0.0), tools),
        "answer_acc": _percent(sums.get("answer_score", 0.0), answers),
        "tool_call": sums.get("tool_call", 0.0),
        "tool_call_error": sums.get("tool_call_error", 0.0),
    }


def _e2e(sums: Values, fixes: Fixes) -> dict[str, float | None]:
    answers, drawings, of = sums.get("answer_score", 0.0), sums.get("image_score", 0.0), sums.get("answer", 0.0)
    nothing = None if Fix.F1_ONE_TO_ONE in fixes else 0.0
    return {
        **{f"{category[0]}_f1": _f1(sums, category, fixes) for category in CATEGORIES},
        "answer_acc": _percent(answers, of) if of else nothing,
        "answer_acc_w_imggen": _percent(answers + drawings, sums.get("samples", 0.0)),
        "tool_call": sums.get("tool_call", 0.0),
        "tool_call_error": sums.get("tool_call_error", 0.0),
    }


def _f1(sums: Values, category: str, fixes: Fixes) -> float | None:
    """The published F1 with its two epsilons, which keep a perfect score at 99.999
    (docs/benchmarks/gta_atomic.md#tool-selection)."""
    gold, found, predicted = (sums.get(f"{category}_{part}", 0.0) for part in ("gold", "found", "predicted"))
    if Fix.F1_ONE_TO_ONE in fixes:
        return 100 * 2 * found / (predicted + gold) if gold else None
    if not gold:
        return 0.0
    precision, recall = found / (predicted + _EPSILON), found / gold
    return 100 * 2 * precision * recall / (precision + recall + _EPSILON)


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


_REFERENCE = Path(__file__).parent / "reference" / "gta_atomic.json"

COLUMNS = (
    *(Column(key, key, "gta_atomic.step", f"{key}Acc") for key in ("Inst", "Tool", "Arg", "Summ")),
    *(Column(key, key, "gta_atomic.e2e", key) for key in "POLC"),
    Column("Ans", "Ans", "gta_atomic.e2e", "AnsAcc"),
    Column("Ans+I", "Ans+I", "gta_atomic.e2e", "AnsAcc+I"),
)

_EDITIONS = (
    ("GTA, mid 2024 (release table)", "README of the benchmark's first release", "2024-07"),
    ("GTA, March 2025", "README of the benchmark", "2025-03"),
    ("GTA-Atomic, February 2026", "README of the benchmark, later edition", "2026-02"),
)
"""Title, source, date, in the order of the reference file."""


def leaderboards() -> Sequence[Leaderboard]:
    published = _published()
    return [
        Leaderboard(title, source, date, COLUMNS, listed["rows"], footnotes=footnotes_of(published, listed["id"]))
        for (title, source, date), listed in zip(_EDITIONS, published["leaderboards"], strict=True)
    ]


@cache
def _published() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(_REFERENCE.read_text(encoding="utf-8"))
    return found
