"""What a dialect is to an agent: how tools are put to a model, and how its calls are read back.

A dialect keeps no state. ``native`` and ``react`` implement it, and ``spoken`` for the model families of ``dialects``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agentgauge.agent.actions import Action, Reading
from agentgauge.agent.dialects.format import Sent
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, Message, Sampling
from agentgauge.core.tools import Tool
from agentgauge.core.types import Json


@dataclass(frozen=True, slots=True)
class Told:
    """What the model is told about one of its actions: a tool's result or an error."""

    action: Action
    text: str


@dataclass(frozen=True, slots=True)
class PastText:
    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class PastCall:
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class PastResult:
    """The result of the call before it."""

    text: str


Past = PastText | PastCall | PastResult


class Dialect(Protocol):
    def request(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> Sent:
        """What is sent of a conversation, and where the tools go: with the request, or into its prompt."""

    def read(self, reply: ChatReply, tools: Mapping[str, Tool], turn: int) -> Reading:
        """What a reply means where ``tools`` are on offer. What cannot be read is a CallError.

        Raises ModelFault only where the server has taken calls out of a text that it should have left alone.

        ``turn`` numbers the replies of a conversation, to name calls that came without an id.
        """

    def said(self, reply: ChatReply, reading: Reading) -> list[Message]:
        """The reply, as the conversation goes on with it."""

    def told(self, results: Sequence[Told]) -> list[Message]:
        """The results of a reply's actions, as the conversation goes on with them."""

    def note(self, text: str) -> Message:
        """A remark of the benchmark in the middle of a conversation."""

    def history(self, turns: Sequence[Past]) -> list[Message]:
        """A conversation that is given, not lived."""


async def ask(case: Case, sent: Sent, usual: Sampling = Sampling()) -> ChatReply:  # noqa: B008 - frozen
    """Put a request to the model. Raises ModelFault."""
    return await case.ask(sent.messages, tools=sent.tools, raw=sent.raw, template=sent.template, usual=usual)
