"""Why a case is wrong or broken, in a few words of our own that all benchmarks share.

The benchmarks' labels are finer and differ; every one of them is sorted into one kind here. A case has one kind: that
of its first label, because benchmarks put the label that decided first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgauge_reports.load import CaseOutline


@dataclass(frozen=True, slots=True)
class Kind:
    """A class of failures. ``labels``: of all benchmarks; ``causes``: of broken cases."""

    name: str
    title: str
    labels: tuple[str, ...]
    causes: tuple[str, ...]


def _kind(name: str, title: str, labels: str = "", causes: str = "") -> Kind:
    """``labels`` are separated by spaces, ``causes`` by commas."""
    return Kind(name, title, tuple(labels.split()), tuple(filter(None, causes.split(", "))))


FAULTS: tuple[Kind, ...] = (
    _kind("wrong_tool", "Wrong tool", "wrong_tool unknown_tool call_the_wrong_function function_name_hallucination"),
    _kind(
        "wrong_argument",
        "Wrong argument",
        "wrong_argument wrong_arguments argument_error missing_argument unknown_argument other_arguments wrong_type"
        " wrong_value not_in_enum wrong_drawing type_error miss_required_params param_hallucination"
        " param_value_hallucination param_value_error",
    ),
    _kind(
        "missing_call",
        "Missing call",
        "missing_call missing_tool missing_drawing no_call no_question missing_information_in_tool_calling"
        " wrong_number_of_calls",
    ),
    _kind("extra_call", "Extra call", "extra_call needless_call redundant_tool_calling call_function_without_reject"),
    _kind(
        "stopped_early", "Stopped early", "stopped_early early_stop no_answer no_files empty_reply no_reply no_action"
    ),
    _kind("wrong_answer", "Wrong answer", "wrong_answer wrong_text wrong_plan wrong_output"),
    _kind("failed_code", "Code that fails", "runtime_error timeout code_failed group_lost tool_errors"),
    _kind(
        "format",
        "Unreadable reply",
        "invalid_action invalid_json unreadable_call format_error parsing_error no_cells no_plan unanswered"
        " empty_solution",
    ),
    _kind("refused", "Refused", "reject_tool_calling"),
    _kind("partial", "Partly right", "partial"),
    _kind("other", "Other"),
)
"""Kinds of wrong cases, in the order of tables."""

BREAKS: tuple[Kind, ...] = (
    _kind("endpoint", "Model endpoint", causes="no choices, failed"),
    _kind("tool", "Tool or tool server", causes="no services, memory, ToolFault"),
    _kind(
        "judge",
        "Judge",
        "invalid_judgement not_judged",
        "judge, similarity server, similarity timeout, judge silent, solver silent, planner silent, QA model silent",
    ),
    _kind("sandbox", "Sandbox", causes="sandbox, no process, no room, no program, no folder, no shell, SandboxFault"),
    _kind("data", "Data", "unscorable", "missing file, no notebook data, not scorable, ReplayMiss, Fault"),
    _kind("disk", "Full disk", causes="disk full"),
    _kind("internal", "Internal error", causes="internal error, worker died"),
)
"""Kinds of broken cases, in the order of tables. Some benchmarks count such a case as wrong and give it a label."""

TITLES: dict[str, str] = {kind.name: kind.title for kind in (*FAULTS, *BREAKS)}
"""Name → words for a person, in the order of tables."""

_BY_LABEL = {label: kind.name for kind in (*FAULTS, *BREAKS) for label in kind.labels}
_BY_CAUSE = {cause: kind.name for kind in BREAKS for cause in kind.causes}
_ELSEWHERE: Mapping[tuple[str, str], str] = {
    ("mmau", "no_answer"): "format",  # the reply lacks the part that would be graded
}
"""Labels that mean something else in one benchmark: the task's name up to the first dot, and the label."""


def kind_of(case: CaseOutline) -> str:
    """The name of the kind of a wrong or broken case; empty for one that passed or is missing."""
    if case.status == "broken":
        return kind_of_cause(case.cause or "", case.error or "")
    return kind_of_labels(case.task, case.score.labels if case.score else ()) if case.status == "wrong" else ""


def kind_of_labels(task: str, labels: tuple[str, ...]) -> str:
    """The kind of the first label that is known; ``other`` where none is."""
    benchmark = task.split(".", 1)[0]
    found = (_ELSEWHERE.get((benchmark, label)) or _BY_LABEL.get(label) for label in labels)
    return next((kind for kind in found if kind), "other")


def kind_of_cause(cause: str, error: str) -> str:
    """The kind of a broken case. Endpoints and tool servers share causes such as ``http 500``: the text decides."""
    if kind := _BY_CAUSE.get(cause):
        return kind
    return "endpoint" if cause in ("ModelFault", "server parsed") or error.startswith("model ") else "tool"
