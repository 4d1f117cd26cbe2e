"""Appends records to a file of one worker."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from agentgauge.core.files import append_whole, is_disk_full
from agentgauge.core.types import Record, Usage
from agentgauge.store.jsonl import Line, encoded_line, outlined

_BLOCK = 65_536


class Appender:
    """Appends records to the file of one worker, in that worker's process, one system call a record."""

    def __init__(self, path: Path, make_room: Callable[[], bool]) -> None:
        """``make_room`` is called once when the disk is full and returns whether it freed space. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._path = path
        self._make_room = make_room
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._end = os.fstat(self._file).st_size
        self.problem: OSError | None = None  # set when the disk was full: no further case should start

    def append(self, record: Record) -> Line:
        """Write a record and return its location. Raises OSError, with the file unchanged, if the disk is full."""
        data = encoded_line(record)
        transcript = record.transcript
        usage, seconds = (transcript.usage, transcript.seconds) if transcript else (Usage(), 0.0)
        tokens = usage.prompt_tokens + usage.completion_tokens
        start = self._add(data)
        return Line(self._path, start, len(data), record.status, record.finished, tokens, usage.usd, seconds)

    def append_line(self, line: bytes) -> Line:
        """Append a line that another process has written. Raises one of UNREADABLE if the line is not a record."""
        found = Line.of(outlined(line), self._path, self._end, len(line))
        self._add(line)
        return found

    def _add(self, data: bytes) -> int:
        """Returns where it begins."""
        start = self._end
        try:
            append_whole(self._path, self._file, data)
        except OSError as error:
            self.problem = error
            if not (is_disk_full(error) and self._make_room()):
                raise
            append_whole(self._path, self._file, data)
        self._end += len(data)
        return start

    def close(self) -> None:
        os.close(self._file)


def _drop_torn_line(path: Path) -> None:
    """Cut off a half-written last line, which a crashed machine leaves: it would spoil the next record."""
    if not path.exists():
        return
    with path.open("r+b") as stream:
        size = end = stream.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - _BLOCK)
            stream.seek(begin)
            found = stream.read(end - begin).rfind(b"\n")
            if found >= 0:
                end = begin + found + 1
                break
            end = begin
        if end < size:
            stream.truncate(end)
