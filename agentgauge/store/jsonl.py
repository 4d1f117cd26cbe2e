"""A record as one line of JSON: how it is written, and how much of it is read.

``transcript`` is the last field of a line, and ``output`` and ``events`` are the last fields of it. So all else can be
read without decoding these two, which are most of a line; ``replies`` and ``observed`` of the transcript count what the
events say of the model's replies and of their endpoints (agentgauge.core.reply_ends, agentgauge.core.reply_ends).
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

from agentgauge.core.files import LONGEST, TOO_LONG
from agentgauge.core.redaction import dumps
from agentgauge.core.reply_ends import count_observed, count_replies
from agentgauge.core.types import Json, Record, Status, Usage

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
        """The location and status of a record. ``data``: see ``outlined``."""
        usage, seconds = usage_of(data), data["transcript"]["seconds"] if data["transcript"] else 0.0
        tokens = usage.prompt_tokens + usage.completion_tokens
        status: Status = intern(data["status"])  # type: ignore[assignment]
        return cls(file, start, size, status, data["finished"], tokens, usage.usd, seconds)

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
    """Equal records give equal bytes, without secrets. A lone surrogate, which a model may write, stays an escape.

    Raises ValueError for a record that is too long to be read again.
    """
    data = record.to_json()
    if record.transcript:
        counts = {
            "replies": count_replies(record.transcript.events),
            "observed": count_observed(record.transcript.events),
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
