"""The kinds of wrong and broken cases, which all benchmarks share.

The benchmarks' labels are finer and differ; each task says which kind a label is (``Presentation.kinds``). A label with
the name of a kind is of that kind. A case has one kind: that of its first label, because benchmarks put the label that
decided first.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentgauge.core.capabilities import BREAKS, FAULTS, kinds, presentation_of
from agentgauge.core.task_registry import known_tasks
from agentgauge_reports.load import CaseOutline

TITLES: Mapping[str, str] = {**FAULTS, **BREAKS}
"""Name → words for a person, in the order of tables."""

CAUSES = kinds(
    endpoint="no choices, failed, files in a batch, user silent",
    agent="agent failed",
    tool="no services, memory, closed, ToolFault",
    sandbox="no process, no room, no program, no folder, SandboxFault",
    data="not scorable, ReplayMiss, Fault",
    disk="disk full, run folder",
    internal="internal error, worker died",
)
"""Kinds of the causes that belong to no benchmark."""


def kind_of(case: CaseOutline) -> str:
    """The name of the kind of a wrong or broken case; empty for one that passed or is missing."""
    if case.status == "broken":
        return kind_of_cause(case.task, case.cause or "", case.error or "")
    return kind_of_labels(case.task, case.score.labels if case.score else ()) if case.status == "wrong" else ""


def kind_of_labels(task: str, labels: tuple[str, ...]) -> str:
    """The kind of the first known label; ``other`` without one."""
    known = _kinds(task)
    found = (known.get(label, label) for label in labels)
    return next((kind for kind in found if kind in TITLES), "other")


def kind_of_cause(task: str, cause: str, error: str) -> str:
    """The kind of a broken case. Endpoints and tool servers share causes such as ``http 500``: the text decides."""
    kind = _kinds(task).get(cause, "")
    if kind not in BREAKS:  # that of a label of the same name
        kind = CAUSES.get(cause, cause)
    if kind in BREAKS:
        return kind
    return "endpoint" if cause in ("ModelFault", "server parsed") or error.startswith("model ") else "tool"


def _kinds(task: str) -> Mapping[str, str]:
    known = known_tasks().get(task)
    return presentation_of(known).kinds if known else {}
