"""GLM-4 (ChatGLM): the name of a function on one line, its arguments on the next (wild spec 8, GLM-4)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import Turn, fill, functions, named_results, prompted, using
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest, as_json, value_of
from agentgauge.agent.dialects.frames import JSON, NAMED_LINE, tag
from agentgauge.agent.dialects.lenient import read_leniently
from agentgauge.agent.dialects.published import Dialogue, named_list, spoken
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

    temperature: ClassVar[float | None] = 0.0  # of the likeliest token alone (top_k 1)
    all_tokens: ClassVar[int | None] = 2500
    refusal: ClassVar[str] = "a reply that GLM-4's syntax cannot hold"

    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """Results get the role ``observation``. The conversation's system messages, which include the date, come after
        the prompt."""
        return prompted(self._described(tools, escaped=False), messages, self._turn)

    def published(self, dialogue: Dialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date has a system message of its own. Gold calls are lost, and their results are a tool's; what the model
        wrote goes back as it was. Non-ASCII is escaped in tools and in the running task's results."""
        sent: list[Message] = [
            {"role": "system", "content": self._described(tools, escaped=True)},
            {"role": "system", "content": dialogue.dated},
        ]
        for told in spoken(dialogue, "en"):
            sent.append({"role": told.role, "content": told.text if told.written is None else told.written})
            if told.results and told.written is None:
                sent.append({"role": "tool", "content": as_json(list(told.results))})
            elif told.results:
                sent.append({"role": "observation", "content": json.dumps(named_list(told))})
        return RenderedRequest(tuple(sent))

    def _described(self, tools: Sequence[Mapping[str, Any]], *, escaped: bool) -> str:
        described = (
            fill(_TOOL, name=f["name"], function=json.dumps(f, ensure_ascii=escaped, indent=4))
            for f in functions(tools)
        )
        return fill(self.prompt, tools="\n\n".join(described))

    def _turn(self, turn: Turn) -> Iterator[Message]:
        """Several calls of one step stand below each other. The model cannot write that, but earlier tasks may hold
        it."""
        yield {"role": turn.role, "content": self.written(ParsedReply(turn.text, turn.calls))}
        if turn.results:
            yield {"role": "observation", "content": as_json(named_results(turn))}

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """One call, on the first two lines; later lines are ignored. If its arguments are no JSON, the whole reply is
        text: also where a served reply begins with the line break behind the token of the role.

        With ``tolerant``, there may be several of tools on offer, the name may stand below other text and the arguments
        on several lines; GLM-4.5's tags are read, too.
        """
        if tolerant:
            return read_leniently(text, tools, _FORMS)
        name, *lines = text.split("\n")
        try:
            arguments = json.loads(lines[0])
            given = arguments if isinstance(arguments, str) else as_json(arguments)
        except (IndexError, ValueError, RecursionError):
            return ParsedReply(text)
        return ParsedReply(using([name]), (ParsedCall(name, given),))

    def written(self, reply: ParsedReply) -> str:
        calls = [f"{call.name}\n{as_json(value_of(call.arguments))}" for call in reply.calls]
        return "\n".join(calls) or reply.text or ""
