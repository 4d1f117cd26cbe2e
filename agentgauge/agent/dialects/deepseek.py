"""DeepSeek-Coder-V2-Lite and its kin: calls in DeepSeek's tokens.

WildToolBench's first release runs the model with its chat template, and has no reader for its replies: how a reply is
read is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import tool_messages
from agentgauge.agent.dialects.format import Format, ParsedReply, RenderedRequest, as_json, value_of
from agentgauge.agent.dialects.frames import DEEPSEEK_TOKEN, JSON
from agentgauge.agent.dialects.lenient import read_leniently
from agentgauge.core.chat import Message

_FORMS = (DEEPSEEK_TOKEN, JSON)


@dataclass(frozen=True, slots=True)
class DeepSeek(Format):
    """A block of tokens for each call."""

    max_tokens: ClassVar[int | None] = 512
    refusal: ClassVar[str] = "a reply that DeepSeek's syntax cannot hold"

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The chat template has the tools. That of DeepSeek-Coder-V2-Lite shows neither them nor results."""
        return RenderedRequest(tuple(tool_messages(messages)), tuple(tools))

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """Calls in the tokens, and bare ones of tools on offer, under both scorings."""
        return read_leniently(text, tools, _FORMS)

    def written(self, reply: ParsedReply) -> str:
        calls = "\n".join(
            f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n"
            f"```json\n{as_json(value_of(call.arguments))}\n```<｜tool▁call▁end｜>"
            for call in reply.calls
        )
        said = reply.text or ""
        return f"{said}<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else said
