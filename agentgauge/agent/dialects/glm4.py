"""GLM-4 (ChatGLM): the name of a function on one line, its arguments on the next (wild spec 8, GLM-4)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.agent.dialects.conversation import (
    Turn,
    as_json,
    fill,
    functions,
    in_one_form,
    named_results,
    prompted,
    value_of,
)
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.lenient import find_calls, read_leniently
from agentgauge.core.chat import Message

_PROMPT = """\
You are ChatGLM, an assistant that answers questions and does tasks, with tools where they help.

# Tools

{tools}"""

_TOOL = """\
## {name}

{function}
Whoever calls this function writes its arguments in JSON."""

_NAMED = re.compile(r"^[ \t]*([\w.-]+)[ \t]*\n\s*(?=\{)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Glm4(Format):
    """See agentgauge.agent.dialects.format for what each method is for. The slot of the prompt is ``tools``.

    The published prompt is a text in which each message stands behind the special token of its role, ``<|user|>`` and a
    line break. The model's own chat template writes just that, so the messages are sent as messages: in a text, a
    server would wrap them once more.
    """

    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """Results go to the role ``observation``; the conversation's system messages, and with them the date, behind
        the prompt."""
        described = (
            fill(_TOOL, name=f["name"], function=json.dumps(f, ensure_ascii=False, indent=4)) for f in functions(tools)
        )
        return prompted(fill(self.prompt, tools="\n\n".join(described)), messages, self._turn)

    def _turn(self, turn: Turn) -> list[Message]:
        """Several calls of one step stand below each other. The model cannot write that, but earlier tasks may hold
        it."""
        sent: list[Message] = [
            {"role": turn.role, "content": "\n".join(map(self._call, turn.calls)) if turn.calls else turn.text}
        ]
        return [*sent, {"role": "observation", "content": as_json(named_results(turn))}] if turn.results else sent

    def _call(self, call: ParsedCall) -> str:
        return f"{call.name}\n{as_json(value_of(call.arguments))}"

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        """One call, on the first two lines; lines behind it are not looked at. Arguments are a JSON object, or all is
        text.

        With ``tolerant``, there may be several, the name may stand below other text and the arguments on several lines.
        """
        if tolerant:
            return read_leniently(text, lambda answer: self._find(answer) or find_calls(answer))
        # the template ends at the token of the role, so a served reply starts with the line break behind it
        lines = text.removeprefix("\n").split("\n")
        arguments = value_of(lines[1]) if len(lines) > 1 else None
        return (
            ParsedReply(None, (ParsedCall(lines[0].strip(), as_json(arguments)),))
            if isinstance(arguments, dict)
            else ParsedReply(text)
        )

    def _find(self, text: str) -> list[ParsedCall]:
        calls: list[ParsedCall] = []
        end = 0
        for named in _NAMED.finditer(text):
            if named.start() < end:
                continue  # inside the arguments of the call before
            try:
                arguments, end = json.JSONDecoder().raw_decode(text, named.end())
                calls.append(ParsedCall(named[1], as_json(arguments)))
            except (ValueError, RecursionError):
                continue  # no JSON behind it: no call
        return calls

    def write(self, reply: ParsedReply) -> str:
        """Raises ValueError for a second call, text beside a call, arguments that are no JSON object, and text that
        reads as a call."""
        text = "\n".join(map(self._call, reply.calls)) if reply.calls else reply.text or ""
        called = tuple(map(in_one_form, reply.calls))
        if (reply.text and called) or self.read(text, tolerant=False).calls != called:
            raise ValueError(f"a reply that GLM-4's syntax cannot hold: {text}")
        return text
