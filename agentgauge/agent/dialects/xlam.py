"""xLAM 1 and xLAM-2: calls in JSON (wild spec 8)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import (
    Turn,
    call_objects,
    call_of,
    date_to_last_user,
    fill,
    functions,
    result_of,
    split_question,
    text_of,
    tool_messages,
    using,
    with_results,
)
from agentgauge.agent.dialects.format import (
    MISSING,
    Format,
    ParsedCall,
    ParsedReply,
    RenderedRequest,
    as_json,
    value_of,
)
from agentgauge.agent.dialects.frames import JSON_LIST, JSON_TOOL_CALLS
from agentgauge.agent.dialects.lenient import read_leniently
from agentgauge.agent.dialects.published import Dialogue, Told, calling, dated_once, listed, spoken
from agentgauge.core.chat import Message
from agentgauge.core.types import Json

_REFUSAL = "a reply that xLAM's syntax cannot hold"

_PROMPT = """\
{system}[BEGIN OF TASK INSTRUCTION]
You solve what a user asks by composing calls of functions. From the question and the functions on offer you work out \
one call, or
several. Say so where no function fits, and where the question leaves out what a parameter needs.
[END OF TASK INSTRUCTION]

[BEGIN OF AVAILABLE TOOLS]
{tools}
[END OF AVAILABLE TOOLS]

[BEGIN OF FORMAT INSTRUCTION]
The reply is one JSON object of this form and nothing else; the list is empty if no call is needed:
{"tool_calls": [{"name": "name of a function", "arguments": {"parameter": "value"}}]}
[END OF FORMAT INSTRUCTION]

[BEGIN OF QUERY]
{query}
[END OF QUERY]

{history}"""

_HISTORY = """\
[BEGIN OF HISTORY STEPS]
{steps}
[END OF HISTORY STEPS]

"""


@dataclass(frozen=True, slots=True)
class Xlam(Format):
    """xLAM 1: one user message of marked sections; a JSON object with the calls.

    The slots of the prompt are ``system``, ``tools``, ``query`` and ``history``.
    """

    temperature: ClassVar[float | None] = 0.0
    max_tokens: ClassVar[int | None] = 512
    refusal: ClassVar[str] = _REFUSAL

    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The query is the last user message; everything else is history. The date stands with the system text, in
        front."""
        system, question, history = split_question(messages)
        steps = _steps(history)
        content = fill(
            self.prompt,
            system=f"{system}\n\n" if system else "",
            tools=as_json([_tool(function) for function in functions(tools)]),
            query=question,
            history=fill(_HISTORY, steps=as_json(steps)) if steps else "",
        )
        return RenderedRequest(({"role": "user", "content": content},))

    def published(self, dialogue: Dialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """Everything is history, the question too, and non-ASCII is escaped. Tools without a description or parameters
        ended the task."""
        if any("description" not in one or not isinstance(one.get("parameters"), Mapping) for one in functions(tools)):
            return RenderedRequest((), refused="the published code needs a description and parameters of every tool")
        said = spoken(dialogue, "en")
        steps = [
            {
                "step_id": number,
                "thought": _thought(told),
                "tool_calls": _step_calls(told),
                "next_observation": as_json(list(told.results)) if told.results else "",
                "user_input": told.text if told.role == "user" else "",
            }
            for number, told in enumerate(said, 1)
        ]
        content = fill(
            self.prompt,
            system=f"{dialogue.dated}\n\n",
            tools=json.dumps([_tool(function) for function in functions(tools)]),
            query=[told.text for told in said if told.role == "user"][-1],
            history="\n" + fill(_HISTORY, steps=json.dumps(steps)).removesuffix("\n"),
        )
        return RenderedRequest(({"role": "user", "content": content},))

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """An object with ``tool_calls`` is calls or, where they are none, an empty reply; everything else is text. An
        empty list is the text that the published runs had for it."""
        if tolerant:
            return read_leniently(text, tools, (JSON_TOOL_CALLS,))
        try:
            return _called(_tool_calls(text)[0])
        except (IndexError, RecursionError):
            return ParsedReply(text)

    def written(self, reply: ParsedReply) -> str:
        return as_json({"tool_calls": call_objects(reply.calls)}) if reply.calls else reply.text or ""


def _tool_calls(text: str) -> list[Json]:
    """What a reply has under ``tool_calls``, whatever it is, if it has that."""
    value = _value(text)
    return [value["tool_calls"]] if isinstance(value, dict) and "tool_calls" in value else []


def _value(text: str) -> Json:
    """The value of a reply in JSON that has the word, else the text."""
    return value_of(text) if "tool_calls" in text else text


def _thought(told: Told) -> Json:
    """The text that was read, as the published runs had it: the value where it has the word and no calls."""
    return told.text if told.written is None or _tool_calls(told.written) else _value(told.written)


def _step_calls(told: Told) -> list[Json]:
    """A list in a list: the gold in OpenAI's form without ids, or what the model wrote."""
    if told.written is None:
        return [calling(told)["tool_calls"]] if told.calls else []
    return _tool_calls(told.written)


def _tool(function: Mapping[str, Any]) -> dict[str, Json]:
    schema = function.get("parameters") or {}
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "parameters": schema.get("properties", {}),
    }


def _steps(history: Sequence[Turn]) -> list[dict[str, Json]]:
    """One step for each assistant's turn, with what the user said next; a user's turn without one before is a step
    of its own."""
    steps: list[dict[str, Json]] = []
    for turn in history:
        if turn.role == "user" and steps and not steps[-1]["user_input"]:
            steps[-1]["user_input"] = turn.text
            continue
        steps.append(
            {
                "step_id": len(steps) + 1,
                "thought": turn.text if turn.role == "assistant" else "",
                "tool_calls": call_objects(turn.calls),
                "next_observation": as_json([result_of(result) for result in turn.results]) if turn.results else "",
                "user_input": turn.text if turn.role == "user" else "",
            }
        )
    return steps


@dataclass(frozen=True, slots=True)
class Xlam2(Format):
    """xLAM-2: a JSON list of calls."""

    max_tokens: ClassVar[int | None] = 256
    refusal: ClassVar[str] = _REFUSAL

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The chat template has the tools. The date goes to the last user message, unless a user's message has one; the
        results of a step are one message with a JSON list."""
        return RenderedRequest(tuple(_gathered(tool_messages(date_to_last_user(messages)))), tuple(tools))

    def published(self, dialogue: Dialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date is behind the session's first words, in later tasks, too. Only English names of speakers are taken
        off at the beginning of a task."""
        sent: list[Message] = []
        for one in dated_once(dialogue, "en"):
            if one.calls:
                sent += [calling(one, "" if one.written is None else using(call.name for call in one.calls))]
            else:
                sent += [{"role": one.role, "content": one.text}]
            sent += [listed(one)] if one.results else []
        return RenderedRequest(tuple(sent), tuple(tools))

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """A JSON list is never text: a call in it without arguments is a wrong one, and a list with anything but calls
        an empty reply."""
        if tolerant:
            return read_leniently(text, tools, (JSON_LIST,))
        if not (text.startswith("[") and text.endswith("]")):
            return ParsedReply(text)
        try:
            return _called(json.loads(text))
        except (ValueError, RecursionError):
            return ParsedReply(text)

    def written(self, reply: ParsedReply) -> str:
        return as_json(call_objects(reply.calls)) if reply.calls else reply.text or ""


def _called(values: Json) -> ParsedReply:
    """Calls with the sentence that the published runs put beside them, which is all that is left of no calls; an empty
    reply where anything is no call."""
    found = [_call_or_none(one) for one in values] if isinstance(values, list | dict | str) else [None]
    calls = tuple(call for call in found if call)
    return ParsedReply(using(call.name for call in calls), calls) if len(calls) == len(found) else ParsedReply(None)


def _call_or_none(value: Json) -> ParsedCall | None:
    nameless = not isinstance(value, dict) or not isinstance(value.get("name"), str)
    return None if nameless else call_of(value) or ParsedCall(value["name"], MISSING)


def _gathered(messages: Iterator[Message]) -> Iterator[Message]:
    for message, results in with_results(messages):
        yield message
        if results:
            yield {**results[0], "content": as_json([result_of(text_of(one)) for one in results])}
