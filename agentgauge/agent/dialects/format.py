"""The dialect of a model family: from OpenAI's chat format to the family's, and from its text back to calls."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentgauge.core.chat import Message
from agentgauge.core.types import Json


class _Missing(str):
    """A text of its own."""


MISSING = _Missing()
"""The arguments of a call that has none at all, not even empty ones: in WildToolBench a wrong action."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call as the model wrote it. ``arguments`` is JSON text, as in OpenAI's format; not checked against anything."""

    name: str
    arguments: str

    @property
    def normal(self) -> ParsedCall:
        """The call with its arguments rewritten by ``as_json``, so that blanks and escapes do not differ."""
        return ParsedCall(self.name, as_json(value_of(self.arguments)))


def as_json(value: Json) -> str:
    """JSON as the published code wrote it: non-ASCII kept, a blank after commas and colons."""
    return json.dumps(value, ensure_ascii=False)


def value_of(text: str) -> Json:
    """Arguments as a value: decoded JSON, or the text where it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A parsed reply. If it has neither text nor calls, it could not be parsed, and benchmarks treat it as empty."""

    text: str | None
    calls: tuple[ParsedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderedRequest:
    """A request in the family's form."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()  # for the server's chat template; empty where the messages describe them
    template: Mapping[str, Json] = field(default_factory=dict)  # further arguments of that chat template
    raw: bool = True  # the server shall not look for calls in the reply
    refused: str = ""  # why the published server refused the request: it is not sent, and the task is wrong
    refusal: str = ""  # why a server may refuse it, as the published one did: the task is wrong then


class Format(ABC):
    """The dialect of a model family. It has no state; instances differ only in the wording of a prompt."""

    __slots__ = ()

    temperature: ClassVar[float | None] = None  # of the published runs; None: the server's default
    max_tokens: ClassVar[int | None] = None  # new tokens in the published runs; None: the server's limit
    all_tokens: ClassVar[int | None] = None  # of the request and the reply together in the published runs
    reads_text: ClassVar[bool] = True  # a text reply is read back as it is
    refusal: ClassVar[str] = "a reply that this syntax cannot hold"

    @abstractmethod
    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """A conversation and function tools in OpenAI's format, as the family reads them. Neither is changed.

        Messages may hold several tool messages after an assistant message, one for each call; arguments are JSON text.
        A family that takes one observation a step gathers them. Content may be None, and may be a list of parts: text
        parts are joined, others are left as they are where the family has chat messages.
        """

    @abstractmethod
    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """Parse a reply to a request that offered ``tools``, in OpenAI's format. Never raises.

        The rules are those of the published evaluation, quirks included. With ``tolerant``, what the model meant as a
        call is parsed as one, with text, thoughts in ``<think>`` tags and code fences around it and near misses of the
        syntax in it. What has no frame of the family is a call only of a tool on offer.
        """

    @abstractmethod
    def written(self, reply: ParsedReply) -> str:
        """The reply in the family's syntax, whether or not it can be read back."""

    def write(self, reply: ParsedReply) -> str:
        """The reply as a model of the family writes it, so that ``read`` returns the same reply.

        Raises ValueError if ``read`` would return another reply: for an argument that is no identifier in ToolACE's
        syntax, a second call in GLM-4's, most texts beside calls, and a text that has the form of a call.
        """
        text = self.written(reply)
        back = self.read(text, tolerant=False)
        lost = reply.text and (reply.calls or self.reads_text) and reply.text != back.text
        if lost or back.calls != tuple(call.normal for call in reply.calls):
            raise ValueError(f"{self.refusal}: {text}")
        return text
