"""A budget that several runs have together."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from agentgauge.core.types import Usage
from agentgauge.model.budget import Budget, check_dollars
from agentgauge.model.spec import ModelSpec
from agentgauge.plugins.budget.reserve import FILE, exhausted, release
from agentgauge.run.several.beside import Beside


class BudgetOfRuns(Beside):
    """Stops all of them once they have used it up together, or it may not cover another case of any of them."""

    def __init__(self, budget: Budget, parent: Path) -> None:
        self._budget = budget
        self._reserve = parent / FILE

    def check(self, models: Sequence[ModelSpec]) -> None:
        check_dollars(self._budget, models, shared=True)

    def begin(self) -> None:
        self._reserve.unlink(missing_ok=True)  # of an earlier launcher
        self._began = time.monotonic()

    def why_stop(self, running: Collection[str], used: Callable[[], Usage]) -> str:
        no_room = bool(running) and self._reserve.exists() and exhausted(self._reserve, running)
        reason = self._budget.spent(used(), time.monotonic() - self._began)  # of records that are complete by now
        return reason or (f"the budget of {self._budget.text} may not cover another case" if no_room else "")

    def ended(self, run: str) -> None:
        if self._reserve.exists():
            release(self._reserve, run)

    def close(self) -> None:
        self._reserve.unlink(missing_ok=True)
