"""The option of this plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentgauge.core.option import RESUMED, option


@dataclass(frozen=True, kw_only=True)
class ShardOptions:
    shard: Any = option(
        "--shard=K/N",
        "run the K-th of N parts of the selected tests; agentgauge merge puts the parts together",
        reader="agentgauge.plugins.shards.shard:parse_shard",
        usual="all",
        kept=RESUMED,
        keeps_run=True,
        excludes={"rescore": "a rescored run has the plan of the earlier one"},
    )
