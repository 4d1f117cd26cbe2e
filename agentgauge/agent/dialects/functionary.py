"""functionary-medium v3.1: a tag for each call (wild spec 8, functionary)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import tool_messages
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest, as_json, value_of
from agentgauge.agent.dialects.lenient import find_calls, without_thoughts
from agentgauge.core.chat import Message

_OPEN, _CLOSE = "<function=", "</function>"


@dataclass(frozen=True, slots=True)
class Functionary(Format):
    """See agentgauge.agent.dialects.format for what each method is for."""

    refusal: ClassVar[str] = "a reply that functionary's syntax cannot hold"

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The chat template has the tools; tool messages carry the name of their function."""
        return RenderedRequest(tuple(tool_messages(messages)), tuple(tools))

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        """Opening and closing tags must be as many, or all is text. Of broken JSON in the middle the calls before it
        are kept."""
        if tolerant:
            text = without_thoughts(text)
        elif text.count(_OPEN) != text.count(_CLOSE):
            return ParsedReply(text)
        calls: list[ParsedCall] = []
        for name, arguments in _tagged(text):
            try:
                calls.append(ParsedCall(name, as_json(json.loads(arguments))))
            except (ValueError, RecursionError):
                if not tolerant:
                    break
        if not calls and tolerant:
            calls = find_calls(text)
        if not calls:
            return ParsedReply(text if text.strip() or not tolerant else None)
        before = text.partition(_OPEN)[0] if _OPEN in text else ""
        return ParsedReply(before if before.strip() else None, tuple(calls))

    def written(self, reply: ParsedReply) -> str:
        tagged = (f"{_OPEN}{call.name}>{as_json(value_of(call.arguments))}{_CLOSE}" for call in reply.calls)
        return (reply.text or "") + "".join(tagged)


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """The name and the content of each tag. No regular expression: a reply of opening tags alone would take it
    hours."""
    start = text.find(_OPEN)
    while start >= 0:
        name = start + len(_OPEN)
        content = text.find(">", name) + 1
        end = text.find(_CLOSE, content) if content else -1
        if end < 0:  # and none is behind a later opening tag
            return
        yield text[name : content - 1], text[content:end]
        start = text.find(_OPEN, end + len(_CLOSE))
