"""Reads the records of a run while its workers write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.store.jsonl import outlined


class RecordTail:
    """Remembers how far each file has been read. A file that is shorter than before is read from its start."""

    def __init__(self, offsets: Mapping[Path, int] | None = None) -> None:
        """``offsets``: bytes at the start of files that are not to be read."""
        self._offsets = dict(offsets or {})

    def new(self, files: Iterable[Path]) -> Iterator[tuple[dict[str, Any], Path, int, int]]:
        """Records that have been added since the last call: JSON without events (see ``outlined``), file, start and
        size in bytes. A file that cannot be read and a damaged line are skipped: the end of the run reports them."""
        for file in files:
            try:
                stream = files.open_plain(file)
            except (FileNotFoundError, UsageProblem):  # the run may just have ended: its records are merged
                self._offsets.pop(file, None)
                continue
            with stream:
                start = self._offsets.get(file, 0)
                if stream.seek(0, 2) < start:
                    start = 0
                for line in files.lines(stream, start):
                    if not line.is_whole and line.kept is not None:
                        break  # still being written
                    self._offsets[file] = line.start + line.size
                    try:
                        found = outlined(line.content)
                    except ValueError:
                        continue
                    yield found, file, line.start, line.size
