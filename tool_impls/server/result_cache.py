"""Keeps results of pure tools by content, so that the same call is computed only once, in this run and later ones.

The server's parent process looks before it queues a call: a call with a stored result takes no slot, starts no worker
process and loads no model.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from agentgauge.core.errors import UsageProblem
from agentgauge.core.tools import FILE_TYPES, Tool
from tool_impls.naming import named_files
from tool_impls.server.call import Answer, Call
from tool_impls.server.result_store import ResultStore


class ResultCache:
    """Answers calls of pure tools from kept results. ``identities``: for each tool whose results may be kept,
    everything besides a call's arguments that determines them.
    """

    def __init__(
        self,
        store: ResultStore,
        identities: Mapping[str, Callable[[], str]],
        scratch: Path,
        counted: Callable[[str, str], None],
    ) -> None:
        """``scratch``: a result that names this folder is not kept. ``counted`` is called with a tool's name and
        ``hit`` or ``miss``."""
        self._store, self._identities, self._counted = store, identities, counted
        self._scratch = str(scratch).encode()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def answer(self, tool: Tool, call: Call, run: Callable[[], Awaitable[Answer | None]]) -> Answer | None:
        """The kept answer of a call, else the answer of ``run``. One of several equal concurrent calls runs, and the
        others wait for it.
        """
        key = await asyncio.to_thread(self._key, tool, call) if tool.name in self._identities else None
        if key is None:
            return await run()
        async with self._locks.setdefault(key, asyncio.Lock()):
            if kept := await asyncio.to_thread(self._store.find, key):
                self._counted(tool.name, "hit")
                return kept
            self._counted(tool.name, "miss")
            answer = await run()
            if answer is not None and self._may_be_kept(tool, answer):
                await asyncio.to_thread(self._store.keep, key, answer)
            return answer

    def _key(self, tool: Tool, call: Call) -> str | None:
        """None for a call whose result is not kept."""
        try:
            content = _content(tool, call)
            identity = self._identities[tool.name]()
        except (OSError, UsageProblem) as error:  # weights that cannot be read, no such device: the tool will say so
            self._store.log(f"results of {tool.name} are not kept: what they depend on cannot be told ({error})")
            return None
        if content is None:
            return None
        return hashlib.sha256(json.dumps([tool.name, identity, call.raw, content]).encode()).hexdigest()

    def _may_be_kept(self, tool: Tool, answer: Answer) -> bool:
        """A file within JSON, as clients of the original protocol get it, could hide this run's folder in base64."""
        hidden = not answer.raw and any(output.type in FILE_TYPES for output in tool.outputs)
        return answer.status == 200 and not hidden and self._scratch not in answer.body


def _content(tool: Tool, call: Call) -> dict[str, Any] | None:
    """The arguments, with digests in place of files; None where a text names a file that did not come with the call.

    Where a file lies is left out, since the tool gets a copy: its base name counts only where the tool sees it.
    """
    values = dict(call.values)
    for parameter in tool.inputs:
        name, value = parameter.name or "", values.get(parameter.name or "")
        if value is None:
            continue
        if parameter.type in FILE_TYPES:
            values[name] = _digest(value)
        elif parameter.attach:
            named = named_files(parameter, value)
            if not all(path in call.files for path in named):
                return None
            found = [[Path(call.files[path]).name, _digest(call.files[path])] for path in named]
            values[name] = found if parameter.attach == "file" else [value, found]
    return values


def _digest(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
