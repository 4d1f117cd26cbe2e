"""Stops a run whose budget is used up, or may not cover another case."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from agentgauge.core.types import Usage
from agentgauge.model.budget import Budget
from agentgauge.plugins.budget.reserve import FILE, exhausted
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId, outlined, usage_of
from agentgauge.store.records import RecordTail


class BudgetWatch:
    """Reads the workers' usage from their records as they are written, and stops the run once it exceeds the budget.

    A record is counted when its case ends. With look-ahead, pytest may reach the case much later.
    """

    SECONDS = 0.25  # between two looks

    def __init__(self, budget: Budget, folder: RunFolder, stop_run: Callable[[str], None]) -> None:
        self._budget = budget
        self._folder = folder
        self._reserve = folder.path / FILE
        self._reserve.unlink(missing_ok=True)  # of an earlier session
        self._stop_run = stop_run
        # a resumed run starts at 0; the records of cases that were unfinished hold what earlier sessions have used
        self._before: dict[CaseId, Usage] = {}
        for case, line in folder.lines().items():
            if line.status == "missing":
                with suppress(ValueError):  # damaged meanwhile: the end of the run reports it
                    self._before[case] = usage_of(outlined(line.raw()))
        self._tail = RecordTail({path: path.stat().st_size for path in self._files()})
        self._usage = Usage()
        self._begin = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="agentgauge-budget", daemon=True)
        self._thread.start()

    def _files(self) -> list[Path]:
        return [*(self._folder.path / "records").glob("*.jsonl"), *self._folder.outside.glob("*.jsonl")]

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()
        self._reserve.unlink(missing_ok=True)

    def _watch(self) -> None:
        while not self._ended.wait(self.SECONDS):
            no_room = self._reserve.exists() and exhausted(self._reserve)  # the records below are complete then
            for record, *_ in self._tail.new(self._files()):
                case = (record["task"], record["sample"], record["attempt"])
                self._usage += usage_of(record) - self._before.pop(case, Usage())
            reason = self._budget.spent(self._usage, time.monotonic() - self._begin)
            if reason is None and no_room:
                reason = f"the budget of {self._budget.text} may not cover another case"
            if reason:
                self._stop_run(reason)
                return
