"""Hammer 2.1: a JSON list in a code fence (wild spec 8, Hammer)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import call_objects, result_of, text_of, tool_messages, with_results
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest, as_json
from agentgauge.agent.dialects.lenient import read_leniently
from agentgauge.core.chat import Message

_MARK = '```\n[{"name"'

PLACEHOLDER = "(an answer without a call)"
"""Stands for every text reply: the published runs replaced them, and so gave an empty reply a text."""


@dataclass(frozen=True, slots=True)
class Hammer(Format):
    """See agentgauge.agent.dialects.format for what each method is for.

    The published runs gave the template bare function objects; servers take only OpenAI's wrapped ones.
    """

    max_tokens: ClassVar[int | None] = 128
    reads_text: ClassVar[bool] = False
    refusal: ClassVar[str] = "a reply that Hammer's syntax cannot hold"

    keeps_text: bool = False  # for benchmarks that judge texts

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """Results of a step are one message: a user's in the running task, that is behind the last user message, a
        tool's before it."""
        left = sum(message.get("role") == "user" for message in messages)
        sent: list[Message] = []
        for message, results in with_results(tool_messages(messages)):
            sent.append(message)
            left -= message.get("role") == "user"
            if results:
                named = [{"name": one.get("name"), "results": result_of(text_of(one))} for one in results]
                # non-ASCII is escaped, other than everywhere else: as published
                sent.append({"role": "tool" if left else "user", "content": json.dumps(named)})
        return RenderedRequest(tuple(sent), tuple(tools))

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        """A reply with the beginning of a fenced list somewhere is taken for just that, without a look at what is
        around it."""
        if tolerant:
            return read_leniently(text)
        if _MARK not in text:
            return ParsedReply(text if self.keeps_text and text.strip() else PLACEHOLDER)
        try:
            value = json.loads(text[3:-4])
        except (ValueError, RecursionError):
            return ParsedReply(text)
        found = [_call(item) for item in value] if isinstance(value, list) else [None]
        return ParsedReply(None, tuple(call for call in found if call) if all(found) else ())

    def written(self, reply: ParsedReply) -> str:
        return f"```\n{as_json(call_objects(reply.calls))}\n```" if reply.calls else reply.text or ""


def _call(value: object) -> ParsedCall | None:
    match value:
        case {"name": str(name), "arguments": arguments} | {"name": str(name), "parameters": arguments}:
            return ParsedCall(name, arguments if isinstance(arguments, str) else as_json(arguments))
    return None
