"""How much may be spent before a run, or another command that asks models, stops gracefully."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import cut
from agentgauge.core.types import Usage
from agentgauge.model.spec import ModelSpec

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
        """Dollars or tokens that this run has paid; 0 for a budget of time."""
        return {"usd": usage.usd, "tok": usage.paid_tokens, "s": 0.0}[self.unit]

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


def check_dollars(budget: Budget | None, models: Sequence[ModelSpec], *, shared: bool = False) -> None:
    """Refuse a budget of dollars if prices are unknown or nothing costs anything. ``shared``: other runs share the
    budget, and may use it up even if these models cost nothing. Raises UsageProblem."""
    if budget is None or budget.unit != "usd" or not models:
        return
    if unknown := unpriced(models):
        raise UsageProblem(
            f"--budget {budget.text} needs the prices of {unknown}, which are not known; give prices ="
            " { prompt = ..., completion = ... } in its [models.NAME] table of agentgauge.toml, or a budget of tokens"
            " or time"
        )
    if not shared and all(spec.prices.free for spec in models):
        raise UsageProblem(
            f"--budget {budget.text} would never be used up: {models[0].name} costs nothing; give a budget of tokens or"
            " time, such as 2Mtok or 30min"
        )


def unpriced(models: Sequence[ModelSpec]) -> str:
    """The names of the models whose prices are not known."""
    return ", ".join(dict.fromkeys(spec.name for spec in models if not spec.prices.known))
