"""The interface of a dialect: how tools are presented to a model, and how its calls are parsed.

A dialect keeps no state. ``native`` and ``react`` implement it, and ``family`` for the model families of ``dialects``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agentgauge.agent.actions import Action, Reading
from agentgauge.agent.dialects.format import RenderedRequest
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, Message, Sampling
from agentgauge.core.tools import Tool
from agentgauge.core.types import Json


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of one of the model's actions as the model sees it: a tool's result or an error."""

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
    """The result of the preceding call."""

    text: str


Past = PastText | PastCall | PastResult


class Dialect(Protocol):
    def request(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> RenderedRequest:
        """The request for a conversation, with the tools beside the messages or in the prompt."""

    def read(self, reply: ChatReply, tools: Mapping[str, Tool], turn: int) -> Reading:
        """The actions of a reply, given the offered ``tools``. A part that cannot be parsed is a CallError. ``turn`` is
        the number of the reply in its conversation; a call without an id gets its id from it.

        Raises ModelFault if the server has parsed calls out of a text that the dialect should parse.
        """

    def reply_messages(self, reply: ChatReply, reading: Reading) -> list[Message]:
        """The reply as messages of the conversation."""

    def result_messages(self, results: Sequence[ActionResult]) -> list[Message]:
        """The results of a reply's actions as messages of the conversation."""

    def note(self, text: str) -> Message:
        """A remark of the benchmark in the middle of a conversation."""

    def history(self, turns: Sequence[Past]) -> list[Message]:
        """The messages of a conversation that a sample gives."""


async def ask(case: Case, sent: RenderedRequest, usual: Sampling = Sampling()) -> ChatReply:  # noqa: B008 - frozen
    """Send a request to the model. Raises ModelFault."""
    return await case.ask(sent.messages, tools=sent.tools, raw=sent.raw, template=sent.template, usual=usual)
