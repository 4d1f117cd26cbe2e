"""The option of this plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentgauge.core.option import option


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    budget: Any = option(
        "--budget=AMOUNT",
        "stop gracefully when the amount is reached: 5usd, 2Mtok, 30min; dollars need prices of all models, and"
        " abandoned requests do not count",
        reader="agentgauge.model.budget:parse_budget",
        usual="none",
        together=True,
        keeps_run=True,
    )
