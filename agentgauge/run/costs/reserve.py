"""The part of a budget that running cases will need, so that no case starts that the budget may not cover.

All workers of a run share one file. A case is expected to cost what the finished cases of its task did. Until there are
some, it counts as what is assumed of it, scaled by how far the assumptions about finished cases were off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.types import Usage
from agentgauge.model.shared_json import shared_json
from agentgauge.run.budget import Budget

FILE = "budget"
"""In the run folder, while cases run with a budget of dollars or tokens."""

CAUTION = 10.0
"""By how much the assumptions may be off before any case has ended: a reasoning model writes that much more."""


class Reserve:
    """The reserve of a budget, for one worker. Amounts are dollars or tokens, as the budget counts them."""

    def __init__(self, file: Path, budget: Budget, worker: int, assumed: Mapping[str, float]) -> None:
        """``worker``: its number; what an earlier worker of this number had reserved is free again. ``assumed``: task →
        amount that a case is assumed to cost."""
        self._file = file
        self._budget = budget
        self._worker = str(worker)
        self._assumed = assumed
        with shared_json(file) as ledger:
            ledger.setdefault("running", {}).pop(self._worker, None)

    def take(self, task: str) -> bool:
        """Reserve what a case will need. False where the budget may not cover it; it may do so when others end."""
        with shared_json(self._file) as ledger:
            running: Counter[str] = Counter()
            for cases in ledger["running"].values():
                running.update(cases)
            finished = ledger.get("finished", {})
            if finished or running.total():  # the first case has to show what cases cost
                known = sum(count for count, _, _ in finished.values())
                unsure = 1 + running.total() / known if known else 1.0  # the first cases that end may be the cheap ones
                reserved = unsure * sum(count * self._dear(finished, of) for of, count in running.items())
                doubt = 1 if running.total() else 0  # no other case will end, so what is known decides
                if _spent(finished) + reserved + self._mean(finished, task, doubt) > self._budget.limit:
                    ledger["exhausted"] = not running.total()
                    return False
            own = ledger["running"].setdefault(self._worker, {})
            own[task] = own.get(task, 0) + 1
            ledger["exhausted"] = False
        return True

    def give_back(self, task: str, usage: Usage) -> None:
        """A case has ended and cost this much."""
        used = self._budget.amount(usage)
        with shared_json(self._file) as ledger:
            own = ledger["running"].setdefault(self._worker, {})
            own[task] = own.get(task, 0) - 1
            count, total, largest = ledger.setdefault("finished", {}).get(task, (0, 0.0, 0.0))
            ledger["finished"][task] = (count + 1, total + used, max(largest, used))

    def _mean(self, finished: Mapping[str, Any], task: str, doubt: int = 1) -> float:
        """The expected cost of a case, as if ``doubt`` more cases had ended that cost CAUTION times what is assumed."""
        assumed = self._assumed[task]
        expected = doubt * assumed + sum(
            count * self._assumed.get(of, assumed) for of, (count, _, _) in finished.items()
        )
        scale = (_spent(finished) + doubt * CAUTION * assumed) / expected if expected else 0.0
        count, total, _ = finished.get(task, (0, 0.0, 0.0))
        weight = doubt if count else 1
        return float((total + weight * scale * assumed) / (count + weight))

    def _dear(self, finished: Mapping[str, Any], task: str) -> float:
        """What a running case may cost: as much as the dearest so far. Cheap cases end first, so the mean of the
        finished ones says too little of those that still run."""
        _, _, largest = finished.get(task, (0, 0.0, 0.0))
        return max(self._mean(finished, task), float(largest))


def exhausted(file: Path) -> bool:
    """Whether no case runs and the budget may not cover another."""
    with shared_json(file) as ledger:
        return bool(ledger.get("exhausted"))


def _spent(finished: Mapping[str, Any]) -> float:
    return float(sum(total for _, total, _ in finished.values()))
