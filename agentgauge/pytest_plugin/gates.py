"""Checks the gates of ``--gate`` when the run is summarized."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.run.gates import Gate, Threshold


def check_gate(gate: Gate, summary: Mapping[str, Any], folder: Path) -> str | None:
    """What is wrong, in a sentence, or None where the gate holds. ``summary``: of the run in ``folder``."""
    if isinstance(gate, Threshold):
        return gate.check(summary)
    from agentgauge_reports.comparison.regression import regression

    try:
        reason = regression(gate.run, folder, gate.task, gate.metric)
    except UsageProblem as problem:  # the other run's folder has changed since the gate was read
        reason = str(problem)
    return reason and f"gate {gate.text}: {reason}"
