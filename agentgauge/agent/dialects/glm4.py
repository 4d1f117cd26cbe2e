"""GLM-4 (ChatGLM): the name of a function on one line, its arguments on the next (wild spec 8, GLM-4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import Turn, fill, functions, named_results, prompted
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest, as_json, value_of
from agentgauge.agent.dialects.frames import JSON, NAMED_LINE, tag
from agentgauge.agent.dialects.lenient import read_leniently
from agentgauge.core.chat import Message

_PROMPT = """\
You are ChatGLM, an assistant that answers questions and does tasks, with tools where they help.

# Tools

{tools}"""

_TOOL = """\
## {name}

{function}
Whoever calls this function writes its arguments in JSON."""

_FORMS = (tag("tool_call"), NAMED_LINE, JSON)


@dataclass(frozen=True, slots=True)
class Glm4(Format):
    """The slot of the prompt is ``tools``.

    The published prompt is a text in which each message follows the special token of its role, ``<|user|>`` and a line
    break. The model's own chat template writes the same text, so the messages are sent as messages. A server would
    apply its template to a text, too.
    """

    refusal: ClassVar[str] = "a reply that GLM-4's syntax cannot hold"

    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """Results get the role ``observation``. The conversation's system messages, which include the date, come after
        the prompt."""
        described = (
            fill(_TOOL, name=f["name"], function=json.dumps(f, ensure_ascii=False, indent=4)) for f in functions(tools)
        )
        return prompted(fill(self.prompt, tools="\n\n".join(described)), messages, self._turn)

    def _turn(self, turn: Turn) -> Iterator[Message]:
        """Several calls of one step stand below each other. The model cannot write that, but earlier tasks may hold
        it."""
        yield {"role": turn.role, "content": self.written(ParsedReply(turn.text, turn.calls))}
        if turn.results:
            yield {"role": "observation", "content": as_json(named_results(turn))}

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """One call, on the first two lines; later lines are ignored. If its arguments are no JSON object, the whole
        reply is text.

        With ``tolerant``, there may be several of tools on offer, the name may stand below other text and the arguments
        on several lines; GLM-4.5's tags are read, too.
        """
        if tolerant:
            return read_leniently(text, tools, _FORMS)
        # the template ends at the token of the role, so a served reply starts with the line break behind it
        lines = text.removeprefix("\n").split("\n")
        arguments = value_of(lines[1]) if len(lines) > 1 else None
        if not isinstance(arguments, dict):
            return ParsedReply(text)
        return ParsedReply(None, (ParsedCall(lines[0].strip(), as_json(arguments)),))

    def written(self, reply: ParsedReply) -> str:
        calls = [f"{call.name}\n{as_json(value_of(call.arguments))}" for call in reply.calls]
        return "\n".join(calls) or reply.text or ""
