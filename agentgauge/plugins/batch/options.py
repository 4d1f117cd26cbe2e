"""The option of this plugin."""

from __future__ import annotations

from dataclasses import dataclass

from agentgauge.core.option import LAUNCH, RESUMED, option


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    batch: bool = option(
        "--batch",
        "send requests in batches, for half the price and answers within a day",
        kind=bool,
        default=False,
        usual="one by one",
        sets={"--in-flight": 5000},  # requests of a batch: all of them wait at a time, and each takes some 25 KB
        kept=RESUMED,
        stored="batch",
        excludes={
            "replay": "a replayed run sends no requests",
            "rescore": "a rescored run sends no requests",
            LAUNCH: "a batch needs one process that waits for it; give it to pytest",
        },
    )
