"""Asks a model what a small picture shows, to find out whether it sees pictures."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from dataclasses import dataclass

from agentgauge.core.chat import ChatModel, ChatRequest
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Usage
from agentgauge.model.wire import excerpt

NUMBER = "472"
"""What the picture shows."""

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
_DOT = 20  # pixels of a sign of ``_DRAWN``


@dataclass(frozen=True, slots=True)
class Sight:
    """What the probe found."""

    sees: bool | None  # None: the reply does not tell, such as an empty or a refused one
    why: str  # for a message, after the model's name; empty: it sees
    reply: str = ""  # to the picture
    usage: Usage = Usage()  # noqa: RUF009 - frozen


async def sees_pictures(model: ChatModel) -> Sight:
    """Whether a model sees pictures: one request; a second one, without the picture, if the endpoint refuses the first.

    Only a model that answers the question without the picture lacks the ability; raises ModelFault for an endpoint that
    answers neither.
    """
    picture = {"type": "image_url", "image_url": {"url": _as_url(drawn())}}
    asked = {"type": "text", "text": QUESTION}
    try:
        reply = await model.complete(ChatRequest(({"role": "user", "content": [asked, picture]},)))
    except ModelFault as fault:
        if not fault.cause.startswith(("http ", "failed")):
            raise  # no answer: nothing is known of pictures
        reply = await model.complete(ChatRequest(({"role": "user", "content": QUESTION},)))
        return Sight(False, f"takes no pictures ({fault})", usage=fault.usage + reply.usage)
    said = excerpt(reply.text)
    if re.search(r"(?<!\d)" + r"[\s,.*_`-]{0,3}".join(NUMBER) + r"(?!\d)", reply.text):
        return Sight(True, "", said, reply.usage)
    if not reply.text.strip():
        how = f"refused ({excerpt(reply.refusal)})" if reply.refusal else f"replied nothing ({reply.finish_reason})"
        return Sight(None, f"{how} when it was shown a picture of the number {NUMBER}", said, reply.usage)
    return Sight(False, f"replied {said!r} when it was shown a picture of the number {NUMBER}", said, reply.usage)


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
