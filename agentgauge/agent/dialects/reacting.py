"""ReAct for benchmarks that speak OpenAI's format. No published run used it: prompt and rules are ours.

The markers are those of agentgauge.agent.react, whose reader stays GTA's own. Here a reply may hold several calls, each
an action with its input, and a text without markers is what the model says to the user. Under strict scoring GTA, too,
reads replies with this module.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.agent.actions import NO_ACTION
from agentgauge.agent.dialects.call_values import arguments_of, offered_tools, text_value
from agentgauge.agent.dialects.conversation import Turn, fill, functions, turns
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest, as_json
from agentgauge.agent.dialects.lenient import without_thoughts
from agentgauge.agent.near_json import Budget, NoValue, decode
from agentgauge.agent.react import (
    ACTION,
    ACTION_INPUT,
    FINISH,
    FINISH_ACTION,
    RESPONSE,
    THOUGHT,
    Parsed,
    parse,
)
from agentgauge.core.chat import Message
from agentgauge.core.types import Json

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
