"""The ReAct text dialect, exactly as the GTA benchmark's agent wrote and parsed it (GTA spec 7; lagent 0.2.2 to 0.2.4).

A system prompt lists the tools, and the model answers in lines that begin with markers. All matching is
ASCII and case-sensitive. The oddities of the original reader are kept, since published scores depend on them: a final
answer wins over any call, even inside an argument; of two calls the last name goes with the first input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.agent.actions import INVALID_ACTION, NO_ACTION, Action, CallError, Finish, Reading, read_call
from agentgauge.agent.dialect import ActionResult, Past, PastCall, PastResult, PastText
from agentgauge.agent.dialects.format import RenderedRequest
from agentgauge.core.chat import ChatReply, Message
from agentgauge.core.tools import Tool

THOUGHT = "Thought:"
ACTION = "Action:"
ACTION_INPUT = "Action Input:"
RESPONSE = "Response:"
FINISH = "Final Answer:"

FINISH_ACTION = "FinishAction"
"""The name under which a parsed final answer is resolved. A model that writes it as a tool name finishes too."""

SLOTS: Mapping[str, str] = {
    "thought": THOUGHT,
    "action": ACTION,
    "action_input": ACTION_INPUT,
    "response": RESPONSE,
    "finish": FINISH,
}
"""Slots of the prompt template that hold the markers; besides them ``tool_description`` and ``action_names``."""

_TYPES = {"int": "NUMBER", "float": "FLOAT", "bool": "BOOLEAN"}
_NAME = re.compile(re.escape(ACTION) + r"(.*?)\n")
_INPUT = re.compile(re.escape(ACTION_INPUT) + r"(.*)", re.DOTALL)
_FENCED = re.compile(r"\s*(```json\n)?(.*)\n```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parsed:
    """The parts of a reply (GTA spec 7.3), not yet compared with the tools."""

    thought: str  # not trimmed
    action: str  # a tool's name, NO_ACTION or FINISH_ACTION
    action_input: str


def parse(reply: str) -> Parsed:
    """Split a reply into its parts. Any text is accepted."""
    thought = reply.split(ACTION)[0].split(THOUGHT)[-1].split(FINISH)[0]
    if FINISH in reply:
        return Parsed(thought, FINISH_ACTION, reply.split(FINISH)[-1])
    names, given = _NAME.findall(reply), _INPUT.search(reply)
    if not names or not given:
        return Parsed(thought, NO_ACTION, "")
    return Parsed(thought, names[-1].strip(), given[1].strip().strip('"'))


def describe(tool: Tool, parameter_description: str) -> dict[str, Any]:
    """A tool as the prompt shows it; keys and their order are part of the protocol. Defaults are not shown."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": [
            {"name": p.name, "description": p.description, "type": _TYPES.get(p.type, "STRING")} for p in tool.inputs
        ],
        "required": [p.name for p in tool.inputs if not p.optional],
        "parameter_description": parameter_description,
    }


@dataclass(frozen=True, slots=True)
class React:
    """The ReAct dialect, with its texts. agentgauge.agent.dialect describes the methods."""

    template: str  # with the slots tool_description, action_names and those of SLOTS
    parameter_description: str
    no_action: str  # sent to the model after a reply without a call
    invalid_action: str  # sent after a call of an unknown tool without input
    reader: Callable[[str, Collection[str]], Parsed] | None = None  # of a reply and the tools on offer; None: parse

    def request(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> RenderedRequest:
        content = self.template.format(
            tool_description=str([describe(tool, self.parameter_description) for tool in tools]),
            action_names=str([tool.name for tool in tools]),
            **SLOTS,
        )
        return RenderedRequest(({"role": "system", "content": content}, *conversation))

    def read(self, reply: ChatReply, tools: Mapping[str, Tool], turn: int) -> Reading:
        text = _text(reply)
        parsed = self.reader(text, tools) if self.reader else parse(text)
        return Reading(parsed.thought, (self.resolve(parsed, tools),))

    def resolve(self, parsed: Parsed, tools: Mapping[str, Tool]) -> Action:
        """The actions of a parsed reply, given the offered ``tools`` (GTA spec 7.4)."""
        name, method = parsed.action, "run"
        if name not in tools and "." in name:
            name, method = name.rsplit(".", 1)
        if name not in tools:
            return self._special(parsed)
        if method != "run":
            return CallError(name, parsed.action_input, "API_ERROR", f"invalid API: {method}")
        fenced = _FENCED.fullmatch(parsed.action_input)
        return read_call(tools[name], fenced[2].strip() if fenced else parsed.action_input, raw=parsed.action_input)

    def _special(self, parsed: Parsed) -> Action:
        text = parsed.action_input
        if parsed.action == FINISH_ACTION:
            return Finish(text)
        if parsed.action == NO_ACTION:
            return CallError(NO_ACTION, {"text": text}, "API_ERROR", text or self.no_action)
        return CallError(INVALID_ACTION, {"text": text}, "API_ERROR", text or self.invalid_action)

    def reply_messages(self, reply: ChatReply, reading: Reading) -> list[Message]:
        return [{"role": "assistant", "content": _text(reply)}]

    def result_messages(self, results: Sequence[ActionResult]) -> list[Message]:
        return [{"role": "system", "content": f"{RESPONSE}{result.text}\n"} for result in results]

    def note(self, text: str) -> Message:
        return {"role": "system", "content": text}

    def history(self, turns: Sequence[Past]) -> list[Message]:
        return [_past(turn) for turn in turns]


def _past(turn: Past) -> Message:
    match turn:
        case PastText(role, content):
            return {"role": role, "content": content}
        case PastCall(name, arguments):
            # no blanks behind the markers and non-ASCII escaped, unlike what models write: as upstream
            return {"role": "assistant", "content": f"{ACTION}{name}\n{ACTION_INPUT}{json.dumps(arguments)}"}
        case PastResult(text):
            # without the marker that stands before the results of a living conversation: as upstream
            return {"role": "system", "content": text}


def _text(reply: ChatReply) -> str:
    """Upstream's client trims replies before they are parsed. A native call without text comes to nothing: NoAction."""
    return reply.words.strip()
