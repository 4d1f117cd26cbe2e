"""The native dialect: OpenAI function tools, calls read from ``tool_calls``.

A broken reply is an error of the model, and the conversation continues with that error: broken JSON is an ARGS_ERROR, a
tool that is not on offer an InvalidAction, an empty message a NoAction. A reply without calls but with text is the
final answer, and so is a refusal.

A model family's dialect keeps the conversation in the same form and renders it in the family's for each request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentgauge.agent.dialect import (
    INVALID_ACTION,
    NO_ACTION,
    Action,
    ActionResult,
    CallError,
    Dialect,
    Finish,
    Past,
    PastResult,
    PastText,
    Reading,
    read_call,
)
from agentgauge.agent.dialects.format import MISSING, Format, ParsedCall, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.registry import format_of
from agentgauge.agent.model_json import read_json
from agentgauge.core.case import CaseSettings
from agentgauge.core.chat import ChatReply, MadeId, Message, ToolCall, completed
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.tools import FILE_TYPES, Parameter, SchemaTool, Tool

_FILES = {"image": "an image file", "audio": "an audio file", "video": "a video file", "file": "a file"}
_TYPES = {"text": "string", "int": "integer", "float": "number", "bool": "boolean"}


def function_schema(tool: Tool) -> dict[str, Any]:
    """A tool as an OpenAI function. Files are given by path, so that text models can use them."""
    parameters = tool.schema if isinstance(tool, SchemaTool) else _parameters(tool)
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _parameters(tool: Tool) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {p.name or "": _property(p) for p in tool.inputs},
        "required": [p.name for p in tool.inputs if not p.optional],
    }


def _property(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES.get(parameter.type, "string")}
    described = parameter.description
    if parameter.type in FILE_TYPES:
        path = f"path of {_FILES[parameter.type]}"
        described = f"{described} ({path})" if described else path
    if described:
        schema["description"] = described
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema


@dataclass(frozen=True, slots=True)
class Native:
    """The native dialect, with its texts. agentgauge.agent.dialect describes the methods."""

    no_action: str  # sent to the model after an empty message
    invalid_action: str  # sent after a call of a tool that is not on offer

    def request(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> RenderedRequest:
        return RenderedRequest(tuple(conversation), tuple(function_schema(tool) for tool in tools), raw=False)

    def read(self, reply: ChatReply, tools: Mapping[str, Tool], turn: int) -> Reading:
        text = reply.words
        if reply.tool_calls:
            calls = tuple(
                self._call(call, tools, call.id or MadeId(f"call_{turn}_{place}"))
                for place, call in enumerate(reply.tool_calls)
            )
            return Reading(text, calls)
        if text.strip() or reply.refusal:  # a content filter ends the conversation, too
            return Reading("", (Finish(text),))
        return Reading("", (CallError(NO_ACTION, {"text": ""}, "API_ERROR", self.no_action),))

    def _call(self, call: ToolCall, tools: Mapping[str, Tool], id: str) -> Action:
        if call.name not in tools:
            return CallError(INVALID_ACTION, {"text": call.arguments}, "API_ERROR", self.invalid_action, id)
        return read_call(tools[call.name], completed(call.arguments.strip()), raw=call.arguments, id=id)

    def reply_messages(self, reply: ChatReply, reading: Reading) -> list[Message]:
        if not reply.tool_calls:
            # several endpoints refuse an assistant message without content
            return [{"role": "assistant", "content": reply.text, **reply.extra}] if reply.text.strip() else []
        ids = [action.id for action in reading.actions if not isinstance(action, Finish)]
        calls = [
            replace(call, arguments=_readable(call.arguments), id=id).to_wire()
            for call, id in zip(reply.tool_calls, ids, strict=True)
        ]
        return [{"role": "assistant", "content": reply.content, **reply.extra, "tool_calls": calls}]

    def result_messages(self, results: Sequence[ActionResult]) -> list[Message]:
        return [self._result_message(result) for result in results]

    def _result_message(self, result: ActionResult) -> Message:
        id = "" if isinstance(result.action, Finish) else result.action.id
        return _result(result.text, id) if id else self.note(result.text)

    def note(self, text: str) -> Message:
        # many chat templates refuse a system message that is not the first
        return {"role": "user", "content": text}

    def history(self, turns: Sequence[Past]) -> list[Message]:
        """Endpoints require exactly one result directly after each call. So a missing result becomes an empty text, and
        a result without a call becomes a note."""
        messages: list[Message] = []
        waiting = ""  # id of the call whose result has to come next
        for place, turn in enumerate(turns):
            if isinstance(turn, PastResult):
                messages.append(_result(turn.text, waiting) if waiting else self.note(turn.text))
                waiting = ""
                continue
            if waiting:
                messages.append(_result("", waiting))
                waiting = ""
            if isinstance(turn, PastText):
                messages.append({"role": turn.role, "content": turn.content})
            else:
                waiting = MadeId(f"call_{place}")
                arguments = json.dumps(turn.arguments, ensure_ascii=False)
                call = ToolCall(turn.name, arguments, waiting)
                messages.append({"role": "assistant", "content": None, "tool_calls": [call.to_wire()]})
        return [*messages, _result("", waiting)] if waiting else messages


def _result(text: str, id: str) -> Message:
    return {"role": "tool", "tool_call_id": id, "content": text}


def _readable(arguments: str) -> str:
    """The arguments, if they are a JSON object. Servers answer broken ones in the history with an error of their own,
    and the model sees its text again in the result."""
    try:
        return arguments if isinstance(read_json(arguments), dict) else "{}"
    except ValueError:
        return "{}"


@dataclass(frozen=True)  # with slots, super() would not find the class
class FamilyDialect(Native):
    """The dialect of a model family. agentgauge.agent.dialect describes the methods."""

    format: Format
    tolerant: bool

    def request(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> RenderedRequest:
        return self.format.request(conversation, [function_schema(tool) for tool in tools])

    def read(self, reply: ChatReply, tools: Mapping[str, Tool], turn: int) -> Reading:
        offered = [function_schema(tool) for tool in tools.values()]
        parsed = parse_reply(self.format, reply, offered, tolerant=self.tolerant)
        return replace(super().read(parsed, tools, turn), parsed=parsed)

    def reply_messages(self, reply: ChatReply, reading: Reading) -> list[Message]:
        return super().reply_messages(reading.parsed or reply, reading)


def chosen_dialect(settings: CaseSettings, no_action: str, invalid_action: str) -> Dialect:
    """The dialect of a run. ``no_action``: the text that a model gets after an empty reply; ``invalid_action``: the
    text that it gets after a call of an unknown tool. Raises UsageProblem for an unknown dialect, and for an unusable
    prompt of it."""
    if settings.dialect == "native":
        return Native(no_action, invalid_action)
    format = format_of(settings.dialect, settings.prompts, judged=True)
    return FamilyDialect(no_action, invalid_action, format, tolerant=settings.scoring == "strict")


def parse_reply(format: Format, reply: ChatReply, tools: Sequence[Mapping[str, Any]], *, tolerant: bool) -> ChatReply:
    """Parse a reply whose calls are in its text, without ids. ``tools`` are those of the request.

    Raises ModelFault if the server has parsed the calls already.
    """
    if reply.tool_calls:
        raise ModelFault(
            "the server itself parsed the calls in the reply, so the dialect cannot read what the model wrote; "
            "use --dialect native with this server, or start it without its tool-call parser",
            cause="server parsed",
        )
    parsed = format.read(reply.words, tolerant=tolerant, tools=tools)
    calls = tuple(ToolCall(call.name, call.arguments) for call in parsed.calls)
    refusal = None if reply.words else reply.refusal
    # the family's own text holds what goes back
    made = replace(reply, text=parsed.text or "", tool_calls=calls, refusal=refusal, received=None, extra={})
    if not any(call.arguments is MISSING for call in calls):
        return made
    message = made.message
    for call in message["tool_calls"]:
        if call["function"]["arguments"] is MISSING:
            del call["function"]["arguments"]
    return replace(made, received=message)


def render_reply(format: Format, reply: ChatReply) -> ChatReply:
    """A reply as a model of the family writes it. Raises UsageProblem where the syntax cannot hold it."""
    calls = tuple(ParsedCall(call.name, call.arguments) for call in reply.tool_calls)
    try:
        return ChatReply(text=format.write(ParsedReply(reply.text or None, calls)))
    except ValueError as error:
        raise UsageProblem(f"the reply cannot be rendered in this dialect: {error}") from None
