"""Qwen2.5 and Qwen3: a block of tags for each call (wild spec 8, Qwen)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import call_objects, tool_messages
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest, as_json, value_of
from agentgauge.agent.dialects.lenient import find_calls, without_thoughts
from agentgauge.core.chat import Message

_BLOCK = re.compile(r"<tool_call>\n(.*)\n</tool_call>")
_OPEN, _END = "<tool_call>", "<|im_end|>"


@dataclass(frozen=True, slots=True)
class Qwen(Format):
    """See agentgauge.agent.dialects.format for what each method is for."""

    max_tokens: ClassVar[int | None] = 512
    refusal: ClassVar[str] = "a reply that Qwen's syntax cannot hold"

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

    def written(self, reply: ParsedReply) -> str:
        blocks = (f"{_OPEN}\n{as_json(call)}\n</tool_call>" for call in call_objects(reply.calls))
        return (reply.text or "") + "\n".join(blocks)


def _call(value: object) -> ParsedCall:
    """Raises KeyError for what is no call."""
    match value:
        case {"name": str(name), "arguments": arguments}:
            return ParsedCall(name, as_json(value_of(arguments) if isinstance(arguments, str) else arguments))
    raise KeyError("name")
