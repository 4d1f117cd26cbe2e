"""An index of a data set: what is in it and where, without its payload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One sample: its id, its keywords, and where its bytes are."""

    id: str
    tags: tuple[str, ...]
    start: int  # byte offset of the JSON value in the file
    end: int
    position: int  # from 0


@dataclass(frozen=True, slots=True)
class Index:
    """The samples of one data file."""

    root: Path  # folder that relative paths start from
    file: Path
    fingerprint: str  # of the file's content
    rows: tuple[Row, ...]

    def read(self, row: Row) -> bytes:
        """The JSON text of one sample."""
        with self.file.open("rb") as stream:
            stream.seek(row.start)
            return stream.read(row.end - row.start)
