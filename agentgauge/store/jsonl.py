"""Records as lines of JSON: how they are written, and what is read of them without what was said."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from struct import Struct
from sys import intern
from typing import Any

from agentgauge.core.files import LONGEST, TOO_LONG
from agentgauge.core.redaction import dumps
from agentgauge.core.reply_ends import count_from_hooks, count_observed, count_replies
from agentgauge.core.types import Json, Record, Score, Status, Usage

# -- A record as one line of JSON: how it is written, and how much of it is read.
#
# ``transcript`` is the last field of a line, and ``output`` and ``events`` are the last fields of it. So all else can
# be read without decoding these two, which are most of a line; ``replies``, ``observed`` and ``from_hooks`` of the
# transcript count what the events say of the model's replies, of their endpoints and of hooks
# (agentgauge.core.reply_ends). Where they are long they are compressed and replaced by ``zstd``, the base64 of a
# Zstandard frame of ``{"output", "events"}``. Lines of another layout, which older versions wrote, are decoded in
# full.


LONG = 4096
"""Lines of at least so many bytes are compressed: to a third, from 16 KiB on to a sixth. Few shorter lines would shrink
to half."""

LEVEL = 3
"""Zstandard's default. Level 9 saves another 10 % and takes four times as long."""

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
CaseId = tuple[str, str, int]
"""Task, sample id, attempt from 1."""

UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
"""The exceptions of reading JSON whose form is not checked."""

_TRANSCRIPT, _LAST, _OUTPUT = b',"transcript":{"usage":', b'"seed":', b',"output":'


@dataclass(frozen=True, slots=True)
class Line:
    """The location of a record. It replaces the record in memory, because a record with its transcript takes some tens
    of KB.
    """

    file: Path
    start: int  # bytes
    size: int
    status: Status
    at: float  # seconds since the epoch
    tokens: int = 0  # of prompts and completions together, without those of cached requests
    usd: float = 0.0
    seconds: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether the case has an answer, right or wrong."""
        return self.status in ("passed", "wrong")

    @property
    def rank(self) -> tuple[bool, float]:
        return (self.finished, self.at)

    @classmethod
    def of(cls, data: Mapping[str, Any], file: Path, start: int, size: int) -> Line:
        """The location and status of a record. ``data``: see ``outlined``."""
        usage, seconds = usage_of(data), data["transcript"]["seconds"] if data["transcript"] else 0.0
        status: Status = intern(data["status"])  # type: ignore[assignment]
        return cls(file, start, size, status, data["finished"], usage.paid_tokens, usage.usd, seconds)

    def raw(self) -> bytes:
        descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(descriptor, self.size, self.start)
        finally:
            os.close(descriptor)

    def read(self) -> Record:
        return decoded(self.raw())

    def given(self) -> Mapping[str, str]:
        """See ``Record.given``. Does not decode the transcript."""
        found: Mapping[str, str] = outlined(self.raw()).get("given", {})
        return found

    def explanation(self) -> str | None:
        """The explanation of the score; None without a score. Does not decode the transcript."""
        score = outlined(self.raw())["score"]
        return score["explanation"] if score else None


def encoded_line(record: Record) -> bytes:
    """Equal records give equal bytes, without secrets. A lone surrogate, which a model may write, stays an escape.

    Raises ValueError for a record that is too long to be read again.
    """
    data = record.to_json()
    if record.transcript:
        counts = {
            "replies": count_replies(record.transcript.events),
            "observed": count_observed(record.transcript.events),
            "from_hooks": count_from_hooks(record.transcript.events),
        }
        counted = {name: found for name, found in counts.items() if found}
        data["transcript"] = {"usage": data["transcript"]["usage"], **counted, **data["transcript"]}
    line = dumps(data, _JSON).encode("utf-8", "backslashreplace") + b"\n"
    if len(line) > LONGEST:
        raise ValueError(f"it is {TOO_LONG}")
    return line if len(line) < LONG else _compressed(line)


def _compressed(line: bytes) -> bytes:
    """The line with ``output`` and ``events`` compressed; unchanged where that saves less than half."""
    begin = line.find(_TRANSCRIPT)
    if begin < 0:
        return line
    import zstandard

    cut = line.find(_OUTPUT, begin)
    content = b"{" + line[cut + 1 : -3] + b"}"  # without the braces that end transcript and record, and the line's end
    packed = base64.b64encode(zstandard.ZstdCompressor(level=LEVEL).compress(content))
    return line if 2 * len(packed) > len(content) else b'%b,"zstd":"%b"}}\n' % (line[:cut], packed)


def plain(data: Mapping[str, Json]) -> dict[str, Json]:
    """A line's JSON with ``output`` and ``events`` in the transcript, whether it was compressed or not. Raises
    ValueError."""
    from agentgauge.store import checked

    transcript = data.get("transcript")
    if not transcript or "zstd" not in transcript:
        return dict(data)
    rest = {name: value for name, value in transcript.items() if name != "zstd"}
    content = checked.decoded(_decompressed(transcript["zstd"]))
    if not isinstance(content, dict):
        raise ValueError("a compressed transcript holds no object")
    return {**data, "transcript": {**rest, **content}}


def _decompressed(packed: Json) -> bytes:
    import zstandard

    try:
        frame = base64.b64decode(packed)
        if not 0 <= (size := zstandard.frame_content_size(frame)) <= LONGEST:
            raise ValueError(f"a compressed transcript is {TOO_LONG}" if size > 0 else "a transcript has no length")
        return zstandard.ZstdDecompressor().decompress(frame)
    except (zstandard.ZstdError, TypeError) as error:
        raise ValueError(f"a compressed transcript cannot be read: {error}") from None


def decoded(line: bytes) -> Record:
    """The record in a line. Raises ValueError for a line that holds no record."""
    from agentgauge.store import checked

    data = checked.decoded(line)
    checked.outline(data)
    return checked.record(plain(data))


def outlined(line: bytes) -> dict[str, Any]:
    """A record without ``output`` and ``events``, checked: they are not decoded where the line can be cut before them.
    Raises ValueError."""
    from agentgauge.store import checked

    begin = line.find(_TRANSCRIPT)  # in no text: there a quotation mark has a backslash before it
    if begin >= 0:
        cut = line.find(b",", line.find(_LAST, begin))
        try:
            head = json.loads(line[:cut].decode() + "}}")
        except (ValueError, RecursionError):  # another layout, which has these bytes further inside
            pass
        else:
            return checked.outline(head)
    return checked.outline(checked.decoded(line))


def usage_of(data: Mapping[str, Any]) -> Usage:
    """The usage of a record. ``data``: see ``outlined``."""
    return Usage(**data["transcript"]["usage"]) if data["transcript"] else Usage()


# -- A case of a run in outline: how it ended, without its transcript, and where its record is.


TIMES = ("slots", "endpoint", "tools", "scoring", "cached")
"""What a case waited for, and what cached answers did take: see Transcript."""


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
    given: Mapping[str, str] = field(default_factory=dict)  # see ``Record.given``
    from_hooks: Mapping[str, int] = field(default_factory=dict)  # plugin → what its hooks answered
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
    def is_cached(self) -> bool:
        """Whether it had replies or results from a cache: its seconds are none of the model and the tools."""
        return bool(self.packed_times) and self.times[TIMES.index("cached")] > 0

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
            _shared(json.dumps(data.get("given", {}))),
            _shared(json.dumps(transcript.get("from_hooks", {}))) if transcript else {},
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
