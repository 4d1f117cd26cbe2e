"""ToolACE and ToolACE-2: calls as a list in Python's syntax (wild spec 8, ToolACE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import (
    Turn,
    as_json,
    date_to_last_user,
    fill,
    functions,
    named_results,
    prompted,
)
from agentgauge.agent.dialects.format import Format, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.pycalls import read_list, render_history, write_list
from agentgauge.core.chat import Message

PROMPT = """\
Your field is function calling: from a user's question and a set of functions you work out which calls, \
one or several, lead to
the answer. Where no function suits the question, say that. Where the question leaves out what a parameter \
needs, say that too.
A reply with calls holds nothing but the calls, in this form:
[function_one(parameter_one=value, parameter_two=value), function_two(parameter=value)]
Any other text has no place in such a reply. The functions you may call, with JSON schemas of their parameters:
{tools}"""


@dataclass(frozen=True, slots=True)
class ToolAce(Format):
    """See agentgauge.agent.dialects.format for what each method is for. The slot of the prompt is ``tools``."""

    temperature: ClassVar[float | None] = 0.0
    max_tokens: ClassVar[int | None] = 512

    prompt: str = PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date goes to the last user message, unless one has a date. The published runs dropped the system message,
        which held nothing else there; what it says besides is kept behind the prompt."""
        return prompted(fill(self.prompt, tools=repr(functions(tools))), date_to_last_user(messages), self._turn)

    def _turn(self, turn: Turn) -> list[Message]:
        sent: list[Message] = [
            {"role": turn.role, "content": f"[{render_history(turn.calls)}]" if turn.calls else turn.text}
        ]
        return [*sent, {"role": "tool", "content": as_json(named_results(turn))}] if turn.results else sent

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        return read_list(text, tolerant=tolerant)

    def write(self, reply: ParsedReply) -> str:
        return write_list(reply)
