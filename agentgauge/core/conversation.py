"""What a model, its tools and a user said to each other: plain data, which is stored and scored again from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from agentgauge.core.chat import Message
from agentgauge.core.types import Json

Ended = Literal["answer", "call", "user", "turns"]
"""Why a conversation is over: the model answered, it called a tool that nobody runs, the user was content, or the
model has had all its turns."""


@dataclass(frozen=True, slots=True)
class ConversationCall:
    """A call that the tested model made."""

    name: str  # as the model wrote it
    arguments: Json  # an object; the raw text where it could not be read
    result: str | None = None  # what the model got to read; None: the call failed, or nobody runs the tool
    error: str | None = None  # what was wrong with the call, as the model got to read it


@dataclass(frozen=True, slots=True)
class Conversation:
    text: str  # of the tested model's last reply; empty where that made calls only
    calls: tuple[ConversationCall, ...] = ()  # of the tested model, in order
    turns: int = 1  # replies of the tested model
    ended: Ended = "answer"
    messages: tuple[Message, ...] = ()  # in OpenAI's form, whatever the dialect
    state: Json = None  # of the tools, when all was over

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "calls": [asdict(call) for call in self.calls], "messages": list(self.messages)}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Conversation:
        calls = tuple(ConversationCall(**call) for call in data["calls"])
        return Conversation(**{**data, "calls": calls, "messages": tuple(data["messages"])})


@dataclass(frozen=True)  # without slots: a class with slots has no SimulatedUser.stop
class SimulatedUser:
    """A model that plays the user of a conversation."""

    instructions: str  # who the user is and what the user wants, as the user is told it
    role: str = "user"  # the role whose option names the model: ``--user-model``
    stop: str = "###STOP###"  # what the user writes to end the conversation
