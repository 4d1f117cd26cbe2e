"""The batches of a run, in its folder: noted before they are submitted, so that a resumed run finds them and waits for
them.

Each line is one JSON object with a checksum, written at once and synchronised. It begins with a line break, because a
kill may have left half a line. All workers append to one file. A journal that was damaged otherwise is refused, because
the requests of a batch that it names no more would be paid twice.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import append_whole
from agentgauge.core.text import parse_json

FILE = "batches.jsonl"
CHECK = "check"
"""The key of a line's checksum. Lines of earlier versions have none."""

Line = Mapping[str, Any]


@dataclass(slots=True)
class PlannedBatch:
    """A batch of an earlier session. ``upload``: the id of its file, empty before the upload."""

    name: str  # our own, with which the ids of its requests begin
    at: float  # when it was planned, seconds since the epoch
    requests: Sequence[str]  # their digests, in order
    upload: str = ""
    identity: str = ""  # of the provider; empty where the submission was not noted
    is_sure: bool = True  # whether the identity has a checksum


class Journal:
    """Appends to the journal, which raises OSError; holds its content at the start of the worker. Raises UsageProblem
    for a journal that is damaged or cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._batches: dict[str, PlannedBatch] = {}
        for number, line in _read(path):
            if why := self._add(line):
                raise _damaged(path, number, why)
        self._places = {
            digest: (planned, number)
            for planned in sorted(self._batches.values(), key=lambda planned: planned.at)
            for number, digest in enumerate(planned.requests)
        }

    def take(self, digest: str) -> tuple[PlannedBatch, int] | None:
        """The latest batch of an earlier session that a request is in, and its number there. Only once: if the batch
        has no answer, the request goes into another batch."""
        return self._places.pop(digest, None)

    @property
    def identities(self) -> frozenset[str]:
        """The provider's ids of the batches whose submission was noted, by any worker."""
        return frozenset(str(line["id"]) for _, line in _read(self._path) if "id" in line)

    def plan(self, name: str, at: float, requests: Sequence[str]) -> None:
        """Note that a batch will be submitted."""
        self._append({"batch": name, "at": at, "requests": list(requests)})

    def uploaded(self, name: str, upload: str) -> None:
        self._append({"batch": name, "upload": upload})

    def submitted(self, name: str, identity: str) -> None:
        self._append({"batch": name, "id": identity})

    def _add(self, line: Line) -> str:
        """What is wrong with a line; empty where nothing is."""
        match line:
            case {"batch": str(name), "at": int() | float() as at, "requests": list(requests)}:
                if not math.isfinite(at) or not all(isinstance(digest, str) for digest in requests):
                    return "it is no plan of a batch"
                if self._batches.setdefault(name, PlannedBatch(name, at, requests)).requests != requests:
                    return "another line plans the same batch otherwise"
            case {"batch": str(name), "upload": str(upload)} if name in self._batches:
                self._batches[name].upload = upload
            case {"batch": str(name), "id": str(identity)} if name in self._batches:
                self._batches[name].identity, self._batches[name].is_sure = identity, CHECK in line
            case {"batch": str(name)} if name not in self._batches:
                return "the line that plans its batch is missing"
            case _:
                return "it is no note about a batch"
        return ""

    def _append(self, line: Line) -> None:
        content = f"\n{json.dumps({**line, CHECK: _checksum(line)})}\n".encode()
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            append_whole(self._path, file, content)
            os.fsync(file)
        finally:
            os.close(file)


def _checksum(line: Line) -> int:
    return crc32(json.dumps({key: value for key, value in line.items() if key != CHECK}).encode())


def _read(path: Path) -> list[tuple[int, Line]]:
    """The lines with their numbers, without one that a kill has cut off: what it says has not happened yet. Raises
    UsageProblem for other damage."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageProblem(f"{path}, which names the run's batches, cannot be read ({error.strerror})") from None
    found: list[tuple[int, Line]] = []
    for number, text in enumerate(content.split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            line = parse_json(text)
        except ValueError as error:
            if text.startswith(_BEGINNING[: len(text)]) and not text.rstrip().endswith(b"}"):
                continue
            raise _damaged(path, number, str(error)) from None
        if not isinstance(line, dict):
            raise _damaged(path, number, "it is no note about a batch")
        if CHECK in line and line[CHECK] != _checksum(line):
            raise _damaged(path, number, "its checksum is wrong")
        found.append((number, line))
    return found


_BEGINNING = b'{"batch": "'


def _damaged(path: Path, number: int, why: str) -> UsageProblem:
    return UsageProblem(
        f"{path} is damaged in line {number} ({why:.100}): requests of a batch that it names could be paid twice;"
        " restore the file, or take out all lines of that batch to send its requests again"
    )
