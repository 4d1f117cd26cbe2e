"""What tests give to ``solve``: the run's model and tools, or objects of a project's own, with what theirs may lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import UsageProblem
from agentgauge.core.tools import Tool, ToolOutput
from agentgauge.model.presets import resolve
from agentgauge.run.planned import OWN, Given
from agentgauge.run.settings import Settings


@dataclass(frozen=True, repr=False, eq=False)
class Model:
    """The run's model, or one made of it for some tests."""

    settings: Settings
    name: str
    given: Given = OWN

    def __repr__(self) -> str:
        return f"<model {self.name}{', told something first' if self.given.system else ''}>"

    def with_system(self, text: str) -> Self:
        """This model, told a text before every conversation. Raises UsageProblem for what is no text."""
        if not isinstance(text, str):
            raise UsageProblem(f"with_system got {text!r}; give a text, such as 'Answer briefly.'")
        system = "\n\n".join(filter(None, (text, self.given.system)))
        return replace(self, given=replace(self.given, system=system))

    def named(self, name: str, url: str | None = None) -> Self:
        """Another model in its place: a name as --model takes it, and an address as --model-url does. Raises
        UsageProblem."""
        asks = self.settings.spec is not None  # a replayed or rescored run needs no key
        spec = resolve(name, url=url, config=self.settings.file, need_key=asks)
        return replace(self, name=name, given=replace(self.given, spec=spec))


class Tools:
    """The run's tools."""


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
