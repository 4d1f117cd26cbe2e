"""Agent programs, which are tested in the model's place: what one is given, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, Message
from agentgauge.core.tools import Tool, ToolOutput
from agentgauge.core.types import Json


@dataclass(frozen=True, slots=True)
class AgentTask:
    """The task of an agent program."""

    messages: Sequence[Message]  # OpenAI's chat form, the last one is the user's
    files: Sequence[Path] = ()  # absolute; the agent may read them where they are
    tools: Mapping[str, Tool] = field(default_factory=dict)  # real tools, which the tool server runs for it
    functions: Sequence[Mapping[str, Any]] = ()  # OpenAI's function tools; they are never run: the answer states calls


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a real tool by an agent program."""

    name: str
    arguments: Json  # the object, or the raw text where it could not be read
    outputs: tuple[ToolOutput, ...] | None  # None: the call failed
    problem: Literal["", "ARGS_ERROR", "API_ERROR"] = ""
    message: str = ""  # why the call failed, in the words that the agent got


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The answer of an agent program."""

    reply: ChatReply  # its text, or the calls of functions that it states; no text: it gave no answer
    uses: tuple[ToolUse, ...] = ()  # its calls of real tools, in order
    was_asked: bool = True  # False: it answered the user's first turn earlier, and never got this one


class Agent(Protocol):
    """Starts the agent program on a task and returns its answer. Raises Fault."""

    async def __call__(self, case: Case, task: AgentTask, /) -> AgentAnswer: ...


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
