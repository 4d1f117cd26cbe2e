"""The options of this plugin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.option import LAUNCH, SEVERAL, option

_ONE_RUN = "a cassette holds the exchanges of one run; {} each model by itself"
_RESCORED = "a rescored run has no exchanges"
_REPLAYED = "a replayed run calls no model"


@dataclass(frozen=True, kw_only=True)
class RecordingOptions:
    record: Path | None = option(
        "--record=FILE",
        "write every model and tool exchange to a cassette",
        kind=Path,
        excludes={
            "rescore": _RESCORED,
            "replay": "a replayed run has no new exchanges",
            LAUNCH: "exchanges are made on other machines",
            SEVERAL: _ONE_RUN.format("record"),
        },
    )
    replay: Path | None = option(
        "--replay=FILE",
        "answer from a cassette; an exchange that the cassette lacks is an error, never a live call",
        kind=Path,
        to_shards=True,
        excludes={
            "resume": "a resumed run calls a live model",
            "rescore": _RESCORED,
            "tool_server": "a replayed run calls no tool server",
            "temperature": _REPLAYED,
            "max_tokens": _REPLAYED,
            SEVERAL: _ONE_RUN.format("replay"),
        },
    )
