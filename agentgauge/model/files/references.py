"""Local files in a message: found, read when they are sent, and compared by their content.

A request keeps the path of a file, so requests can be stored and compared; the client replaces it by what the endpoint
takes.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeGuard

from agentgauge.core.chat import LocalFile, Message

LARGEST = 50 << 20
"""Bytes. Endpoints take no larger file; ``instead`` is sent for one."""


RenderFile = Callable[[LocalFile, bytes], Awaitable[list[dict[str, Any]] | None]]
"""From a file and its content to the parts that present it, or None if it cannot be presented. Raises Fault."""


def is_file(part: object) -> TypeGuard[LocalFile]:
    return isinstance(part, Mapping) and part.get("type") == "local_file"


def holds_files(messages: Sequence[Message]) -> bool:
    return any(is_file(part) for message in messages for part in _parts(message))


async def with_files(messages: Sequence[Message], render: RenderFile, limit: int | None = None) -> tuple[Message, ...]:
    """The messages with every local file rendered, or with its ``instead`` where it is missing, too large or unusable.

    ``limit``: characters that all files of the request may take together, the first files first.
    """

    async def rendered(part: Any) -> list[dict[str, Any]] | None:
        content = await asyncio.to_thread(read_file, part["path"]) if is_file(part) else None
        return None if content is None else await render(part, content)

    left = float("inf") if limit is None else float(limit)
    result: list[Message] = []
    for message in messages:
        parts = _parts(message)
        content: list[Any] = []
        for part, files in zip(parts, await asyncio.gather(*map(rendered, parts)), strict=True):
            size = sum(map(_size, files or ()))
            if not is_file(part):
                content.append(part)
            elif files is not None and size <= left:
                left -= size
                content += files
            elif part["instead"]:
                content.append({"type": "text", "text": part["instead"]})
        result.append({**message, "content": content} if parts else message)
    return tuple(result)


def _size(value: object) -> int:
    """Characters of text in a part."""
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    return len(value) if isinstance(value, str) else 0


def by_content(message: Message) -> dict[str, Any]:
    """The message with the SHA-256 of each file in place of its path; empty for a file that could not be sent."""
    parts = _parts(message)
    if not any(map(is_file, parts)):
        return dict(message)
    return {**message, "content": [_named_by_content(part) if is_file(part) else part for part in parts]}


def read_file(path: str) -> bytes | None:
    """The content of a file; None if the file is missing, unreadable, not regular, empty or larger than ``LARGEST``."""
    try:
        with open(path, "rb", opener=_open_nonblocking) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return None
            content = stream.read(LARGEST + 1)
    except (OSError, ValueError):
        return None
    return content if 0 < len(content) <= LARGEST else None


def _open_nonblocking(path: str, flags: int) -> int:
    """A blocking open of a pipe would wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _named_by_content(part: LocalFile) -> dict[str, Any]:
    content = read_file(part["path"])
    rest = {key: value for key, value in part.items() if key != "path"}
    return rest if "stands_for" in rest else {**rest, "sha256": "" if content is None else digest(content)}


def _parts(message: Message) -> list[Any]:
    """The parts that may be files. A model's own are none: what it writes must not name a file of this machine."""
    content = message.get("content")
    return content if isinstance(content, list) and message.get("role") != "assistant" else []
