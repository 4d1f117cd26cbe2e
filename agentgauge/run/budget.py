"""``--budget``: how much a run may spend before it stops gracefully."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import cut
from agentgauge.core.types import Usage

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

    def amount(self, usage: Usage) -> float:
        """Dollars or tokens; 0 for a budget of time."""
        return {"usd": usage.usd, "tok": usage.prompt_tokens + usage.completion_tokens, "s": 0.0}[self.unit]

    def spent(self, usage: Usage, seconds: float) -> str | None:
        """Why the run must stop, or None."""
        used = seconds if self.unit == "s" else self.amount(usage)
        how = ", by estimated token counts" if usage.estimated_requests and self.unit != "s" else ""
        return f"the budget of {self.text} is used up{how}" if used >= self.limit else None


def parse_budget(text: str) -> Budget:
    """``5usd``, ``2Mtok``, ``300ktok``, ``30min``, ``2h``, ``90s``. Raises UsageProblem."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", text.strip())
    if match is None or match[2].lower() not in _UNITS or not 0 < float(match[1]) < 1e15:
        raise UsageProblem(
            f"--budget {cut(text)!r} cannot be read; write a positive number and one of {', '.join(_UNITS)}, such as"
            " 5usd, 2Mtok or 30min"
        )
    unit, factor = _UNITS[match[2].lower()]
    return Budget(text.strip(), unit, float(match[1]) * factor)
