"""For runs with a budget of seconds (``-p tests.plugin.late_budget``): it is not used up before the endpoint works on
what the test waits for, however slow the machine is."""

from __future__ import annotations

from pathlib import Path

from agentgauge.core.types import Usage
from agentgauge.model.budget import Budget

WORKS = "endpoint-works"
"""The file in the folder of the run's process that says so."""

spent = Budget.spent


def late(self: Budget, usage: Usage, seconds: float) -> str | None:
    return spent(self, usage, seconds) if self.unit != "s" or Path(WORKS).exists() else None


Budget.spent = late  # type: ignore[method-assign]
