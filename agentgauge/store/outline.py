"""A case of a run in outline: how it ended, without its transcript, and where its record is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from struct import Struct
from sys import intern
from typing import Any

from agentgauge.core.types import Score, Status, Usage
from agentgauge.store.jsonl import Line, usage_of

TIMES = ("slots", "endpoint", "tools", "scoring")
"""What a case waited for: see Transcript."""


@dataclass(slots=True)
class CaseOutline:
    """A case in memory (0.4 KB). There may be hundreds of thousands of cases, so equal values are shared."""

    task: str
    sample: str
    attempt: int  # from 1
    status: Status
    tags: tuple[str, ...]
    score: Score | None  # without the explanation; None where it is broken or missing
    usage: Usage
    seconds: float
    finished: float  # seconds since the epoch; 0 for a case that is missing
    replies: Mapping[str, Any] = field(default_factory=dict)  # see agentgauge.core.reply_ends.count_replies
    observed: Mapping[str, Any] = field(default_factory=dict)  # see agentgauge.core.reply_ends.count_observed
    error: str | None = None
    cause: str | None = None
    packed_times: bytes = b""  # ``times``, in a third of their memory
    file: Path = field(default=Path(), compare=False)  # that holds its line
    start: int = -1  # of its line there, bytes; -1: there is none
    size: int = 0

    @property
    def id(self) -> tuple[str, str, int]:
        return (self.task, self.sample, self.attempt)

    @property
    def times(self) -> tuple[float, ...]:
        """Seconds of TIMES; empty for records of earlier versions."""
        return _PACKED.unpack(self.packed_times) if self.packed_times else ()

    @property
    def working(self) -> float:
        """Seconds without waiting for slots; of records of earlier versions, which lack the waits, all."""
        return self.seconds - self.times[0] if self.packed_times else self.seconds

    @property
    def rank(self) -> tuple[bool, float]:
        return (self.status in ("passed", "wrong"), self.finished)

    @classmethod
    def of(cls, data: Mapping[str, Any], file: Path, start: int, size: int) -> CaseOutline:
        """The outline of a record. ``data``: see ``outlined``."""
        line = Line.of(data, file, start, size)
        transcript, score = data["transcript"], data["score"]
        return cls(
            intern(data["task"]),
            data["sample"],
            data["attempt"],
            line.status,
            _tags(tuple(data.get("tags", ()))),
            _score(score) if score else None,
            usage_of(data) if transcript else _NOTHING,
            line.seconds,
            line.at,
            _shared(json.dumps(transcript.get("replies", {}))) if transcript else {},
            _shared(json.dumps(transcript.get("observed", {}))) if transcript else {},
            data["error"],
            data["cause"] and intern(data["cause"]),
            _packed(transcript.get("times") if transcript else None),
            file,
            start,
            size,
        )


_NOTHING = Usage()


_PACKED = Struct(f"{len(TIMES)}f")


def _packed(times: Mapping[str, float] | None) -> bytes:
    return _PACKED.pack(*(times.get(kind, 0.0) for kind in TIMES)) if times else b""


@lru_cache(maxsize=4096)
def _shared(text: str) -> Mapping[str, Any]:
    """Held once for all cases with the same counts."""
    counts: Mapping[str, Any] = json.loads(text)
    return counts


@lru_cache(maxsize=4096)
def _tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(intern, tags))


def _score(score: Mapping[str, Any]) -> Score:
    """Without its explanation."""
    values, labels = _values(json.dumps(score["values"])), _tags(tuple(score["labels"]))
    return Score(score["passed"], values, labels, group=score.get("group", ""), stops=score.get("stops", ""))


@lru_cache(maxsize=4096)
def _values(text: str) -> Mapping[str, float]:
    """Held once for all cases with the same. A text tells 1, 1.0 and True apart, which are equal as numbers."""
    return {intern(name): number for name, number in json.loads(text).items()}
