"""The cassette file: JSON Lines, first a header, then one exchange per line.

Many processes append to one cassette. Each line is one ``os.write`` to a descriptor opened with O_APPEND, which the
kernel does not interleave. Requests are stored as digests of their parts, enough to say what differs and no more.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

from agentgauge.core.errors import DataProblem, ReplayMiss, UsageProblem
from agentgauge.core.files import append_whole
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.redaction import dumps
from agentgauge.core.text import DEEPEST, cut, odd_kind, parse_json, refuse_extremes
from agentgauge.core.types import Json

FORMAT = 1

_LONGEST = 16 << 20  # bytes of a header
_DEEPEST = DEEPEST + 20  # levels of an outcome, in which a reply has as many as are kept of one

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

EntryKind = Literal["model", "tool", "catalog"]
Key = tuple[EntryKind, str]
"""The key of an exchange: ``("model", "task/sample/attempt/turn")``, ``("tool", "{RUN}/files/.../0")``."""

Parts = Mapping[str, Json]
"""The digests of a request's parts: {"messages": [...], "tools": ..., "settings": ...}."""


def digest(value: Json) -> str:
    """Short digest of a JSON value; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def create_cassette(path: Path, settings: Mapping[str, Json]) -> None:
    """Begin a cassette, or go on with one of the same settings. For the controller, before any worker writes.

    A last line that a killed run left incomplete is taken off. Raises UsageProblem for a cassette of something else.
    """
    header = {"cassette": FORMAT, "settings": dict(settings)}
    try:
        kind, is_begun = odd_kind(path), path.exists() and path.stat().st_size > 0
    except OSError as error:
        raise _not_writable(path, error) from None
    if kind:
        raise UsageProblem(f"the cassette {path} is {kind}; give --record the name of a file")
    if is_begun and not path.is_dir():
        # which models see pictures is found out anew, and is known only where pictures are shown
        if {**recorded_settings(path), "vision": {}} != {**settings, "vision": {}}:
            raise UsageProblem(f"the cassette {path} was recorded with other settings; record to another file")
        with path.open("rb+") as stream:
            content = stream.read()
            stream.truncate(content.rfind(b"\n") + 1)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_line(header))
    except OSError as error:
        raise _not_writable(path, error) from None


def _not_writable(path: Path, error: OSError) -> UsageProblem:
    return UsageProblem(
        f"the cassette {path} cannot be written ({error.strerror}); give --record a file in a writable folder"
    )


def recorded_settings(path: Path) -> dict[str, Any]:
    """The settings of the recorded run. Raises UsageProblem when the file is missing or no cassette of this format."""
    try:
        if kind := odd_kind(path):
            raise UsageProblem(
                f"the cassette {path} is {kind}, and only a file can be read at any place; save it as a file"
            )
        with path.open("rb") as stream:
            line = stream.readline(_LONGEST)
    except OSError as error:
        raise UsageProblem(f"the cassette {path} cannot be read ({error.strerror}); make one with --record") from None
    try:
        data = parse_json(line)
        refuse_extremes(data)
    except (json.JSONDecodeError, UnicodeDecodeError):
        data = None
    except ValueError as problem:
        raise UsageProblem(f"{path}, line 1: {problem}; record the cassette again") from None
    if not isinstance(data, dict) or "cassette" not in data or not isinstance(data.get("settings") or {}, dict):
        raise UsageProblem(f"{path}, line 1: this is not a cassette; make one with --record")
    if data["cassette"] != FORMAT:
        raise UsageProblem(
            f"{path}, line 1: the cassette has format {cut(str(data['cassette']), 20)}, and this version reads"
            f" {FORMAT}; record it again"
        )
    return dict(data.get("settings") or {})


def _line(value: Mapping[str, Json]) -> bytes:
    """A line of the file, without secrets."""
    return dumps(value, _JSON).encode("utf-8", "backslashreplace") + b"\n"


class CassetteWriter:
    """Appends exchanges. Each process has its own; ``create_cassette`` comes first."""

    def __init__(self, path: Path, tokens: Mapping[str, str]) -> None:
        self.path = path
        self.placeholders = PathPlaceholders(tokens)
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise UsageProblem(f"the cassette {path} cannot be written ({error.strerror})") from None

    def append(self, key: Key, parts: Parts, outcome: Mapping[str, Json]) -> None:
        """``outcome`` is stored without secrets, and with its folders as tokens. Raises OSError when the disk is
        full."""
        entry = {"kind": key[0], "key": key[1], "parts": parts, "outcome": self.placeholders.to_placeholders(outcome)}
        append_whole(self.path, self._descriptor, _line(entry))

    def close(self) -> None:
        os.close(self._descriptor)


class CassetteReader:
    """Answers from a cassette. Holds digests and offsets only, and reads outcomes on demand."""

    def __init__(self, path: Path, tokens: Mapping[str, str]) -> None:
        """Raises UsageProblem naming a damaged line. An incomplete last line, left by a killed run, is ignored."""
        self.path = path
        self.placeholders = PathPlaceholders(tokens)
        recorded_settings(path)  # is it a cassette?
        self._places: dict[Key, dict[str, tuple[int, int]]] = {}
        self._parts: dict[Key, Parts] = {}
        with path.open("rb") as stream:
            self._read(stream)

    def _read(self, stream: BinaryIO) -> None:
        offset = len(stream.readline())
        for number, line in enumerate(stream, start=2):
            try:
                entry = parse_json(line)
                refuse_extremes(entry["parts"])
                key: Key = (str(entry["kind"]), str(entry["key"]))  # type: ignore[assignment]
                parts, outcome = entry["parts"], entry["outcome"]
                if not (isinstance(parts, dict) and isinstance(outcome, dict)):
                    raise TypeError
            except (ValueError, KeyError, TypeError) as problem:
                if not line.endswith(b"\n"):
                    break
                why = f" ({problem})" if type(problem) is ValueError else ""
                raise UsageProblem(
                    f"{self.path}, line {number}: this is not an exchange{why}; delete the line or record the cassette"
                    " again"
                ) from None
            # A case that was run again comes later in the file, and counts.
            self._places.setdefault(key, {})[digest(parts)] = (offset, len(line))
            self._parts[key] = parts
            offset += len(line)

    def find(self, key: Key, parts: Parts) -> Mapping[str, Any] | None:
        """The recorded outcome with real paths, or None. Raises ReplayMiss for one that cannot be used."""
        place = self._places.get(key, {}).get(digest(parts))
        if place is None:
            return None
        with self.path.open("rb") as stream:
            stream.seek(place[0])
            outcome = json.loads(stream.read(place[1]))["outcome"]
        try:
            refuse_extremes(outcome, deepest=_DEEPEST)
        except ValueError as problem:
            raise self.damaged(str(problem)) from None
        found: Mapping[str, Any] = self.placeholders.to_paths(outcome)
        return found

    def damaged(self, why: str) -> ReplayMiss:
        return ReplayMiss(f"the cassette {self.path} holds a damaged exchange ({why}); record it again")

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """What fails in here, where an outcome becomes a reply or result, is the outcome's fault: a ReplayMiss."""
        try:
            yield
        except KeyError as missing:
            raise self.damaged(f"it lacks {missing}") from None
        except (TypeError, AttributeError, ValueError, DataProblem) as problem:
            raise self.damaged(" ".join(str(problem).split())[:200]) from None
        except OSError as error:
            if error.errno not in (errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR):
                raise
            raise self.damaged(f"it has a file of an unusable name: {error.strerror}") from None

    def outcome(self, key: Key, parts: Parts, what: str) -> Mapping[str, Any]:
        """As ``find``. Where there is none, a ReplayMiss says which part of ``what`` differs from the recording."""
        outcome = self.find(key, parts)
        if outcome is None:
            raise ReplayMiss(
                f"the cassette {self.path} lacks {what}: {self._explain(key, parts)}; replay with the settings of the"
                " recording, or record again"
            )
        return outcome

    def _explain(self, key: Key, parts: Parts) -> str:
        known = self._parts.get(key)
        if known is None:
            return "nothing was recorded for it"
        for name, value in parts.items():
            if value == known.get(name):
                continue
            if isinstance(value, list) and isinstance(known.get(name), list):
                return _first_difference(name, known[name], value)
            return f"the {name} differ from the recorded ones"
        return "the recorded request has further parts"


def _first_difference(name: str, recorded: Sequence[Json], asked: Sequence[Json]) -> str:
    for number, (old, new) in enumerate(zip(recorded, asked, strict=False), start=1):
        if old != new:
            return f"number {number} of the {name} differs from the recorded one"
    return f"there are {len(asked)} {name}, and {len(recorded)} were recorded"
