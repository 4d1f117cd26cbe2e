"""Reads the records of a run while its workers write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgauge.store.jsonl import UNREADABLE, outlined


class RecordTail:
    """Remembers how far each file has been read. A file that is shorter than before is read from its start."""

    def __init__(self, offsets: Mapping[Path, int] | None = None) -> None:
        """``offsets``: bytes at the start of files that are not to be read."""
        self._offsets = dict(offsets or {})

    def new(self, files: Iterable[Path]) -> Iterator[tuple[dict[str, Any], Path, int, int]]:
        """Records that have been added since the last call: JSON without events (see ``outlined``), file, start and
        size in bytes. A missing file and a damaged line are skipped: the end of the run reports them."""
        for file in files:
            try:
                stream = file.open("rb")
            except FileNotFoundError:  # the run has just ended: its records are merged
                self._offsets.pop(file, None)
                continue
            with stream:
                start = self._offsets.get(file, 0)
                if stream.seek(0, 2) < start:
                    start = 0
                stream.seek(start)
                for line in stream:
                    if not line.endswith(b"\n"):
                        break  # still being written
                    begin, start = start, start + len(line)
                    self._offsets[file] = start
                    try:
                        found = outlined(line)
                    except UNREADABLE:
                        continue
                    yield found, file, begin, len(line)
