"""``--budget``: how much a run may spend before it stops gracefully."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Usage
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import UNREADABLE
from agentgauge.store.record_tail import RecordTail

Unit = Literal["usd", "tok", "s"]
_UNITS: dict[str, tuple[Unit, float]] = {
    "usd": ("usd", 1),
    "tok": ("tok", 1),
    "ktok": ("tok", 1e3),
    "mtok": ("tok", 1e6),
    "s": ("s", 1),
    "min": ("s", 60),
    "h": ("s", 3600),
}


@dataclass(frozen=True, slots=True)
class Budget:
    text: str
    unit: Unit
    limit: float

    def spent(self, usage: Usage, seconds: float) -> str | None:
        """Why the run must stop, or None."""
        used = {"usd": usage.usd, "tok": usage.prompt_tokens + usage.completion_tokens, "s": seconds}[self.unit]
        return f"the budget of {self.text} is used up" if used >= self.limit else None


def parse_budget(text: str) -> Budget:
    """``5usd``, ``2Mtok``, ``300ktok``, ``30min``, ``2h``, ``90s``. Raises UsageProblem."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", text.strip())
    if match is None or match[2].lower() not in _UNITS or float(match[1]) <= 0:
        raise UsageProblem(
            f"--budget {text!r} cannot be read; write a positive number and one of {', '.join(_UNITS)}, such as 5usd,"
            " 2Mtok or 30min"
        )
    unit, factor = _UNITS[match[2].lower()]
    return Budget(text.strip(), unit, float(match[1]) * factor)


class BudgetWatch:
    """Reads the workers' usage from their records as they are written, and reports once when it exceeds the budget.

    A record is counted when its case ends. With look-ahead, pytest may reach the case much later.
    """

    SECONDS = 0.25  # between two looks

    def __init__(self, budget: Budget, folder: RunFolder, over: Callable[[str], None]) -> None:
        self._budget = budget
        self._records = folder.path / "records"
        self._over = over
        # a resumed run starts at 0
        self._tail = RecordTail({path: path.stat().st_size for path in self._records.glob("*.jsonl")})
        self._usage = Usage()
        self._begin = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="agentgauge-budget", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self.SECONDS):
            for record, *_ in self._tail.new(self._records.glob("*.jsonl")):
                try:
                    if transcript := record["transcript"]:
                        self._usage += Usage(**transcript["usage"])
                except UNREADABLE:  # the end of the run reports it
                    continue
            if reason := self._budget.spent(self._usage, time.monotonic() - self._begin):
                self._over(reason)
                return
