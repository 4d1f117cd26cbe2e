"""Messages, requests and replies of a model; whole conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NotRequired, Protocol, TypedDict
from urllib.parse import quote, unquote

from agentgauge.core.reply_ends import is_filtered
from agentgauge.core.types import Json, Usage

# -- The interface between benchmarks and models: one request, one reply.


Message = Mapping[str, Any]
"""A chat message in the OpenAI wire form: role, content (text or parts), tool_calls, tool_call_id. A part may be a
LocalFile."""


class LocalFile(TypedDict):
    """A part of a message that shows the model a file of this machine. No endpoint gets it in this form.

    Requests hold the path, never the bytes. The client reads the file when it sends a request; a cassette compares
    content, name and the other fields, not the path.
    """

    type: Literal["local_file"]
    kind: Literal["image", "file"]  # image: PNG, JPEG, GIF or WebP, others as Pillow reads them; file: PDF
    path: str  # absolute; followed as it is, so links in an untrusted folder are the caller's concern
    name: str  # base name to show
    instead: str  # text to send where the file cannot be read, is damaged or is refused; empty: nothing
    # digest of what it was made of, where making it again gives other bytes: compared instead of these
    stands_for: NotRequired[str]


class MadeId(str):
    """The id of a call that no endpoint has given. Endpoints get another id in its place, which all of them accept."""


@dataclass(frozen=True, slots=True)
class CaseKey:
    """The case of a request, and the number of the request in it. Embedded models answer by it, and cassettes use it as
    a key; no endpoint gets it."""

    task: str
    sample: str
    attempt: int = 1
    turn: int = 0  # requests of this case before this one
    role: str = ""  # the option that names the model asked, where that is not the tested one

    @property
    def path(self) -> str:
        """``task/sample/attempt/turn``, each percent-encoded, and the role, if there is one."""
        words = (self.task, self.sample, self.attempt, self.turn, *filter(None, [self.role]))
        return "/".join(quote(str(word), safe="") for word in words)

    @staticmethod
    def of(path: str) -> CaseKey:
        """The case of a path. Raises ValueError for a text of another form."""
        task, sample, attempt, turn, *role = map(unquote, path.split("/"))
        return CaseKey(task, sample, int(attempt), int(turn), *role[:1])


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings of a benchmark's reference runs. The run's and the model's own settings override them."""

    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a model, in OpenAI's chat format."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()  # OpenAI function tools; empty: none offered
    raw: bool = False  # the tools are for the chat template only; the reply is wanted as the model wrote it
    template: Mapping[str, Any] = field(default_factory=dict)  # further arguments of the server's chat template
    temperature: float | None = None  # None: the benchmark's, or the endpoint's default
    max_tokens: int | None = None
    usual: Sampling = Sampling()
    seed: int | None = None
    repeated: bool = False  # the same request is drawn several times, so that draws need the seed to differ
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of a chat completion's body, such as ``tool_choice``; the Responses API does not get them."""
    case: CaseKey | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call in a model's reply. ``arguments`` is the raw text, which the dialect parses."""

    name: str
    arguments: str
    id: str = ""  # empty: the server gave none
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the call besides id and type; ``function`` holds those besides name and arguments. Some endpoints
    require that their fields are sent back, such as Gemini's signature."""

    def to_wire(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": self.arguments, **self.extra.get("function", {})}
        return {"id": self.id, "type": "function", **self.extra, "function": function}


def completed(arguments: str) -> str:
    """The arguments of a call; ``{}`` for an empty text or null, which endpoints send where there are none."""
    return "{}" if arguments.strip() in ("", "null") else arguments


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's reply to one request."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish_reason: str = "stop"  # as received
    usage: Usage = field(default_factory=Usage)
    reasoning: str | None = None  # what a thinking model's server gives apart from the text
    model: str = field(default="", compare=False)  # the model's name as the endpoint reports it; empty: it reports none
    received: Mapping[str, Any] | None = None
    """What ``message`` returns, where the other fields cannot express it: calls without ids, a null content. Its
    ``content`` is as it came, be it no text."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What else the endpoint's message holds, under the names that it came with: thinking, signatures. It is sent back
    with the message. Has ``content`` only where that came in parts that are not all texts."""
    max_tokens: int | None = field(default=None, compare=False)  # the limit that the request set; None: it set none
    observed: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What the answer shows of its endpoint, for the case's log: see agentgauge.model.observed."""
    cached: float | None = field(default=None, compare=False)
    """Of a reply from the folder of ``--cache``: the seconds that the endpoint took for it; None: it was asked now."""

    @property
    def message(self) -> dict[str, Any]:
        """The assistant message as the server sent it, fields that a server left out filled with null.

        Holds ``content``, ``reasoning_content`` unless that is null, ``tool_calls`` unless these are null, and
        ``extra``.
        """
        return {**self._plain, **self.extra}

    @property
    def _plain(self) -> dict[str, Any]:
        """The message without ``extra``: a content in parts is joined to one text, one of another kind is an empty
        text."""
        if self.received is not None:
            content = self.received.get("content")
            return {**self.received, "content": content if isinstance(content, str | None) else self.text}
        message: dict[str, Any] = {"content": self.text or (None if self.tool_calls else "")}
        if self.reasoning is not None:
            message["reasoning_content"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [call.to_wire() for call in self.tool_calls]
        return message

    @property
    def words(self) -> str:
        """The text, or the model's refusal. What a content filter says is no word of the model."""
        return self.text or (self.refusal if self.refusal and not is_filtered(self.finish_reason) else "")

    @property
    def content(self) -> str | None:
        """The text as the server sent it; None for a null content, which ``text`` reads as an empty one."""
        content: str | None = self._plain["content"]
        return content


def told(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """The messages with the text at the begin of their system message, which is added where there is none."""
    first, *rest = messages
    if first.get("role") in ("system", "developer") and isinstance(first.get("content"), str):
        return ({**first, "content": f"{text}\n\n{first['content']}"}, *rest)
    return ({"role": "system", "content": text}, *messages)


class ChatModel(Protocol):
    """A model that answers requests: the openai client, an embedded model, a cassette."""

    name: str
    fingerprint: str
    """The fingerprint of everything that may change a reply and is known without asking, the address included: with
    ``reported`` a key for replies that several runs use. Empty where it is not known."""
    reported: str | None  # the model's name as its endpoint reported it at the start; None: it was not asked

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Send a request. Raises ModelFault if the endpoint fails and retries do not help."""

    async def close(self) -> None: ...


# -- Conversations of a model, its tools and a user: plain data, which is stored and can be scored again.


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
    files: tuple[Path, ...] = ()  # that the tool made, in the order of the result, which names them


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
        calls = [{**asdict(call), "files": list(map(str, call.files))} for call in self.calls]
        return {**asdict(self), "calls": calls, "messages": list(self.messages)}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Conversation:
        given = ({**call, "files": tuple(map(Path, call.get("files", ())))} for call in data["calls"])  # of old: none
        calls = tuple(ConversationCall(**call) for call in given)
        return Conversation(**{**data, "calls": calls, "messages": tuple(data["messages"])})


@dataclass(frozen=True)  # without slots: a class with slots has no SimulatedUser.stop
class SimulatedUser:
    """A model that plays the user of a conversation."""

    instructions: str  # who the user is and what the user wants: the prompt of the user's model
    role: str = "user"  # the role whose option names the model: ``--user-model``
    stop: str = "###STOP###"  # what the user writes to end the conversation
