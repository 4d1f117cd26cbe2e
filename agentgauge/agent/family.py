"""A model family's dialect for an agent: the conversation is kept in OpenAI's format and rendered in the family's for
each request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentgauge.agent.actions import Reading
from agentgauge.agent.dialect import Dialect
from agentgauge.agent.dialects.format import MISSING, Format, ParsedCall, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.registry import format_of
from agentgauge.agent.native import Native, function_schema
from agentgauge.core.case import CaseSettings
from agentgauge.core.chat import ChatReply, Message, ToolCall
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.tools import Tool


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
