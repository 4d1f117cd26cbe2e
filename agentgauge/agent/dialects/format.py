"""The dialect of a model family: from OpenAI's chat format to the family's, and from its text back to calls.

Beside the interface stand the steps that several families apply to a conversation before they render it, and the
dialogue as WildToolBench's first release has it. There each family keeps the dialogue itself: the gold of the earlier
tasks, and of the running task what the model wrote.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

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


Language = Literal["en", "zh"]

DATES = {"en": "Current Date:", "zh": "当前日期："}
"""What stands before the date; no blank follows."""

_SPEAKERS = {
    "en": (":", frozenset({"ai", "ai agent", "user", "ai agent assistant", "planner", "observation", "tool"})),
    "zh": ("：", frozenset({"用户", "AI Agent助手", "AI Agent", "Planner", "Observation", "Tool"})),
}
"""The colon behind a speaker's name, and the names: in any case in English, in this case in Chinese."""


@dataclass(frozen=True, slots=True)
class PublishedTurn:
    """What the user says, or what the assistant does, with the results of its calls."""

    role: Literal["user", "assistant"]
    text: str  # as the data has it, with the speaker's name; of the running task the text that was read
    calls: tuple[ParsedCall, ...] = ()
    results: tuple[Json, ...] = ()  # the recorded values; the j-th belongs to the j-th call
    written: str | None = None  # what the model wrote; None in the gold of earlier tasks


@dataclass(frozen=True, slots=True)
class PublishedDialogue:
    """One task of a session with the tasks before it."""

    history: tuple[PublishedTurn, ...]  # the gold of the earlier tasks; empty in the first
    task: tuple[PublishedTurn, ...]  # begins with what the user wants
    date: str  # 2024-05-20 09:12:44 Monday, the weekday in the language
    language: Language
    opened: tuple[int, str]  # the turn with the words that began the session, and the date of their task

    @property
    def dated(self) -> str:
        return DATES[self.language] + self.date

    @property
    def told(self) -> tuple[PublishedTurn, ...]:
        return (*self.history, *self.task)

    @property
    def asked(self) -> int:
        """Requests of this task before this one."""
        return sum(one.role == "assistant" for one in self.task)


@runtime_checkable
class Published(Protocol):
    """A family whose requests in the first release differ from those of ``Format.request``."""

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The request under parity. ``tools`` are those of the data, where a type may be ``float``."""


def unnamed(text: str, language: Language) -> str:
    """The text without its speaker's name; a blank behind the colon stays."""
    colon, names = _SPEAKERS[language]
    name, found, rest = text.partition(colon)
    return rest if found and (name.lower() if language == "en" else name) in names else text


def spoken(dialogue: PublishedDialogue, language: Language) -> list[PublishedTurn]:
    """The turns of families that take one result a step: without speakers' names, those of ``language`` at the
    beginning of the task and those of users behind it."""
    begun = len(dialogue.history) + 1
    opening = [replace(one, text=unnamed(one.text, language)) for one in dialogue.told[:begun]]
    rest = [replace(one, text=replied(one.text)) if one.role == "user" else one for one in dialogue.told[begun:]]
    return [*opening, *rest]


def dated_once(dialogue: PublishedDialogue, language: Language) -> list[PublishedTurn]:
    """The turns of ToolACE and xLAM-2. The date of the session's first task stays behind its words, unless these have
    one."""
    told = spoken(dialogue, language)
    place, date = dialogue.opened
    if not any(mark in told[place].text for mark in DATES.values()):
        told[place] = replace(told[place], text=f"{told[place].text}\n\n{DATES[dialogue.language]}{date}")
    return told


def replied(text: str) -> str:
    """The user's reply in a running task, of the families that take one result a step: without any "User:"."""
    return text.replace("用户：", "").replace("User:", "").strip()


def calling(told: PublishedTurn, content: str | None = "") -> Message:
    """Calls as a chat template takes them: arguments as values, and no ids, which the client adds for its endpoint.
    ``content`` None: the message has none."""
    calls = [{"type": "function", "function": _function(call)} for call in told.calls]
    return {"role": "assistant", **({} if content is None else {"content": content}), "tool_calls": calls}


def _function(call: ParsedCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": value_of(call.arguments)}


def listed(told: PublishedTurn) -> Message:
    """The results of a step as one unnamed list."""
    return {"role": "tool", "content": as_json(list(told.results))}


def named(told: PublishedTurn, *, reverse: bool = True) -> Iterator[Message]:
    """Each result of a running step in a message of its own, the last first."""
    pairs = list(zip(told.calls, told.results, strict=False))
    for call, result in reversed(pairs) if reverse else pairs:
        yield {"role": "tool", "name": call.name, "content": result if isinstance(result, str) else as_json(result)}


def named_list(told: PublishedTurn) -> list[dict[str, Json]]:
    """The results of a step with the names of their functions."""
    return [{"name": call.name, "results": result} for call, result in zip(told.calls, told.results, strict=False)]


DATE = "Current Date:"
"""A system message names the day after this mark (docs/benchmarks/wild.md#history)."""

_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message; an assistant's message has the results of its calls."""

    role: Literal["system", "user", "assistant"]
    text: str
    calls: tuple[ParsedCall, ...] = ()
    results: tuple[str, ...] = ()  # in the order of the calls; fewer where some are missing


def turns(messages: Sequence[Message]) -> list[Turn]:
    """The messages as turns: an assistant message and the tool messages after it are one turn. A tool message without a
    call becomes a user message."""
    found: list[Turn] = []
    for message in messages:
        role, content = message.get("role"), text_of(message)
        last = found[-1] if found else None
        if role == "tool" and last and len(last.results) < len(last.calls):
            found[-1] = Turn(last.role, last.text, last.calls, (*last.results, content))
        elif role == "assistant":
            functions = [call["function"] for call in message.get("tool_calls") or ()]
            found.append(Turn("assistant", content, tuple(ParsedCall(f["name"], f["arguments"]) for f in functions)))
        else:
            found.append(Turn("system" if role == "system" else "user", content))
    return found


def text_of(message: Message) -> str:
    """The content as text; of a list of parts the text parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in content or () if isinstance(part, Mapping))
    return "".join(part for part in parts if isinstance(part, str))


def split_date(messages: Sequence[Message]) -> tuple[list[Message], str]:
    """The messages without the date at the end of the first system message, and that date (empty if there is none).

    A system message that held nothing else is left out.
    """
    for place, message in enumerate(messages):
        before, mark, date = text_of(message).partition(DATE)
        if message.get("role") == "system" and mark:
            kept = [{**message, "content": before}] if before.strip() else []
            return [*messages[:place], *kept, *messages[place + 1 :]], date.strip()
    return list(messages), ""


def date_to_last_user(messages: Sequence[Message]) -> list[Message]:
    """The messages, with the date as the last line of the last user message, unless a user message has a date."""
    kept, date = split_date(messages)
    asked = [place for place, message in enumerate(kept) if message.get("role") == "user"]
    if not date or any(DATE in text_of(kept[place]) for place in asked):
        return kept
    if not asked:
        return [*kept, {"role": "user", "content": f"{DATE} {date}"}]
    last = kept[asked[-1]]
    kept[asked[-1]] = {**last, "content": f"{text_of(last)}\n{DATE} {date}"}
    return kept


def prompted(prompt: str, messages: Sequence[Message], render: Callable[[Turn], Iterable[Message]]) -> RenderedRequest:
    """A request with one system message, because chat templates take only one: a family's prompt, then the
    conversation's own system messages, which end in the date. ``render`` makes the messages of every other turn."""
    listed = turns(messages)
    sent = [message for turn in listed if turn.role != "system" for message in render(turn)]
    return RenderedRequest(({"role": "system", "content": "\n\n".join([prompt, *system_texts(listed)])}, *sent))


def system_texts(listed: Sequence[Turn]) -> list[str]:
    return [turn.text for turn in listed if turn.role == "system" and turn.text]


def split_question(messages: Sequence[Message]) -> tuple[str, str, list[Turn]]:
    """The system text, the last user message, and the other turns, for families that put all into one message."""
    listed = turns(messages)
    asked = next((turn for turn in reversed(listed) if turn.role == "user"), None)
    others = [turn for turn in listed if turn is not asked and turn.role != "system"]
    return "\n".join(system_texts(listed)), asked.text if asked else "", others


def functions(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The bare function objects of OpenAI's tools."""
    return [dict(tool["function"]) for tool in tools]


def result_of(text: str) -> Json:
    """A result as a JSON value if its text is exactly our JSON for that value; otherwise the text."""
    value = value_of(text)
    return value if as_json(value) == text else text


def call_objects(calls: Iterable[ParsedCall]) -> list[Json]:
    """Calls as most families write them: objects with a name and arguments."""
    return [{"name": call.name, "arguments": value_of(call.arguments)} for call in calls]


def call_of(value: object, *keys: str) -> ParsedCall | None:
    """The call in an object with a name. Its arguments are under the first of ``keys`` (``arguments``) that it has."""
    match value:
        case {"name": str(name), **rest}:
            for key in keys or ("arguments",):
                if key in rest:
                    given = rest[key]
                    return ParsedCall(name, given if isinstance(given, str) else as_json(given))
    return None


def using(names: Iterable[str]) -> str:
    """The text that the published runs put beside the calls of some families."""
    return f"use {', '.join(names)} to solve user problem"


def named_results(turn: Turn) -> list[dict[str, Json]]:
    """The results of a turn in one list, as ToolACE, Hammer and GLM-4 get them."""
    return [
        {"name": call.name, "results": result_of(result)}
        for call, result in zip(turn.calls, turn.results, strict=False)
    ]


def tool_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages, with the name of its function in each tool message."""
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call.get("id") or ""] = call["function"]["name"]
        name = names.get(message.get("tool_call_id") or "")
        yield {**message, "name": name} if message.get("role") == "tool" and name else message


def with_results(messages: Iterable[Message]) -> list[tuple[Message, list[Message]]]:
    """Each message with the tool messages directly after it. Tool messages come alone only at the beginning."""
    found: list[tuple[Message, list[Message]]] = []
    for message in messages:
        if found and message.get("role") == "tool":
            found[-1][1].append(message)
        else:
            found.append((message, []))
    return found


def fill(template: str, **slots: str) -> str:
    """A template with its slots filled. ``{name}`` is a slot only if it is one of ``slots``: other braces are text."""
    return _SLOT.sub(lambda found: slots.get(found[1], found[0]), template)
