"""What a case has come to before its end, kept until the case is finished.

A task with several stages (an agent at work, then a judge) keeps the first, so that a fault in the second does not cost
the first one again when the run is resumed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from agentgauge.core.atomic_write import encoded, write_whole
from agentgauge.core.path_placeholders import Portable
from agentgauge.core.types import Event, Json, Usage


@dataclass(frozen=True, slots=True)
class Kept:
    output: Json
    events: tuple[Event, ...]
    usage: Usage
    turn: int  # requests so far


class Stage:
    """One case's file."""

    def __init__(self, path: Path, config: str, places: Portable, *, fresh: bool = False) -> None:
        """``config``: fingerprint of everything that may change the outcome; what another one left is not taken up.
        ``places``: folders that lie elsewhere when the run is resumed. ``fresh``: the run is new, so there is nothing
        to read."""
        self._fresh = fresh
        self._path = path
        self._config = config
        self._places = places

    def read(self) -> Kept | None:
        """None where nothing is kept, or nothing that can be used."""
        if self._fresh:
            return None
        try:
            data = json.loads(self._path.read_bytes())
            if data["config"] != self._config:
                return None
            data = self._places.unpack(data)
            return Kept(
                data["output"], tuple(Event(**event) for event in data["events"]), Usage(**data["usage"]), data["turn"]
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None  # the case begins anew

    def write(self, kept: Kept) -> None:
        """Raises OSError where the run folder cannot be written."""
        data = {
            "config": self._config,
            "output": kept.output,
            "events": [asdict(event) for event in kept.events],
            "usage": asdict(kept.usage),
            "turn": kept.turn,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._path, encoded(self._places.pack(data)))
