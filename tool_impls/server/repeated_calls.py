"""Equal calls of deterministic tools: the first is made, and its answer is kept for the others, also of later runs.

A tool is deterministic where its server says so: its entry in ``/tools`` has the key REPEATABLE, a text that stands for
everything besides the arguments of a call that determines a result. Two calls are equal if that, the tool's name, the
arguments and the bytes of the files are.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from agentgauge.core.text import parse_json
from agentgauge.core.tools import MOST_SECONDS, ResultStore, Tool
from agentgauge.core.types import Json
from tool_impls.base import REPEATABLE
from tool_impls.server import protocol

Answer = tuple[int, str, bytes, str, Mapping[str, str]]
"""Status, reason, body, content type and headers."""


class RepeatedCalls:
    """Belongs to one event loop. ``tools`` requests ``/tools`` of the server."""

    def __init__(self, results: ResultStore, tools: Callable[[], Awaitable[Answer]]) -> None:
        self._results = results
        self._tools = tools
        self._identities: Mapping[str, str] | None = None  # deterministic tool → what its server says of it
        self._asking = asyncio.Lock()
        self._called: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by key

    async def answer(
        self,
        tool: Tool,
        values: Mapping[str, str | bytes],
        files: Mapping[str, bytes],
        send: Callable[[], Awaitable[Answer]],
    ) -> tuple[Answer, float | None]:
        """The kept answer of an equal call and the seconds that it took, else that of ``send`` and None. A call waits
        for an equal one that is being made. ``values``, ``files``: see ``encode_call``."""
        identity = (await self._known()).get(tool.name)
        if identity is None:
            return await send(), None
        content = await asyncio.to_thread(_content, tool, values, files)
        key = self._results.key_of(["result", tool.name, identity, content])
        async with self._called.setdefault(key, asyncio.Lock()):
            if kept := _kept(await asyncio.to_thread(self._results.find, key)):
                return kept
            began = time.monotonic()
            answer = await send()
            if answer[0] == 200:  # an error may be this machine's: a time-out, too little memory
                outcome = _outcome(answer, time.monotonic() - began)
                await asyncio.to_thread(self._results.keep, key, outcome, {"tool": tool.name})
            return answer, None

    async def _known(self) -> Mapping[str, str]:
        """Empty where the server does not tell it: it is not ours, or older."""
        async with self._asking:
            if self._identities is None:
                status, _, body, *_ = await self._tools()
                try:
                    told = parse_json(body) if status == 200 else {}
                    found = {name: tool.get(REPEATABLE) for name, tool in told.items()}
                except (ValueError, AttributeError):
                    found = {}
                self._identities = {name: text for name, text in found.items() if text and isinstance(text, str)}
            return self._identities


def _content(tool: Tool, values: Mapping[str, str | bytes], files: Mapping[str, bytes]) -> Json:
    """What a call says: digests in place of files. Where a file lies is left out, because the tool gets a copy; its
    base name counts where the tool sees it."""
    said: dict[str, Json] = {}
    others = dict(files)
    attached = {parameter.name for parameter in tool.inputs if parameter.attach == "file"}
    for name, value in values.items():
        if isinstance(value, bytes):
            said[name] = _digest(value)
        elif name in attached and value in files:
            said[name] = [Path(value).name, _digest(files[value])]
            others.pop(value, None)
        else:
            said[name] = value
    return [said, {path: _digest(content) for path, content in others.items()}]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _outcome(answer: Answer, seconds: float) -> dict[str, Json]:
    """An answer with status 200 as JSON. Text stays text, so that no secret hides in it."""
    _, _, body, kind, headers = answer
    told = {name: headers[name] for name in (protocol.NAMES_HEADER, protocol.NOTE_HEADER) if name in headers}
    try:
        content = {"text": body.decode()}
    except UnicodeDecodeError:
        content = {"data": base64.b64encode(body).decode("ascii")}
    return {**content, "kind": kind, "headers": told, "seconds": round(seconds, 6)}


def _kept(outcome: Mapping[str, Any] | None) -> tuple[Answer, float] | None:
    """An answer that was kept, and its seconds; None where there is none, or a damaged one."""
    try:
        found = outcome or {}
        body = found["text"].encode() if "text" in found else base64.b64decode(found["data"], validate=True)
        headers = {str(name): str(value) for name, value in found["headers"].items()}
        seconds = float(found["seconds"])
        return ((200, "OK", body, str(found["kind"]), headers), seconds) if 0 <= seconds <= MOST_SECONDS else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
