"""xLAM-2: a JSON list of calls (wild spec 8, xLAM-2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import (
    as_json,
    call_objects,
    date_to_last_user,
    in_one_form,
    result_of,
    text_of,
    tool_messages,
    with_results,
)
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.lenient import read_leniently
from agentgauge.core.chat import Message


@dataclass(frozen=True, slots=True)
class Xlam2(Format):
    """See agentgauge.agent.dialects.format for what each method is for."""

    max_tokens: ClassVar[int | None] = 256

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The chat template has the tools. The date goes to the last user message, unless a user's message has one; the
        results of a step are one message with a JSON list."""
        return RenderedRequest(tuple(_gathered(tool_messages(date_to_last_user(messages)))), tuple(tools))

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        if tolerant:
            return read_leniently(text)
        if not (text.startswith("[") and text.endswith("]")):
            return ParsedReply(text)
        try:
            return calling([call_of(item) for item in json.loads(text)])
        except (ValueError, RecursionError):
            return ParsedReply(text)

    def write(self, reply: ParsedReply) -> str:
        """Text beside calls can only be the sentence that is read there. Raises ValueError for other text, and text
        that reads as calls."""
        text = as_json(call_objects(reply.calls)) if reply.calls else reply.text or ""
        return checked(self.read(text, tolerant=False), reply, text)


def calling(calls: Sequence[ParsedCall]) -> ParsedReply:
    """Calls with the sentence that the published runs put beside them. Of no calls only that is left: a text reply."""
    return ParsedReply(f"use {', '.join(call.name for call in calls)} to solve user problem", tuple(calls))


def call_of(value: object) -> ParsedCall:
    """Raises ValueError for what is no call."""
    match value:
        case {"name": str(name), "arguments": arguments}:
            return ParsedCall(name, arguments if isinstance(arguments, str) else as_json(arguments))
    raise ValueError("no call")


def checked(read: ParsedReply, reply: ParsedReply, text: str) -> str:
    """The text, if it is read back as ``reply``. Raises ValueError."""
    called = tuple(map(in_one_form, reply.calls))
    wanted = reply.text if reply.text is not None or not called else calling(called).text
    if read != ParsedReply(wanted or "", called):
        raise ValueError(f"a reply that xLAM's syntax cannot hold: {text}")
    return text


def _gathered(messages: Iterator[Message]) -> Iterator[Message]:
    for message, results in with_results(messages):
        yield message
        if results:
            yield {**results[0], "content": as_json([result_of(text_of(one)) for one in results])}
