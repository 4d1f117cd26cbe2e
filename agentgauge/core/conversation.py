"""Conversations of a model, its tools and a user: plain data, which is stored and can be scored again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from agentgauge.core.chat import Message
from agentgauge.core.types import Json

Ended = Literal["answer", "call", "user", "turns"]
"""Why a conversation ended: the model answered, it called a tool that AgentGauge does not run, the user sent the stop
text, or the model used all its turns."""


@dataclass(frozen=True, slots=True)
class ConversationCall:
    """A call that the tested model made."""

    name: str  # as the model wrote it
    arguments: Json  # an object; the raw text where it could not be read
    result: str | None = None  # as returned to the model; None: the call failed, or the tool is not run
    error: str | None = None  # what was wrong with the call, as returned to the model


@dataclass(frozen=True, slots=True)
class Conversation:
    """A finished conversation of the tested model: its text, its calls, all messages, and the tools' final state."""

    text: str  # of the tested model's last reply; empty where that made calls only
    calls: tuple[ConversationCall, ...] = ()  # of the tested model, in order
    turns: int = 1  # replies of the tested model
    ended: Ended = "answer"
    messages: tuple[Message, ...] = ()  # in OpenAI's form, whatever the dialect
    state: Json = None  # of the tools, at the end

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "calls": [asdict(call) for call in self.calls], "messages": list(self.messages)}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Conversation:
        calls = tuple(ConversationCall(**call) for call in data["calls"])
        return Conversation(**{**data, "calls": calls, "messages": tuple(data["messages"])})


@dataclass(frozen=True)  # without slots: a class with slots has no SimulatedUser.stop
class SimulatedUser:
    """A model that plays the user of a conversation."""

    instructions: str  # who the user is and what the user wants: the prompt of the user's model
    role: str = "user"  # the role whose option names the model: ``--user-model``
    stop: str = "###STOP###"  # what the user writes to end the conversation
