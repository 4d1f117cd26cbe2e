"""What a dialect is: how tools are put to a model, and how its calls are read back.

A dialect keeps no state. ``native`` and ``react`` implement it; a benchmark chooses by name and may add its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from harness.agent.actions import Action, Reading
from harness.model.types import ChatReply, Message
from harness.tools import Tool
from harness.types import Json


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
    def offer(self, tools: Sequence[Tool]) -> tuple[Mapping[str, Any], ...]:
        """The function tools that go with a request; empty where the prompt describes the tools."""

    def opening(self, tools: Sequence[Tool]) -> list[Message]:
        """What a conversation begins with."""

    def read(self, reply: ChatReply, tools: Mapping[str, Tool], turn: int) -> Reading:
        """What a reply means where ``tools`` are on offer. Never raises: what cannot be read is a CallError.

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
