"""The option of this plugin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.option import option


@dataclass(frozen=True, kw_only=True)
class CacheOptions:
    cache: Path | None = option(
        "--cache=DIR",
        "folder of replies of models, and of results of deterministic tools, that runs share: the same request is not"
        " paid twice",
        kind=Path,
        usual="none",
        to_shards=True,
        excludes={
            "rescore": "a rescored run asks no model",
            "replay": "a replayed run has all its replies from the cassette",
        },
    )
