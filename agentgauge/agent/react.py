"""The ReAct text dialect, exactly as the GTA benchmark's agent wrote and parsed it
(docs/benchmarks/gta_atomic.md#react-protocol; lagent 0.2.2 to 0.2.4).

A system prompt lists the tools, and the model answers in lines that begin with markers. All matching is
ASCII and case-sensitive. The oddities of the original reader are kept, since published scores depend on them: a final
answer wins over any call, even inside an argument; of two calls the last name goes with the first input.

``Reacting`` is ReAct for benchmarks that speak OpenAI's format. No published run used it: prompt and rules are ours.
There a reply may hold several calls, each an action with its input, and a text without markers is what the model says
to the user. Under strict scoring GTA, too, reads replies so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.agent.dialect import (
    INVALID_ACTION,
    NO_ACTION,
    Action,
    ActionResult,
    CallError,
    Finish,
    Past,
    PastCall,
    PastResult,
    PastText,
    Reading,
    read_call,
)
from agentgauge.agent.dialects.call_values import arguments_of, offered_tools, text_value
from agentgauge.agent.dialects.format import (
    Format,
    ParsedCall,
    ParsedReply,
    RenderedRequest,
    Turn,
    as_json,
    fill,
    functions,
    turns,
)
from agentgauge.agent.dialects.lenient import without_thoughts
from agentgauge.agent.model_json import Budget, NoValue, decode
from agentgauge.core.chat import ChatReply, Message
from agentgauge.core.tools import Tool
from agentgauge.core.types import Json

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
    """The parts of a reply (docs/benchmarks/gta_atomic.md#parsing-a-reply), not yet compared with the tools."""

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
        """The actions of a parsed reply, given the offered ``tools``
        (docs/benchmarks/gta_atomic.md#resolving-an-action)."""
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


_PROMPT = """\
You help a user with the tools below. Each has a name, a description and a JSON schema of its parameters:
{tools}

To use tools, write one such pair of lines for every call, several pairs if the calls do not depend on each other:
Thought: why the call is needed
Action: the name of the tool
Action Input: its arguments as one JSON object on one line
The results come back behind "Response:". When you have what you need, when the user must first \
tell you something, or when no
tool fits, write:
Thought: why no call is needed now
Final Answer: what you say to the user"""

_NEXT = re.compile(rf"^[ \t]*(?:{'|'.join(map(re.escape, (ACTION, THOUGHT, FINISH, RESPONSE)))})|\Z", re.MULTILINE)
_PAIR = re.compile(
    # every repetition ends at one sign, so that hostile text costs no more than its length
    rf"(?:^|(?<=</think>))[ \t]*{re.escape(ACTION)}([^\n]*)"
    rf"(?P<input>\n+[ \t]*{re.escape(ACTION_INPUT)}\s*(?:```(?:json)?\s*)?)?",
    re.MULTILINE,
)
_BEHIND = re.compile(r"[\s`]*?(?=\n|\Z)")


@dataclass(frozen=True, slots=True)
class Reacting(Format):
    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        prompt = fill(self.prompt, tools="\n".join(map(as_json, functions(tools))))
        sent: list[Message] = [{"role": "system", "content": prompt}]
        sent += [message for turn in turns(messages) for message in self._turn(turn)]
        first = sent[1] if len(sent) > 1 and sent[1]["role"] == "system" else None
        if first:  # chat templates take one system message
            sent[:2] = [{"role": "system", "content": f"{sent[0]['content']}\n\n{first['content']}"}]
        return RenderedRequest(tuple(sent))

    def _turn(self, turn: Turn) -> Iterator[Message]:
        content = self.written(ParsedReply(turn.text, turn.calls)) if turn.role == "assistant" else turn.text
        yield {"role": turn.role, "content": content}
        if turn.results:
            yield {"role": "user", "content": "\n".join(f"{RESPONSE} {result}" for result in turn.results)}

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """As in GTA a final answer wins over any call. Arguments may stand in a code fence; marks inside them are text.
        An action on offer needs no input.

        No published run used this syntax, so both scorings read alike.
        """
        text, calls, rest = _parts(text, offered_tools(tools))
        if FINISH in rest:
            return ParsedReply(rest.rpartition(FINISH)[2].strip() or None)
        if not calls:
            return ParsedReply(text if text.strip() else None)
        thought = text.partition(ACTION)[0].replace(THOUGHT, "").strip()
        return ParsedReply(thought or None, calls)

    def write(self, reply: ParsedReply) -> str:
        return self.written(reply)  # blanks around its texts are not read back

    def written(self, reply: ParsedReply) -> str:
        """Raises ValueError for a call without a name, and one whose name has a line break."""
        if not reply.calls:
            return f"{FINISH}{reply.text or ''}"  # GTA's reader takes a blank for a part of the answer
        lines = [f"{THOUGHT} {reply.text}"] if reply.text else []
        for call in reply.calls:
            if not call.name or "\n" in call.name:
                raise ValueError(f"ReAct cannot hold a call named {call.name!r}")
            lines += [f"{ACTION} {call.name}", f"{ACTION_INPUT} {call.arguments}"]
        return "\n".join(lines)


def read_step(text: str, tools: Collection[str]) -> Parsed:
    """The one action of a reply in GTA: its final answer, else its first call."""
    text, calls, rest = _parts(text, tools)
    thought = parse(text).thought
    if FINISH in rest:
        return Parsed(thought, FINISH_ACTION, rest.rpartition(FINISH)[2].strip())
    return Parsed(thought, calls[0].name, calls[0].arguments) if calls else Parsed(thought, NO_ACTION, "")


def _parts(text: str, offered: Collection[str]) -> tuple[str, tuple[ParsedCall, ...], str]:
    """The text without the thoughts, its calls, and the text without their arguments."""
    if "<think>" in text or "</think>" in text:
        text = without_thoughts(text, _masked(text))
    calls, rest, place, budget = [], [], 0, Budget(text)
    while pair := _PAIR.search(text, place):
        name, is_call = pair[1].strip(), pair["input"] or pair[1].strip() in offered
        rest.append(text[place : pair.start() if is_call else pair.end()])
        arguments, place = _arguments(text, pair.end(), budget) if pair["input"] else ("{}", pair.end())
        if name and is_call:
            calls.append(ParsedCall(name, arguments))
    return text, tuple(calls), "".join([*rest, text[place:]])


def _masked(text: str) -> str:
    """The text with blanks for the arguments that can be read: marks inside of them are text."""
    parts, place, budget = [], 0, Budget(text)
    while pair := _PAIR.search(text, place):
        _, end = _decoded(text, pair.end(), budget) if pair["input"] else (None, pair.end())
        parts.append(text[place : pair.end()] + " " * (end - pair.end()))
        place = end
    return "".join([*parts, text[place:]])


def _decoded(text: str, place: int, budget: Budget) -> tuple[Json, int]:
    """The value at ``place``, and its end; ``place`` where it cannot be read."""
    if not budget:
        return None, place
    try:
        return decode(text, place)
    except NoValue as error:
        budget.failed(place, error.place)
        return None, place


def _arguments(text: str, place: int, budget: Budget) -> tuple[str, int]:
    """The object at ``place`` and its end; else the text up to the next mark: ``{}`` where that holds nothing."""
    value, end = _decoded(text, place, budget)
    if isinstance(value, dict) and (behind := _BEHIND.match(text, end)):
        return as_json(value), behind.end()
    budget.failed(place, end)
    following = _NEXT.search(text, place)
    end = following.start() if following else len(text)
    given = text[place:end].strip("` \t\r\n")
    return arguments_of(text_value(given, given)), end  # JSON inside of a text, too
