"""Kinds of failures that all benchmarks share; ``Presentation.kinds`` sorts a task's labels and causes."""

from __future__ import annotations

from collections.abc import Mapping

FAULTS: Mapping[str, str] = {
    "reply_cut": "Reply was cut",
    "wrong_tool": "Wrong tool",
    "wrong_argument": "Wrong argument",
    "missing_call": "Missing call",
    "extra_call": "Extra call",
    "stopped_early": "Stopped early",
    "wrong_answer": "Wrong answer",
    "failed_code": "Code that fails",
    "format": "Unreadable reply",
    "refused": "Refused",
    "partial": "Partly right",
    "other": "Other",
}
"""Kinds of wrong cases with words for a person, in the order of tables."""

BREAKS: Mapping[str, str] = {
    "endpoint": "Model endpoint",
    "agent": "Agent program",
    "tool": "Tool or tool server",
    "judge": "Judge",
    "sandbox": "Sandbox",
    "data": "Data",
    "disk": "Disk or run folder",
    "fixture": "Set-up or teardown of a test",
    "internal": "Internal error",
}
"""Kinds of broken cases. Some benchmarks count such a case as wrong and give it a label."""


def kinds(**labels: str) -> Mapping[str, str]:
    """Label or cause → kind. The argument has kind → its labels and causes, separated by commas."""
    return {label: kind for kind, text in labels.items() for label in text.split(", ")}
