"""The file by which the controller stops every worker."""

from __future__ import annotations

import time
from pathlib import Path

FILE = "stop"
"""In the run folder; holds the reason."""

STALE_SECONDS = 0.005
"""How long a worker trusts its last look."""


class StopFile:
    """Asked at every start and every end of a case, by two threads."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._exists = False
        self._looked = 0.0  # time.monotonic()

    def write(self, reason: str) -> None:
        """Raises OSError where the disk is full."""
        self._path.write_text(reason, encoding="utf-8")

    def exists(self) -> bool:
        now = time.monotonic()
        if not self._exists and now - self._looked > STALE_SECONDS:
            self._looked = now
            self._exists = self._path.exists()
        return self._exists

    def reason(self) -> str:
        return self._path.read_text(encoding="utf-8")
