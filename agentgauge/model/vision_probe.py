"""Asks a model what a small picture shows, to find out whether it sees pictures."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from dataclasses import dataclass, replace

from agentgauge.core.chat import ChatModel, ChatRequest
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Usage
from agentgauge.model.wire import excerpt

NUMBER = "472"
"""What the picture shows."""

IN_TEXT = "815"
"""What the request without a picture says."""

QUESTION = "The picture shows a number of three digits, black on white. Which number? Reply with the digits only."

_DRAWN = (
    ".......................",
    "..#...#..#####..#####..",
    "..#...#......#......#..",
    "..#...#......#......#..",
    "..#####.....#...#####..",
    "......#....#....#......",
    "......#....#....#......",
    "......#....#....#####..",
    ".......................",
)
_CONTROL = ChatRequest(
    ({"role": "user", "content": f"The number is {IN_TEXT}. Which number? Reply with the digits only."},)
)
_DENIAL = re.compile(
    r"(?i)(?:\bno|n[o']t|unable to|without)\s+(?:\w+\s+){0,4}(?:see|view|look|open|display|image|picture|photo|attach)"
)
"""Words of a model that says that it sees nothing."""
_BUSY = frozenset(f"http {status}" for status in (401, 402, 403, 408, 409, 425, 429, 502, 503, 504, 529))
"""Causes of faults that have nothing to do with the picture."""
_DOT = 20  # pixels of a sign of ``_DRAWN``


@dataclass(frozen=True, slots=True)
class Sight:
    """What the probe found."""

    sees: bool | None  # None: the reply does not tell: it is empty, cut, refused, or in a form of the endpoint's own
    why: str  # for a message, after the model's name; empty: it sees
    model: str = ""  # its name as the endpoint reports it
    usage: Usage = Usage()  # noqa: RUF009 - frozen


async def sees_pictures(model: ChatModel) -> Sight:
    """Whether a model sees pictures: one request. If the endpoint refuses it, or the reply does not name what is shown,
    a second one follows that needs no eyes: only a model that answers this one lacks the ability.

    Raises ModelFault for an endpoint that answers neither.
    """
    picture = {"type": "image_url", "image_url": {"url": _as_url(drawn())}}
    asked = {"type": "text", "text": QUESTION}
    try:
        reply = await model.complete(ChatRequest(({"role": "user", "content": [asked, picture]},)))
    except ModelFault as fault:
        if fault.cause in _BUSY or not fault.cause.startswith(("http ", "failed")):
            raise
        control = await model.complete(_CONTROL)
        return Sight(False, f"takes no pictures ({fault})", control.model, fault.usage + control.usage)
    if _names(NUMBER, reply.text):
        return Sight(True, "", reply.model, reply.usage)
    shown = f"when it was shown a picture of the number {NUMBER}"
    if not reply.text.strip():
        how = f"refused ({excerpt(reply.refusal)})" if reply.refusal else f"replied nothing ({reply.finish_reason})"
        return Sight(None, f"{how} {shown}", reply.model, reply.usage)
    sight = Sight(None, f"replied {excerpt(reply.text)!r} {shown}", reply.model, reply.usage)
    if reply.finish_reason == "length" or _holds_object(reply.text):
        return sight
    if _DENIAL.search(reply.text):
        return replace(sight, sees=False)
    control = await model.complete(_CONTROL)
    sees = False if _names(IN_TEXT, control.text) else None
    return replace(sight, sees=sees, usage=sight.usage + control.usage)


def _names(number: str, text: str) -> bool:
    return re.search(r"(?<!\d)" + r"[\s,.*_`-]{0,3}".join(number) + r"(?!\d)", text) is not None


def _holds_object(text: str) -> bool:
    """Whether a reply has a JSON object: a model that is tuned as a judge, or bound to a schema, replies in its form
    whatever it is asked."""
    try:
        return isinstance(json.JSONDecoder().raw_decode(text, text.index("{"))[0], dict)
    except (ValueError, RecursionError):
        return False


def drawn() -> bytes:
    """The picture, as PNG."""
    dots = [bytes(0 if sign == "#" else 255 for sign in row for _ in range(_DOT)) for row in _DRAWN]
    lines = b"".join((b"\0" + row) * _DOT for row in dots)
    size = struct.pack(">IIBBBBB", len(dots[0]), len(dots) * _DOT, 8, 0, 0, 0, 0)  # 8 bits of grey
    chunks = ((b"IHDR", size), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _as_url(picture: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(picture).decode()
