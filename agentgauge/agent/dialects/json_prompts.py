"""The families whose prompt lists the tools, and whose calls are JSON: xLAM 1 and xLAM-2, GLM-4 (ChatGLM, the name of a
function on one line, its arguments on the next), and models without function calling such as DeepSeek-R1 and QwQ
(docs/benchmarks/wild.md#prompt-for-models-without-a-syntax).

The spec infers the last from the published results; how their replies are read is ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.format import (
    MISSING,
    Format,
    ParsedCall,
    ParsedReply,
    PublishedDialogue,
    PublishedTurn,
    RenderedRequest,
    Turn,
    as_json,
    call_objects,
    call_of,
    calling,
    date_to_last_user,
    dated_once,
    fill,
    functions,
    listed,
    named_list,
    named_results,
    prompted,
    result_of,
    split_question,
    spoken,
    text_of,
    tool_messages,
    unnamed,
    using,
    value_of,
    with_results,
)
from agentgauge.agent.dialects.lenient import JSON, JSON_LIST, JSON_TOOL_CALLS, NAMED_LINE, read_leniently, tag
from agentgauge.core.chat import Message
from agentgauge.core.types import Json

_REFUSAL = "a reply that xLAM's syntax cannot hold"

_XLAM_PROMPT = """\
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

    prompt: str = _XLAM_PROMPT

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

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
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


def _thought(told: PublishedTurn) -> Json:
    """The text that was read, as the published runs had it: the value where it has the word and no calls."""
    return told.text if told.written is None or _tool_calls(told.written) else _value(told.written)


def _step_calls(told: PublishedTurn) -> list[Json]:
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

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
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


_GLM4_PROMPT = """\
You are ChatGLM, an assistant that answers questions and does tasks, with tools where they help.

# Tools

{tools}"""

_TOOL = """\
## {name}

{function}
Whoever calls this function writes its arguments in JSON."""

_GLM4_FORMS = (tag("tool_call"), NAMED_LINE, JSON)


@dataclass(frozen=True, slots=True)
class Glm4(Format):
    """The slot of the prompt is ``tools``.

    The published prompt is a text in which each message follows the special token of its role, ``<|user|>`` and a line
    break. The model's own chat template writes the same text, so the messages are sent as messages. A server would
    apply its template to a text, too.
    """

    temperature: ClassVar[float | None] = 0.0  # of the likeliest token alone (top_k 1)
    all_tokens: ClassVar[int | None] = 2500
    refusal: ClassVar[str] = "a reply that GLM-4's syntax cannot hold"

    prompt: str = _GLM4_PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """Results get the role ``observation``. The conversation's system messages, which include the date, come after
        the prompt."""
        return prompted(self._described(tools, escaped=False), messages, self._turn)

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date has a system message of its own. Gold calls are lost, and their results are a tool's; what the model
        wrote goes back as it was. Non-ASCII is escaped in tools and in the running task's results."""
        sent: list[Message] = [
            {"role": "system", "content": self._described(tools, escaped=True)},
            {"role": "system", "content": dialogue.dated},
        ]
        for told in spoken(dialogue, "en"):
            sent.append({"role": told.role, "content": told.text if told.written is None else told.written})
            if told.results and told.written is None:
                sent.append({"role": "tool", "content": as_json(list(told.results))})
            elif told.results:
                sent.append({"role": "observation", "content": json.dumps(named_list(told))})
        return RenderedRequest(tuple(sent))

    def _described(self, tools: Sequence[Mapping[str, Any]], *, escaped: bool) -> str:
        described = (
            fill(_TOOL, name=f["name"], function=json.dumps(f, ensure_ascii=escaped, indent=4))
            for f in functions(tools)
        )
        return fill(self.prompt, tools="\n\n".join(described))

    def _turn(self, turn: Turn) -> Iterator[Message]:
        """Several calls of one step stand below each other. The model cannot write that, but earlier tasks may hold
        it."""
        yield {"role": turn.role, "content": self.written(ParsedReply(turn.text, turn.calls))}
        if turn.results:
            yield {"role": "observation", "content": as_json(named_results(turn))}

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """One call, on the first two lines; later lines are ignored. If its arguments are no JSON, the whole reply is
        text: also where a served reply begins with the line break behind the token of the role.

        With ``tolerant``, there may be several of tools on offer, the name may stand below other text and the arguments
        on several lines; GLM-4.5's tags are read, too.
        """
        if tolerant:
            return read_leniently(text, tools, _GLM4_FORMS)
        name, *lines = text.split("\n")
        try:
            arguments = json.loads(lines[0])
            given = arguments if isinstance(arguments, str) else as_json(arguments)
        except (IndexError, ValueError, RecursionError):
            return ParsedReply(text)
        return ParsedReply(using([name]), (ParsedCall(name, given),))

    def written(self, reply: ParsedReply) -> str:
        calls = [f"{call.name}\n{as_json(value_of(call.arguments))}" for call in reply.calls]
        return "\n".join(calls) or reply.text or ""


_LISTED_PROMPT = """\
You work on a user's requests with the functions listed below. Whenever a function can bring you further, call it. \
Calls are
written between tags, as a JSON list with one object for each call, and nothing else is in the reply:
<tool_calls>[{"name": "the function's name", "arguments": {"parameter": "value"}}]</tool_calls>
Put calls that do not need each other's results into one list. The results come back in <tool_response> tags.
Only in three cases you answer in words, and then the reply starts with "Assistant:":
1. no function fits the request: say so;
2. a required parameter is missing and nothing tells its value: ask the user for it;
3. the results at hand are enough: answer the request with them.

Functions:
{tools}"""

_ANSWER = "Assistant:"
_OPEN, _CLOSE = "<tool_calls>", "</tool_calls>"
_LISTED_FORMS = (tag("tool_calls"), JSON)
_BROKEN = re.compile(rf"\s*{_OPEN}\s*[\[{{]")


@dataclass(frozen=True, slots=True)
class PromptOnly(Format):
    """The slot of the prompt is ``tools``."""

    refusal: ClassVar[str] = "a reply that cannot be written between tags"

    prompt: str = _LISTED_PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The conversation's system messages, which include the date, come after the prompt."""
        described = json.dumps(functions(tools), ensure_ascii=False, indent=4)
        return prompted(fill(self.prompt, tools=described), messages, self._turn)

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The tools are wrapped as in OpenAI's requests, and the results of a step are one unnamed list."""
        system = fill(self.prompt, tools=json.dumps(list(tools), ensure_ascii=False, indent=2))
        sent: list[Message] = [{"role": "system", "content": f"{system}\n\nCurrent time: {dialogue.date}"}]
        for told in dialogue.told:
            content = unnamed(told.text, dialogue.language) if told.written is None else told.text
            if told.calls:
                content = self.written(ParsedReply(None, told.calls))
            elif told.role == "assistant":
                content = f"{_ANSWER}{content}"
            sent.append({"role": told.role, "content": content})
            if told.results:
                sent.append(_response(list(told.results)))
        return RenderedRequest(tuple(sent))

    def _turn(self, turn: Turn) -> Iterator[Message]:
        content = turn.text if turn.role == "user" else self.written(ParsedReply(turn.text, turn.calls))
        yield {"role": turn.role, "content": content}
        if turn.results:
            yield _response(named_results(turn))

    def written(self, reply: ParsedReply) -> str:
        calls = call_objects(reply.calls)
        return f"{_OPEN}{as_json(calls)}{_CLOSE}" if calls else f"{_ANSWER} {reply.text or ''}"

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """Calls between the tags, and bare ones of tools on offer. A closed block of broken JSON makes the reply empty.

        No published parser is known, so both scorings read alike.
        """
        found = read_leniently(text, tools, _LISTED_FORMS)
        if found.calls:
            return found
        meant = found.text or ""
        if _BROKEN.match(meant) and _CLOSE in meant:
            return ParsedReply(None)
        answer = meant.partition(_ANSWER)[2].removeprefix(" ") if meant.lstrip().startswith(_ANSWER) else meant
        return ParsedReply(answer if answer.strip() or not tolerant else None)


def _response(results: Json) -> Message:
    return {"role": "user", "content": f"<tool_response>{as_json(results)}</tool_response>"}
