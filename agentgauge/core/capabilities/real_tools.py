"""Real tools, which a tool server runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from agentgauge.core.config import Config
from agentgauge.core.index import Index, Row
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from agentgauge.core.types import Json, Scoring


class OfferedTools(Protocol):
    """The tools of one call of an agent program."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    @property
    def files(self) -> Mapping[str, Path]:
        """File by the name that the agent's task uses."""

    async def call(self, name: str, arguments: Mapping[str, Any], /) -> Sequence[ToolOutput]:
        """Run a tool on arguments in the types of its inputs. Raises ToolError, ToolFault."""

    def refused(self, name: str, arguments: Mapping[str, Any], reason: str, /) -> None:
        """Log a call that does not reach ``call``."""


class ToolGateway(Protocol):
    """A server on this machine that offers agent programs tools by the Model Context Protocol."""

    url: str
    port: int

    def offer(self, offered: OfferedTools, token: str) -> None:
        """Offer tools to clients that have the token."""

    def close_session(self, token: str) -> None:
        """Refuse the token from now on, and cancel its calls."""

    async def close(self) -> None: ...


class RealTools(ABC):
    """Capability: the task's cases call tools of a tool server with ``case.use``."""

    @abstractmethod
    def tools_of(self, index: Index, row: Row) -> tuple[str, ...]:
        """Names of the real tools that a sample offers."""

    @abstractmethod
    def check_tools(
        self, names: Sequence[str], config: Config, *, scoring: Scoring, allow_unsafe: bool, server: str | None
    ) -> Mapping[str, Mapping[str, Json]]:
        """The identity of each tool of the run's own server, or of ``server``: its ``state`` (ready, basic, disabled,
        ``substitute: what``) and everything else that may change its answers. Empty if the server does not report it.

        Raises ToolUnavailable, and UsageProblem if a tool runs a model's code and this machine cannot confine it.
        """

    @abstractmethod
    def tool_server(self, config: Config, *, scoring: Scoring, allow_unsafe: bool) -> list[str]:
        """The command that starts a tool server. It listens on the socket of
        ``agentgauge.core.service_process.given_listener``, and prints that address as ``{"url": ...}`` when ready."""

    @abstractmethod
    def toolbox(self, url: str) -> ToolBox:
        """A client for a tool server."""

    async def gateway(self) -> ToolGateway | None:
        """A new server for agent programs; None where the tools are not offered by that protocol."""
        return None

    def prepare_check(self) -> None:  # noqa: B027 - there may be nothing to load
        """Load the modules that make ``check_tools`` slow, before the selected cases are known."""
