"""The note in a fetched data set's folder: where it came from, and what its verification found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from agentgauge.core.atomic_write import write_whole
from agentgauge.data.fetch.dataset import Verified
from agentgauge.data.fetch.lock import LockedFile

NAME = "agentgauge-source.json"


@dataclass(frozen=True, slots=True)
class Marker:
    """The content of the note."""

    data_set: str
    source: str
    revision: str
    files: Mapping[str, LockedFile]  # as downloaded: archives, not what was in them
    complete: bool  # False: with ``--only``
    verified: str = ""  # time, UTC; empty: not yet
    samples: int = 0
    found: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)

    def after(self, verified: Verified) -> Marker:
        """With the outcome of a verification."""
        return replace(
            self,
            verified=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            samples=verified.samples,
            found=list(verified.found),
            problems=list(verified.problems),
            strange=list(verified.strange),
        )


def read_marker(root: Path) -> Marker | None:
    """None where there is no readable note: the data is then the user's own."""
    try:
        data = json.loads((root / NAME).read_bytes())
        return Marker(**{**data, "files": {name: LockedFile(**file) for name, file in data["files"].items()}})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_marker(root: Path, marker: Marker) -> None:
    write_whole(root / NAME, f"{json.dumps(asdict(marker), indent=2, sort_keys=True, ensure_ascii=False)}\n".encode())
