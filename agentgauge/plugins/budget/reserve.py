"""The part of a budget that running cases will need, so that no case starts that the budget may not cover.

All workers of a run share one file, and so do all runs that share a budget. A case is expected to cost what the
finished cases of its task did in this run. Until a case of the task has finished, the assumed cost is used, scaled by
the ratio of actual to assumed cost of all finished cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentgauge.core.types import Usage
from agentgauge.model.budget import Budget
from agentgauge.model.shared_json import shared_json
from agentgauge.plugins.budget.estimate import assumed_costs
from agentgauge.run.part import Part, Process
from agentgauge.run.planned import Planned
from agentgauge.store.jsonl import CaseId

FILE = "budget"
"""In the run folder, or in the folder of several runs, while cases run with a budget of dollars or tokens."""

CAUTION = 10.0
"""Factor for the assumed costs before any case has ended: a reasoning model may write that much more."""


UNSEEN = 3.0
"""Factor for the assumed costs of a task without finished cases."""

_NONE = (0, 0.0, 0.0)
"""Totals of a task without finished cases: their number, their cost, and the cost of the most expensive one."""


class Reserve:
    """The reserve of a budget, for one worker. Amounts are dollars or tokens, as the budget counts them."""

    def __init__(self, file: Path, budget: Budget, worker: int, assumed: Mapping[str, float], *, run: str = "") -> None:
        """``worker``: its number; what an earlier worker of this number had reserved is free again. ``assumed``: task →
        amount that a case is assumed to cost. ``run``: its name among those that share the file."""
        self._file = file
        self._budget = budget
        self._worker = str(worker)
        self._assumed = assumed
        self._run = run
        with self._ledger() as (own, _):
            own["running"].pop(self._worker, None)
            own["reserved"] = self._reserved(own)

    def take(self, task: str) -> bool:
        """Reserve what a case will need. False if the budget may not cover it now; it may later, when other cases have
        ended."""
        with self._ledger() as (own, others):
            finished = own["finished"]
            spent = sum(_spent(one["finished"]) for one in (own, *others))
            anything_runs = any(_running(one) for one in (own, *others))
            if anything_runs:
                needed = own["reserved"] + sum(one["reserved"] for one in others) + self._bound(finished, task, 1)
            else:  # no other case will end and show more; the first case shows what cases cost
                needed = self._mean(finished, task) if finished else self._assumed[task] if spent else 0.0
            if spent + needed > self._budget.limit:
                own["exhausted"] = not anything_runs
                return False
            cases = own["running"].setdefault(self._worker, {})
            cases[task] = cases.get(task, 0) + 1
            own["reserved"] = self._reserved(own)
            own["exhausted"] = False
        return True

    def give_back(self, task: str, usage: Usage) -> None:
        """A case has ended and cost this much."""
        used = self._budget.amount(usage)
        with self._ledger() as (own, _):
            cases = own["running"].setdefault(self._worker, {})
            cases[task] = max(0, cases.get(task, 0) - 1)
            if used or not usage.cached_requests:  # what came from a cache alone does not show what a case costs
                count, total, largest = own["finished"].get(task, _NONE)
                own["finished"][task] = (count + 1, total + used, max(largest, used))
            own["reserved"] = self._reserved(own)

    @contextmanager
    def _ledger(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """The parts of this run and of the others."""
        with shared_json(self._file) as ledger:
            own = ledger.setdefault(self._run, {"running": {}, "finished": {}, "reserved": 0.0, "exhausted": False})
            yield own, [one for run, one in ledger.items() if run != self._run]

    def _reserved(self, own: Mapping[str, Any]) -> float:
        return sum(self._bound(own["finished"], task, count) for task, count in _running(own).items())

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


class ReservePart(Part):
    """Starts no case that the budget may not cover."""

    def __init__(self, process: Process, budget: Budget) -> None:
        settings = process.settings
        file, run = settings.run_dir / FILE, ""
        if settings.shared:
            file, run = settings.run_dir.parent / FILE, settings.run_dir.name
        assumed = assumed_costs(settings, process.tasks, budget)
        self._reserve = Reserve(file, budget, process.place.number, assumed, run=run)
        self._covered: set[CaseId] = set()  # cases that may start, and those that run

    def take(self, case: Planned) -> bool:
        if case.id not in self._covered and not self._reserve.take(case.task.name):
            return False
        self._covered.add(case.id)
        return True

    def ended(self, case: Planned, used: Usage) -> None:
        self._covered.discard(case.id)
        self._reserve.give_back(case.task.name, used)


def exhausted(file: Path, runs: Collection[str] = ("",)) -> bool:
    """Whether no case runs and the budget may not cover another one of any of the runs."""
    with shared_json(file) as ledger:
        return all(run in ledger and ledger[run]["exhausted"] for run in runs)


def release(file: Path, run: str) -> None:
    """Remove the reservations of a run that has ended or was killed."""
    with shared_json(file) as ledger:
        if run in ledger:
            ledger[run] |= {"running": {}, "reserved": 0.0}


def _running(part: Mapping[str, Any]) -> Counter[str]:
    """Task → cases of a run that are running."""
    found: Counter[str] = Counter()
    for cases in part["running"].values():
        found.update(cases)
    return +found


def _spent(finished: Mapping[str, Any]) -> float:
    return float(sum(total for _, total, _ in finished.values()))
