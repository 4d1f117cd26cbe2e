"""xLAM 1: one user message of marked sections; a JSON object with the calls (wild spec 8, xLAM 1)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import (
    Turn,
    as_json,
    call_objects,
    fill,
    functions,
    result_of,
    split_question,
)
from agentgauge.agent.dialects.format import Format, ParsedReply, RenderedRequest
from agentgauge.agent.dialects.lenient import read_leniently
from agentgauge.agent.dialects.xlam2 import call_of, calling, checked
from agentgauge.core.chat import Message
from agentgauge.core.types import Json

_PROMPT = """\
{system}[BEGIN OF TASK INSTRUCTION]
You solve what a user asks by composing calls of functions. From the question and the functions on offer you work out \
one call, or
several. Say so where no function fits, and where the question leaves out what a parameter needs.
[END OF TASK INSTRUCTION]

[BEGIN OF AVAILABLE TOOLS]
{tools}
[END OF AVAILABLE TOOLS]

[BEGIN OF FORMAT INSTRUCTION]
The reply is one JSON object of this form and nothing else; the list is empty if no call is needed:
{"tool_calls": [{"name": "name of a function", "arguments": {"parameter": "value"}}]}
[END OF FORMAT INSTRUCTION]

[BEGIN OF QUERY]
{query}
[END OF QUERY]

{history}"""

_HISTORY = """\
[BEGIN OF HISTORY STEPS]
{steps}
[END OF HISTORY STEPS]

"""


@dataclass(frozen=True, slots=True)
class Xlam(Format):
    """See agentgauge.agent.dialects.format for what each method is for.

    The slots of the prompt are ``system``, ``tools``, ``query`` and ``history``.
    """

    temperature: ClassVar[float | None] = 0.0
    max_tokens: ClassVar[int | None] = 512

    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The query is the last user message; everything else is history. The date stands with the system text, in
        front."""
        system, question, history = split_question(messages)
        steps = _steps(history)
        content = fill(
            self.prompt,
            system=f"{system}\n\n" if system else "",
            tools=as_json([_tool(function) for function in functions(tools)]),
            query=question,
            history=fill(_HISTORY, steps=as_json(steps)) if steps else "",
        )
        return RenderedRequest(({"role": "user", "content": content},))

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        """What cannot be read is text. An empty list is the text that the published runs had for it."""
        if tolerant:
            return read_leniently(text)
        try:
            value = json.loads(text)
            return calling([call_of(item) for item in value["tool_calls"]])
        except (ValueError, TypeError, KeyError, RecursionError):
            return ParsedReply(text)

    def write(self, reply: ParsedReply) -> str:
        """Text beside calls can only be the sentence that is read there. Raises ValueError for other text, and text
        that reads as calls."""
        calls = call_objects(reply.calls)
        text = as_json({"tool_calls": calls}) if calls else reply.text or ""
        return checked(self.read(text, tolerant=False), reply, text)


def _tool(function: Mapping[str, Any]) -> dict[str, Json]:
    schema = function.get("parameters") or {}
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "parameters": schema.get("properties", {}),
    }


def _steps(history: Sequence[Turn]) -> list[dict[str, Json]]:
    """One step for each assistant's turn, with what the user said next; a user's turn without one before is a step
    of its own."""
    steps: list[dict[str, Json]] = []
    for turn in history:
        if turn.role == "user" and steps and not steps[-1]["user_input"]:
            steps[-1]["user_input"] = turn.text
            continue
        steps.append(
            {
                "step_id": len(steps) + 1,
                "thought": turn.text if turn.role == "assistant" else "",
                "tool_calls": call_objects(turn.calls),
                "next_observation": as_json([result_of(result) for result in turn.results]) if turn.results else "",
                "user_input": turn.text if turn.role == "user" else "",
            }
        )
    return steps
