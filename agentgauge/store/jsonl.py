"""A record as one line of JSON: how it is written, and how much of it is read.

``transcript`` is the last field of a line, and ``output`` and ``events`` are the last fields of it. So all else can be
read without decoding these two, which are most of a line; ``replies`` and ``observed`` of the transcript count what the
events say of the model's replies and of their endpoints (agentgauge.core.reply_ends, agentgauge.core.observations).
Where they are long they are compressed and replaced by ``zstd``, the base64 of a Zstandard frame of
``{"output", "events"}``. Lines of another layout, which older versions wrote, are decoded in full.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any

from agentgauge.core.observations import count_observed
from agentgauge.core.redaction import dumps
from agentgauge.core.reply_ends import count_replies
from agentgauge.core.types import STATUSES, Json, Record, Status

LONG = 4096
"""Lines of at least so many bytes are compressed: to a third, from 16 KiB on to a sixth. Few shorter lines would shrink
to half."""

LEVEL = 3
"""Zstandard's default. Level 9 saves another 10 % and takes four times as long."""

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
CaseId = tuple[str, str, int]
"""Task, sample id, attempt from 1."""

UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
"""The exceptions of reading a line that is not a record, or that is nested too deep for Python's JSON reader."""

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
    tokens: int = 0  # of prompts and completions together
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
        """The location and status of a record. ``data``: see ``outlined``. Raises one of UNREADABLE if that is no
        record.
        """
        transcript = data["transcript"] or {}
        usage, seconds = transcript.get("usage", {}), transcript.get("seconds", 0.0)
        tokens = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
        status: Status = intern(data["status"])  # type: ignore[assignment]
        finished = data["finished"]
        named = type(data["sample"]) is str and type(data["attempt"]) is int
        if status not in STATUSES or not named or finished != float(finished):
            raise ValueError("a record needs a known status, a sample's id, an attempt and the time of its end")
        return cls(file, start, size, status, finished, tokens, usage.get("usd", 0.0), seconds)

    def raw(self) -> bytes:
        descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(descriptor, self.size, self.start)
        finally:
            os.close(descriptor)

    def read(self) -> Record:
        return decoded(self.raw())

    def explanation(self) -> str | None:
        """The explanation of the score; None without a score. Does not decode the transcript."""
        score = outlined(self.raw())["score"]
        return score["explanation"] if score else None


def encoded_line(record: Record) -> bytes:
    """Equal records give equal bytes, without secrets. A lone surrogate, which a model may write, stays an escape."""
    data = record.to_json()
    if record.transcript:
        counts = {
            "replies": count_replies(record.transcript.events),
            "observed": count_observed(record.transcript.events),
        }
        counted = {name: found for name, found in counts.items() if found}
        data["transcript"] = {"usage": data["transcript"]["usage"], **counted, **data["transcript"]}
    line = dumps(data, _JSON).encode("utf-8", "backslashreplace") + b"\n"
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
    transcript = data.get("transcript")
    if not transcript or "zstd" not in transcript:
        return dict(data)
    import zstandard

    rest = {name: value for name, value in transcript.items() if name != "zstd"}
    try:
        content = zstandard.ZstdDecompressor().decompress(base64.b64decode(transcript["zstd"]))
    except zstandard.ZstdError as error:
        raise ValueError(f"a compressed transcript cannot be read: {error}") from None
    return {**data, "transcript": {**rest, **json.loads(content)}}


def decoded(line: bytes) -> Record:
    """The record in a line. Raises ValueError, KeyError or TypeError for a line that holds no record."""
    return Record.from_json(plain(json.loads(line)))


def outlined(line: bytes) -> dict[str, Any]:
    """A line's JSON, without ``output`` and ``events`` where the line can be cut before them. Raises ValueError."""
    begin = line.find(_TRANSCRIPT)  # in no text: there a quotation mark has a backslash before it
    if begin >= 0:
        cut = line.find(b",", line.find(_LAST, begin))
        try:
            return dict(json.loads(line[:cut].decode() + "}}"))
        except ValueError:  # another layout, which has these bytes further inside
            pass
    return dict(json.loads(line))
