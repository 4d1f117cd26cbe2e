"""Qwen2.5 and Qwen3: a block of tags for each call (wild spec 8, Qwen)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import as_json, in_one_form, tool_messages, value_of
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.lenient import find_calls, without_thoughts
from agentgauge.core.chat import Message

_BLOCK = re.compile(r"<tool_call>\n(.*)\n</tool_call>")
_OPEN, _END = "<tool_call>", "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Qwen(Format):
    """See agentgauge.agent.dialects.format for what each method is for."""

    max_tokens: ClassVar[int | None] = 512

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The chat template has the tools; the date stays at the end of the system message."""
        return RenderedRequest(tuple(tool_messages(messages)), tuple(tools))

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        """A block's JSON stands on one line; a block with broken JSON is skipped, one that is no call spoils the
        reply."""
        if tolerant:
            meant = without_thoughts(text).removesuffix(_END)
            calls = find_calls(meant)
            before = meant.partition(_OPEN)[0] if _OPEN in meant else "" if calls else meant
            return ParsedReply(before if before.strip() else None, tuple(calls))
        blocks = list(_BLOCK.finditer(text))
        found = []
        for block in blocks:
            try:
                found.append(_call(json.loads(block[1])))
            except KeyError:
                return ParsedReply(None)
            except (ValueError, RecursionError):
                continue
        if not found:
            return ParsedReply(text.removesuffix(_END))
        before = text[: blocks[0].start()]
        return ParsedReply(before if before.strip() else None, tuple(found))

    def write(self, reply: ParsedReply) -> str:
        """Raises ValueError for text beside calls that is blank or holds a block, and for text alone that holds one."""
        blocks = (
            f"{_OPEN}\n{as_json({'name': call.name, 'arguments': value_of(call.arguments)})}\n</tool_call>"
            for call in reply.calls
        )
        text = (reply.text or "") + "\n".join(blocks)
        called = tuple(map(in_one_form, reply.calls))
        if self.read(text, tolerant=False) != ParsedReply(reply.text if called else reply.text or "", called):
            raise ValueError(f"a reply that Qwen's syntax cannot hold: {text}")
        return text


def _call(value: object) -> ParsedCall:
    """Raises KeyError for what is no call."""
    match value:
        case {"name": str(name), "arguments": arguments}:
            return ParsedCall(name, as_json(value_of(arguments) if isinstance(arguments, str) else arguments))
    raise KeyError("name")
