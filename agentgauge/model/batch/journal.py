"""The batches of a run, in its folder: noted before they are submitted, so that a resumed run finds them and waits for
them.

Each line is one JSON object, written at once and synchronised. It begins with a line break, because a kill may have
left half a line. All workers append to one file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.parsing import parse_json

FILE = "batches.jsonl"


@dataclass(slots=True)
class Planned:
    """A batch of an earlier session. ``upload``: the id of its file, empty before the upload."""

    name: str  # our own, with which the ids of its requests begin
    at: float  # when it was planned, seconds since the epoch
    requests: Sequence[str]  # their digests, in order
    upload: str = ""
    identity: str = ""  # of the provider; empty where the submission was not noted

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> Planned:
        return cls(str(line["batch"]), float(line["at"]), [str(digest) for digest in line["requests"]])


class Journal:
    """Appends to the journal; holds its content at the start of the worker. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._batches: dict[str, Planned] = {}
        for line in _read(path):
            self._add(line)
        self._places = {
            digest: (planned, number)
            for planned in sorted(self._batches.values(), key=lambda planned: planned.at)
            for number, digest in enumerate(planned.requests)
        }

    def take(self, digest: str) -> tuple[Planned, int] | None:
        """The latest batch of an earlier session that a request is in, and its number there. Only once: if the batch
        has no answer, the request goes into another batch."""
        return self._places.pop(digest, None)

    @property
    def identities(self) -> frozenset[str]:
        """The provider's ids of the batches whose submission was noted, by any worker."""
        return frozenset(str(line["id"]) for line in _read(self._path) if "id" in line)

    def plan(self, name: str, at: float, requests: Sequence[str]) -> None:
        """Note that a batch will be submitted."""
        self._append({"batch": name, "at": at, "requests": list(requests)})

    def uploaded(self, name: str, upload: str) -> None:
        self._append({"batch": name, "upload": upload})

    def submitted(self, name: str, identity: str) -> None:
        self._append({"batch": name, "id": identity})

    def _add(self, line: Mapping[str, Any]) -> None:
        name = str(line["batch"])
        if "requests" in line:
            self._batches[name] = Planned.read(line)
        elif planned := self._batches.get(name):
            planned.upload = str(line.get("upload", planned.upload))
            planned.identity = str(line.get("id", planned.identity))

    def _append(self, line: Mapping[str, Any]) -> None:
        content = f"\n{json.dumps(line)}\n".encode()
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.write(file, content) < len(content):
                raise OSError(f"{self._path} could not be written as a whole")
            os.fsync(file)
        finally:
            os.close(file)


def _read(path: Path) -> list[Mapping[str, Any]]:
    """The whole lines; a kill may have left half a one."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    found: list[Mapping[str, Any]] = []
    for text in content.split(b"\n"):
        try:
            line = parse_json(text)
        except ValueError:
            continue
        if isinstance(line, dict) and "batch" in line:
            found.append(line)
    return found
