"""The tables' columns, in percent, from sums over records.

``tests/parity`` makes the original metrics, with all their keys, of these columns and the counters below them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgauge.core.capabilities import kinds
from agentgauge.core.estimate import MetricFormula

Sums = Mapping[str, float]
Column = tuple[str, str, str | None]
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


TOOLS: Sequence[Column] = (
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
PLANS: Sequence[Column] = (("Accuracy", "right", RECORDS), ("Format Errors", "format_error", RECORDS))
MATH: Sequence[Column] = (
    ("Accuracy", "correct", "graded"),
    ("Valid Answers", "valid", None),
    ("Wrong", "incorrect", None),
    ("Invalid Judgments", "invalid", None),
)
CONTESTS: Sequence[Column] = (
    ("Pass Rate", "solved", RECORDS),
    ("Pass@1", "pass_at_1", RECORDS),
    ("Average Score", "score", RECORDS),
)
PARSING: Sequence[Column] = (("Accuracy", "correct", RECORDS), ("Valid Answers", "valid", RECORDS))
RETRY: Sequence[Column] = (
    ("Pass Rate", "retried_solved", "retried"),
    ("Average Score", "retried_score", "retried"),
    ("First Pass Rate", "solved", RECORDS),
    ("Retried", "retried", None),
)
NOTEBOOKS: Sequence[Column] = (
    ("Accuracy", "correct", "questions"),
    ("Text", "text_correct", "text_questions"),
    ("Image", "image_correct", "image_questions"),
    ("Per Response", "share", RECORDS),
    ("Executed", "executed", RECORDS),
)


def formula(columns: Sequence[Column]) -> MetricFormula:
    """The row from sums of counters. A rate with an empty denominator is not available."""
    return MetricFormula(
        lambda sums: _rates(columns, sums), {title: (below,) for title, _, below in columns if below is not None}
    )


def _rates(columns: Sequence[Column], sums: Sums) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for title, top, below in columns:
        part = sums.get(top, 0.0)
        if below is None:
            found[title] = part
        else:
            whole = sums.get(below, 0.0)
            found[title] = 100 * part / whole if whole > 0 else None
    return found
