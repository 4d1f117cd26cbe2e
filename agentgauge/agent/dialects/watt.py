"""watt-tool: ToolACE's syntax, each result in a message of its own (wild spec 8, watt)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import Turn, fill, functions, system_of, turns
from agentgauge.agent.dialects.format import Said, Sent
from agentgauge.agent.dialects.pycalls import read_list, told, write_list
from agentgauge.agent.dialects.toolace import PROMPT
from agentgauge.core.chat import Message


@dataclass(frozen=True, slots=True)
class Watt:
    """See agentgauge.agent.dialects.format for what each method is for. The slot of the prompt is ``tools``.

    The published runs asked up to five times where a reply could not be had; that is the endpoint's business here.
    """

    temperature: ClassVar[float | None] = 0.0
    max_tokens: ClassVar[int | None] = 2048

    prompt: str = PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Sent:
        """The conversation's system messages, and with them the date, stand behind the prompt."""
        listed = turns(messages)
        sent = [system_of(fill(self.prompt, tools=repr(functions(tools))), listed)]
        for turn in listed:
            sent += self._turn(turn)
        return Sent(tuple(sent))

    def _turn(self, turn: Turn) -> list[Message]:
        if turn.role == "system":
            return []
        results: list[Message] = [
            {"role": "tool", "name": call.name, "content": result}
            for call, result in zip(turn.calls, turn.results, strict=False)
        ]
        return [{"role": turn.role, "content": f"[{told(turn.calls)}]" if turn.calls else turn.text}, *results]

    def read(self, text: str, *, tolerant: bool) -> Said:
        return read_list(text, tolerant=tolerant)

    def write(self, said: Said) -> str:
        return write_list(said)
