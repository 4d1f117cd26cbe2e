"""Tasks on which an agent program can be tested in the model's place."""

from __future__ import annotations

from abc import ABC, abstractmethod
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


class Agent(Protocol):
    """Starts the agent program on a task and returns its answer. Raises Fault."""

    async def __call__(self, case: Case, task: AgentTask, /) -> AgentAnswer: ...


class ExternalAgents(ABC):
    """Capability: an agent program can solve the task's samples in the model's place (``--agent``)."""

    @abstractmethod
    async def run_agent(self, case: Case, agent: Agent) -> Json:
        """Solve one sample with an agent. Returns the prediction that ``run`` would, so that ``score`` is the same.

        ``agent`` may be called several times: each call is a new process that knows only its own messages. A Fault is
        not caught here.
        """
