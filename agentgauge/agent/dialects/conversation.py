"""Steps that several families apply to a conversation in OpenAI's format before they render it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentgauge.agent.dialects.format import ParsedCall, RenderedRequest, as_json, value_of
from agentgauge.core.chat import Message
from agentgauge.core.types import Json

DATE = "Current Date:"
"""A system message names the day after this mark (wild spec 3.3)."""

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
