"""Verdicts, the tables' columns in percent from sums over records, and domains, capabilities and the combined score
(docs/benchmarks/mmau.md#domains-and-capabilities and docs/benchmarks/mmau.md#combined-score).

``tests/parity`` makes the original metrics, with all their keys, of these columns and the counters below them. A
combined score names the missing tasks; it has no value until all tasks have scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agentgauge.core.estimate import MetricFormula
from agentgauge.core.presentation import kinds
from agentgauge.core.published import Column, Leaderboard, footnotes_of, titles_and_keys

Sums = Mapping[str, float]
TableColumn = tuple[str, str, str | None]
"""Title, counter on top, counter below; without one below it is a plain count."""

RECORDS = "records"
"""The counter that is 1 for every record."""

KINDS = kinds(
    wrong_argument="wrong_arguments",
    missing_call="wrong_number_of_calls, no_call",
    extra_call="needless_call",
    stopped_early="no_reply",
    wrong_answer="wrong_text, wrong_plan, wrong_output",
    failed_code="runtime_error, timeout, code_failed, group_lost",
    format=(
        "format_error, parsing_error, unreadable_call, unreadable_arguments, no_cells, no_plan, unanswered,"
        " empty_solution, no_answer"  # the reply lacks the part that would be graded
    ),
    judge="invalid_judgement, judge silent, solver silent, planner silent, QA model silent",
    sandbox="no shell",
    data="no notebook data",
)
"""Kinds of failures by label and by cause."""

_SKILLS = kinds(
    tool_use="tool_single, tool_parallel, tool_double, tool_triple",
    understanding="contest_parsing, math_comprehend, ds_oracle",
    reasoning="dag_reasoning, math_standard",
    planning="dag_planning, contest_planner, math_planner",
    problem_solving="contest_standard, contest_solver, math_solver, ds_e2e, ds_codegen",
)


def skills_of(task: str) -> Mapping[str, Sequence[str]]:
    """The capabilities that a task shows. ``task``: its name without ``mmau.``."""
    skill = _SKILLS.get(task, "self-correction").replace("_", " ")
    return {skill: (), "perception": ("image",)} if task == "ds_e2e" else {skill: ()}


TOOLS: Sequence[TableColumn] = (
    ("Accuracy", "right", RECORDS),
    ("Function Name", "func_name", "expected_calls"),
    ("Strict", "strict", "expected_calls"),
    ("Lenient", "lenient", "expected_calls"),
    ("Bag of Words", "bow", "expected_calls"),
    ("Intent Recall", "common_intents", "target_intents"),
    ("Intent Precision", "common_intents", "predicted_intents"),
    ("Parsing Errors", "parsing_errors", None),
    ("Generation Errors", "generation_errors", None),
)
PLANS: Sequence[TableColumn] = (("Accuracy", "right", RECORDS), ("Format Errors", "format_error", RECORDS))
MATH: Sequence[TableColumn] = (
    ("Accuracy", "correct", "graded"),
    ("Valid Answers", "valid", None),
    ("Wrong", "incorrect", None),
    ("Invalid Judgments", "invalid", None),
)
CONTESTS: Sequence[TableColumn] = (
    ("Pass Rate", "solved", RECORDS),
    ("Pass@1", "pass_at_1", RECORDS),
    ("Average Score", "score", RECORDS),
)
PARSING: Sequence[TableColumn] = (("Accuracy", "correct", RECORDS), ("Valid Answers", "valid", RECORDS))
RETRY: Sequence[TableColumn] = (
    ("Pass Rate", "retried_solved", "retried"),
    ("Average Score", "retried_score", "retried"),
    ("First Pass Rate", "solved", RECORDS),
    ("Retried", "retried", None),
)
NOTEBOOKS: Sequence[TableColumn] = (
    ("Accuracy", "correct", "questions"),
    ("Text", "text_correct", "text_questions"),
    ("Image", "image_correct", "image_questions"),
    ("Per Response", "share", RECORDS),
    ("Executed", "executed", RECORDS),
)


def formula(columns: Sequence[TableColumn]) -> MetricFormula:
    """The row from sums of counters. A rate with an empty denominator is not available."""
    return MetricFormula(
        lambda sums: _rates(columns, sums), {title: (below,) for title, _, below in columns if below is not None}
    )


def _rates(columns: Sequence[TableColumn], sums: Sums) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for title, top, below in columns:
        part = sums.get(top, 0.0)
        if below is None:
            found[title] = part
        else:
            whole = sums.get(below, 0.0)
            found[title] = 100 * part / whole if whole > 0 else None
    return found


@dataclass(frozen=True, slots=True)
class RecordVerdict:
    """A metric's verdict on one record.

    ``passed`` None: the record leaves the denominator. ``values``: the counters that the metric adds up. ``labels``:
    why it is wrong.
    """

    passed: bool | None
    values: Mapping[str, float]
    labels: tuple[str, ...] = ()
    explanation: str = ""


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


# -- domains and capabilities

TOOL_EXECUTION = {"tool_single": 184, "tool_parallel": 225, "tool_double": 298, "tool_triple": 258}
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


def combined(scores: Mapping[str, float | None]) -> dict[str, dict[str, dict[str, Any]]]:
    """All scores that combine several tasks' headline scores, in their unit: ``{"domains": {name: {"value",
    "missing"}}, ...}``. Tasks are named without the leading ``mmau.``.

    ``mmau`` is the mean of four domains (docs/benchmarks/mmau.md#combined-score). Capabilities without tool use are for
    models that cannot use tools.
    """
    domains = {name: average(scores, weights) for name, weights in DOMAINS.items()}
    four = {name: one.value for name, one in domains.items() if name != "ds_ml"}
    missing = tuple(task for name in four for task in domains[name].missing)
    parts = {
        "domains": domains,
        "capabilities": {name: average(scores, weights) for name, weights in CAPABILITIES.items()},
        "combined": {"mmau": Average(None, {}, missing) if missing else average(four, dict.fromkeys(four, 1))},
    }
    return {
        part: {name: {"value": one.value, "missing": list(one.missing)} for name, one in listed.items()}
        for part, listed in parts.items()
    }


# -- published tables

_PAPER = "arXiv:2407.18961"

CITATION = """\
@misc{yin2024mmau,
  title = {{MMAU}: A Holistic Benchmark of Agent Capabilities Across Diverse Domains},
  author = {Yin, Guoli and Bai, Haoping and Ma, Shuang and Nan, Feng and Sun, Yanchao and Xu, Zhaoyang and Ma, Shen
            and Lu, Jiarui and Kong, Xiang and Zhang, Aonan and Yap, Dian Ang and Zhang, Yizhe and Ahnert, Karsten
            and Kamath, Vik and Berglund, Mathias and Walsh, Dominic and Gindele, Tobias and Wiest, Juergen
            and Lai, Zhengfeng and Wang, Xiaoming and Shan, Jiulong and Cao, Meng and Pang, Ruoming and Wang, Zirui},
  year = {2024},
  eprint = {2407.18961},
  archivePrefix = {arXiv},
}"""
"""The paper, as BibTeX."""
_PASS_RATE = ("contest_standard", "contest_planner", "contest_solver", "contest_retry")
_COMBINED = ("domains", "capabilities")
_TABLES = (
    (
        "table_2_domain",
        "domains",
        "Tool-use | DAG QA | DS & ML | Contest-level coding = code_contests | Math",
        "domains",
    ),
    (
        "table_3_capability",
        "capabilities",
        "Problem-solving w/o tool use = problem_solving_without_tool_use"
        " | Problem-solving w/ tool use = problem_solving_with_tool_use | Understanding | Reasoning | Planning"
        " | Self-correction w/o tool use = self_correction_without_tool_use"
        " | Self-correction w/ tool use = self_correction_with_tool_use",
        "capabilities",
    ),
    (
        "table_7_math",
        "mathematics",
        "Standard | Comprehend+ = comprehend_plus | Solver-shift | Planner-shift",
        "math_standard math_comprehend math_solver math_planner",
    ),
    (
        "table_8_tool_use",
        "tool use",
        "Single-step | Parallel | Multi-step, double | Multi-step, triple | Single-step, 2nd condition = b_single_step"
        " | Parallel, 2nd condition = b_parallel | Multi-step, double, 2nd condition = b_multi_step_double"
        " | Multi-step, triple, 2nd condition = b_multi_step_triple",
        "tool_single tool_parallel tool_double tool_triple - - - -",
    ),
    (
        "table_9_ds_ml",
        "data science and machine learning",
        "E2E | GPT-4 QA = gpt4_qa | Oracle execution | Retry",
        "ds_e2e ds_codegen ds_oracle ds_retry",
    ),
    (
        "table_10_code_contests",
        "contest-level coding",
        "E2E standard | Problem parsing | Planner-shift | Solver-shift | Retry",
        "contest_standard contest_parsing contest_planner contest_solver contest_retry",
    ),
    (
        "leaderboard_readme",
        "leaderboard of the release",
        "Tool use, plan | Tool use, execution | Math | Code contests",
        "dag_reasoning tool_use math_standard contest_standard",
    ),
)
"""Name in the file, title, columns, and the figures of ours: a part of ``combined``, or the task of each column (``-``:
none)."""


@cache
def leaderboards(file: Path) -> list[Leaderboard]:
    """The published tables."""
    published = json.loads(file.read_text(encoding="utf-8"))
    found = []
    for table, title, titles, ours in _TABLES:
        columns = titles_and_keys(titles)
        figures = [(ours, key) for _, key in columns] if ours in _COMBINED else map(_figure, ours.split())
        of_release = table == "leaderboard_readme"
        found.append(
            Leaderboard(
                f"MMAU, {title}",
                "README of the reference implementation" if of_release else _PAPER,
                "2024" if of_release else "2024-07",
                tuple(Column(key, name, *figure) for (name, key), figure in zip(columns, figures, strict=True)),
                published["tables"][table]["rows"],
                100.0 if table == "table_8_tool_use" else 1.0,  # it alone has fractions
                footnotes_of(published, table),
            )
        )
    return found


def _figure(name: str) -> tuple[str, str]:
    if name == "-":
        return "", ""
    if name == "tool_use":
        return "domains", name
    return f"mmau.{name}", "Pass Rate" if name in _PASS_RATE else "Accuracy"
