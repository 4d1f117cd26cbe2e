"""The option of this plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentgauge.core.option import RESUMED, option


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    gates: Any = option(
        "--gate=EXPR",
        "fail the run unless the condition holds, such as 'gta_atomic.e2e.AnsAcc>=40', or 'no significant regression"
        " against RUN'; may repeat",
        many=True,
        default=(),
        kept=RESUMED,
        stored="gates",
        keeps_run=True,
        judges=True,
    )
