"""Checkpoints of unfinished cases.

A task with several stages (an agent, then a judge) stores the result of the first. So a fault in the second stage does
not cost the first one again when the run is resumed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import encoded, open_plain, whole, write_whole
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.text import parse_json
from agentgauge.core.types import Event, Json, Usage


@dataclass(frozen=True, slots=True)
class Checkpoint:
    output: Json
    events: tuple[Event, ...]
    usage: Usage
    turn: int  # requests so far


class CheckpointFile:
    def __init__(self, path: Path, config: str, placeholders: PathPlaceholders, *, fresh: bool = False) -> None:
        """``config``: fingerprint of everything that may change the outcome; a checkpoint with another fingerprint is
        ignored. ``placeholders``: for folders that lie elsewhere when the run is resumed. ``fresh``: the run is new, so
        there is nothing to read."""
        self._fresh = fresh
        self._path = path
        self._config = config
        self._placeholders = placeholders

    def read(self) -> Checkpoint | None:
        """The stored results; None if there are none, or none that can be used."""
        if self._fresh:
            return None
        try:
            with open_plain(self._path) as stream:
                data = parse_json(whole(stream))
            if data["config"] != self._config:
                return None
            data = self._placeholders.to_paths(data)
            return Checkpoint(
                data["output"], tuple(Event(**event) for event in data["events"]), Usage(**data["usage"]), data["turn"]
            )
        except (OSError, UsageProblem, ValueError, KeyError, TypeError, RecursionError):
            return None  # the case begins anew

    def write(self, checkpoint: Checkpoint) -> None:
        """Store the results. Raises OSError if the run folder cannot be written."""
        data = {
            "config": self._config,
            "output": checkpoint.output,
            "events": [asdict(event) for event in checkpoint.events],
            "usage": asdict(checkpoint.usage),
            "turn": checkpoint.turn,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._path, encoded(self._placeholders.to_placeholders(data)))
