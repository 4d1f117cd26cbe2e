"""Figures of the tool calls that agents made by MCP: extra ones, which no published figure uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentgauge.core.types import Json

KEY = "tools"
"""Key in a record: the names of the task's own tools, the log of the calls, and the number of calls that the log leaves
out."""


def step_figures(metas: Iterable[Mapping[str, Json]]) -> dict[str, Json] | None:
    """The figures over tasks by their records, in percent; None where no agent was given tools.

    ``Args accepted``: calls whose arguments fitted a known tool. ``Errors``: calls that ended in an error, those with
    bad arguments included. ``Tools used``: of the tools that the tasks name, those that were called for them. ``Tools
    named``: of the tools that were called, those that their task names. Both count a tool once a task.
    """
    logs = [log for meta in metas if isinstance(log := meta.get(KEY), Mapping)]
    if not logs:
        return None
    calls = accepted = failed = called = expected = both = 0
    for log in logs:
        of_task = [call for call in _list(log.get("calls")) if isinstance(call, Mapping)]
        calls += len(of_task)
        accepted += sum(call.get("accepted") is True for call in of_task)
        failed += sum("error" in call for call in of_task)
        used = {str(call.get("name")) for call in of_task}
        named = {str(name) for name in _list(log.get("expected"))}
        called, expected, both = called + len(used), expected + len(named), both + len(used & named)
    return {
        "Tasks": len(logs),
        "Calls": calls,
        "Args accepted": _percent(accepted, calls),
        "Errors": _percent(failed, calls),
        "Tools used": _percent(both, expected),
        "Tools named": _percent(both, called),
    }


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
