"""watt-tool: ToolACE's syntax, each result in a message of its own (wild spec 8, watt)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import Turn, fill, functions, prompted
from agentgauge.agent.dialects.format import Format, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.pycalls import read_list, render_history, write_list
from agentgauge.agent.dialects.toolace import PROMPT
from agentgauge.core.chat import Message


@dataclass(frozen=True, slots=True)
class Watt(Format):
    """See agentgauge.agent.dialects.format for what each method is for. The slot of the prompt is ``tools``.

    The published runs asked up to five times where a reply could not be had; that is the endpoint's business here.
    """

    temperature: ClassVar[float | None] = 0.0
    max_tokens: ClassVar[int | None] = 2048

    prompt: str = PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The conversation's system messages, and with them the date, stand behind the prompt."""
        return prompted(fill(self.prompt, tools=repr(functions(tools))), messages, self._turn)

    def _turn(self, turn: Turn) -> list[Message]:
        results: list[Message] = [
            {"role": "tool", "name": call.name, "content": result}
            for call, result in zip(turn.calls, turn.results, strict=False)
        ]
        return [
            {"role": turn.role, "content": f"[{render_history(turn.calls)}]" if turn.calls else turn.text},
            *results,
        ]

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        return read_list(text, tolerant=tolerant)

    def write(self, reply: ParsedReply) -> str:
        return write_list(reply)
