"""The seam between benchmarks and models: one request, one reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, Protocol, TypedDict

from harness.types import Usage

Message = Mapping[str, Any]
"""A chat message in the OpenAI wire form: role, content (text or parts), tool_calls, tool_call_id. A part may be a LocalFile."""


class LocalFile(TypedDict):
    """A part of a message that shows the model a file of this machine. Our own: no endpoint ever gets it in this form.

    Requests hold the path, never the bytes. Whoever sends a request reads the file then; a cassette compares content, name
    and the other fields, not the path.
    """

    type: Literal["local_file"]
    kind: Literal["image", "file"]  # image: PNG, JPEG, GIF or WebP, others as Pillow reads them; file: PDF
    path: str  # absolute; followed as it is, so links in an untrusted folder are the caller's concern
    name: str  # base name to show
    instead: str  # text to send where the file cannot be read, is damaged or is refused; empty: nothing
    stands_for: NotRequired[str]  # digest of what it was made of, where making it again gives other bytes: compared instead of these


@dataclass(frozen=True, slots=True)
class CaseKey:
    """Which request of which case this is. Sent to embedded models and used as a key by cassettes; never sent elsewhere."""

    task: str
    sample: str
    attempt: int = 1
    turn: int = 0  # requests of this case before this one
    part: str = ""  # the option that names the model asked, where it is not the one that is tested


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a benchmark's reference asks; used where neither the run nor the model's entry says otherwise."""

    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()  # OpenAI function tools; empty: none offered
    raw: bool = False  # the tools are for the chat template only; the reply is wanted as the model wrote it
    template: Mapping[str, Any] = field(default_factory=dict)  # further arguments of the server's chat template
    temperature: float | None = None  # None: the benchmark's, or the endpoint's default
    max_tokens: int | None = None
    usual: Sampling = Sampling()
    seed: int | None = None
    stop: tuple[str, ...] = ()
    case: CaseKey | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for. ``arguments`` is the raw text: reading it is the dialect's business."""

    name: str
    arguments: str
    id: str = ""
    flaw: Literal["", "id", "function", "name", "arguments", "object"] = ""
    """What a server left out, which is made up here: ``object`` are arguments that came as one instead of as text."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    reasoning: str | None = None  # what a thinking model's server gives apart from the text


class ChatModel(Protocol):
    """A model that can be asked. Implementations: the openai client, embedded models behind it, cassettes."""

    name: str
    fingerprint: str  # of everything about the model that may change a reply; empty where that is not known

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Raises ModelFault when the endpoint fails in a way that retrying does not mend."""

    async def close(self) -> None: ...
