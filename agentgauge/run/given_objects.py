"""Objects of a project's own that its tests give to ``solve``: a model, or tools, with what theirs may lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.tools import Tool, ToolOutput


@dataclass
class GivenModel:
    """A ``ChatModel`` of an object with ``name`` and ``async complete(request)``. The object stays its owner's: it is
    not closed."""

    given: Any

    def __post_init__(self) -> None:
        self.name: str = self.given.name
        self.fingerprint: str = getattr(self.given, "fingerprint", "")
        self.reported: str | None = getattr(self.given, "reported", None)

    async def complete(self, request: ChatRequest) -> ChatReply:
        reply: ChatReply = await self.given.complete(request)
        return reply

    async def close(self) -> None: ...


@dataclass(frozen=True, repr=False)
class GivenTools:
    """A ``ToolBox`` of an object with ``async catalog()`` and ``async call()``. It is not closed either."""

    given: Any

    def __repr__(self) -> str:
        """What records note: the same in every process."""
        kind = type(self.given)
        return str(getattr(self.given, "name", f"{kind.__module__}.{kind.__qualname__}"))

    async def catalog(self) -> Mapping[str, Tool]:
        found: Mapping[str, Tool] = await self.given.catalog()
        return found

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        outputs: tuple[ToolOutput, ...] = await self.given.call(name, arguments, folder=folder, readable=readable)
        return outputs

    async def close(self) -> None: ...
