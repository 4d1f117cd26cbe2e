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


UNSEEN = 3.0
"""By how much the assumptions about one task may differ from those about the others."""

_NONE = (0, 0.0, 0.0)
"""Of the finished cases of a task: their number, their cost, the cost of the dearest."""


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
            _running(ledger).pop(self._worker, None)

    def take(self, task: str) -> bool:
        """Reserve what a case will need. False where the budget may not cover it; it may do so when others end."""
        with shared_json(self._file) as ledger:
            running: Counter[str] = Counter()
            for cases in _running(ledger).values():
                running.update(cases)
            finished = ledger.get("finished", {})
            if running.total():
                reserved = sum(self._bound(finished, of, count) for of, count in running.items())
                needed = reserved + self._bound(finished, task, 1)
            else:  # no other case will end and show more; the first case shows what cases cost
                needed = self._mean(finished, task) if finished else 0.0
            if _spent(finished) + needed > self._budget.limit:
                ledger["exhausted"] = not running.total()
                return False
            own = _running(ledger).setdefault(self._worker, {})
            own[task] = own.get(task, 0) + 1
            ledger["exhausted"] = False
        return True

    def give_back(self, task: str, usage: Usage) -> None:
        """A case has ended and cost this much."""
        used = self._budget.amount(usage)
        with shared_json(self._file) as ledger:
            own = _running(ledger).setdefault(self._worker, {})
            own[task] = max(0, own.get(task, 0) - 1)
            count, total, largest = ledger.setdefault("finished", {}).get(task, _NONE)
            ledger["finished"][task] = (count + 1, total + used, max(largest, used))

    def _mean(self, finished: Mapping[str, Any], task: str) -> float:
        """The expected cost of a case, if any has ended."""
        count, total, _ = finished.get(task, _NONE)
        expected = sum(self._assumed.get(of, 0.0) * count for of, (count, _, _) in finished.items())
        return float(total / count if count else self._assumed[task] * _spent(finished) / (expected or 1.0))

    def _bound(self, finished: Mapping[str, Any], task: str, running: int) -> float:
        """What so many running cases of a task may cost.

        Each as much as the dearest so far, since cheap cases end first; and more as long as few have ended. One further
        case is imagined that cost CAUTION times what is assumed.
        """
        count, total, largest = finished.get(task, _NONE)
        assumed = self._assumed[task]
        expected = assumed + sum(self._assumed.get(of, 0.0) * count for of, (count, _, _) in finished.items())
        imagined = assumed * (_spent(finished) + CAUTION * assumed) / expected if expected else 0.0
        if count:
            each = max(largest, (total + imagined) / (count + 1)) * (1 + (running - 1) / count)
        else:
            each = imagined * (UNSEEN if finished else 1.0)
        return float(running * each)


def exhausted(file: Path) -> bool:
    """Whether no case runs and the budget may not cover another."""
    with shared_json(file) as ledger:
        return bool(ledger.get("exhausted"))


def _running(ledger: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Worker → task → running cases; empty where the file was torn or removed."""
    found: dict[str, dict[str, int]] = ledger.setdefault("running", {})
    return found


def _spent(finished: Mapping[str, Any]) -> float:
    return float(sum(total for _, total, _ in finished.values()))
