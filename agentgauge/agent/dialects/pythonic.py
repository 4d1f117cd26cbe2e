"""ToolACE, ToolACE-2, watt-tool and Gorilla: calls in Python's syntax (docs/benchmarks/wild.md#python-calls)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from agentgauge.agent.dialects.format import (
    Format,
    ParsedCall,
    ParsedReply,
    PublishedDialogue,
    PublishedTurn,
    RenderedRequest,
    Turn,
    as_json,
    date_to_last_user,
    dated_once,
    fill,
    functions,
    named,
    named_list,
    named_results,
    prompted,
    split_question,
    unnamed,
    using,
)
from agentgauge.agent.dialects.lenient import GORILLA_MARK, JSON, PYTHON_LINE, PYTHON_LIST, read_leniently
from agentgauge.agent.dialects.pycalls import first_call, parse, render, render_history, render_published
from agentgauge.core.chat import Message

_PROMPT = """\
Your field is function calling: from a user's question and a set of functions you work out which calls, \
one or several, lead to
the answer. Where no function suits the question, say that. Where the question leaves out what a parameter \
needs, say that too.
A reply with calls holds nothing but the calls, in this form:
[function_one(parameter_one=value, parameter_two=value), function_two(parameter=value)]
Any other text has no place in such a reply. The functions you may call, with JSON schemas of their parameters:
{tools}"""

_FORMS = (PYTHON_LIST, PYTHON_LINE, JSON)

_GORILLA_MARK = "<<function>>"

_GORILLA_SYSTEM = "You help programmers. You turn their questions into calls of the functions that they give you."

_GORILLA_PROMPT = """\
{system}
### Instruction: {history}<<function>>{tools}
<<question>>{query}
### Response: """


@dataclass(frozen=True, slots=True)
class ToolAce(Format):
    """The slot of the prompt is ``tools``."""

    temperature: ClassVar[float | None] = 0.0
    max_tokens: ClassVar[int | None] = 512
    refusal: ClassVar[str] = "a reply that cannot be written as a list of calls"

    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date goes to the last user message, unless a user message has one. The published runs dropped the system
        message, which held only the date there; other system text is kept after the prompt."""
        return prompted(fill(self.prompt, tools=repr(functions(tools))), date_to_last_user(messages), self._turn)

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date is behind the session's first words, in later tasks, too."""
        system = {"role": "system", "content": fill(self.prompt, tools=repr(functions(tools)))}
        return _unless_null(system, dated_once(dialogue, dialogue.language), self._rendered)

    def _rendered(self, told: PublishedTurn) -> Iterator[Message]:
        if told.results:
            yield {"role": "tool", "content": as_json(named_list(told))}

    def _turn(self, turn: Turn) -> Iterator[Message]:
        yield {"role": turn.role, "content": f"[{render_history(turn.calls)}]" if turn.calls else turn.text}
        yield from self._results(turn)

    def _results(self, turn: Turn) -> Iterator[Message]:
        if turn.results:
            yield {"role": "tool", "content": as_json(named_results(turn))}

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """Calls between brackets, else text; brackets around anything else are an empty reply. The text is a sentence
        with the names of the calls, also where there are none."""
        if tolerant:
            return read_leniently(text, tools, _FORMS)
        if not (text.startswith("[") and text.endswith("]")):
            return ParsedReply(text)
        try:
            calls = parse(text)
        except ValueError:
            return ParsedReply(None)
        return ParsedReply(using(call.name for call in calls), tuple(calls))

    def written(self, reply: ParsedReply) -> str:
        return f"[{render(reply.calls)}]" if reply.calls else reply.text or ""


@dataclass(frozen=True, slots=True)
class Watt(ToolAce):
    """watt-tool: each result in a message of its own.

    The published runs repeated a request up to five times if no reply came; here the retries of the endpoint do that.
    """

    max_tokens: ClassVar[int | None] = 2048

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The conversation's system messages, which include the date, come after the prompt."""
        return prompted(fill(self.prompt, tools=repr(functions(tools))), messages, self._turn)

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date follows the prompt, and is an argument of the template, too."""
        prompt = fill(self.prompt, tools=repr(functions(tools)))
        system = {"role": "system", "content": f"{prompt}\n\n{dialogue.dated}"}
        told = [replace(one, text=unnamed(one.text, dialogue.language)) for one in dialogue.told]
        return replace(_unless_null(system, told, self._rendered), template={"date_string": dialogue.date})

    def _rendered(self, told: PublishedTurn) -> Iterator[Message]:
        if told.written is not None:
            yield from named(told)
        else:
            for one in named_list(told):
                yield {"role": "tool", "name": one["name"], "content": as_json(one["results"])}

    def _results(self, turn: Turn) -> Iterator[Message]:
        for call, result in zip(turn.calls, turn.results, strict=False):
            yield {"role": "tool", "name": call.name, "content": result}


def _unless_null(
    system: Message, told: Sequence[PublishedTurn], results: Callable[[PublishedTurn], Iterator[Message]]
) -> RenderedRequest:
    """The request of ToolACE and watt-tool; a call of the history that the published code cannot write ends the
    task."""
    sent: list[Message] = [system]
    for one in told:
        content = one.text if one.written is None else one.written
        if one.calls and one.written is None:
            try:
                content = f"[{render_published(one.calls)}]"
            except ValueError as error:
                return RenderedRequest((), refused=f"the published code cannot write a call of the history: {error}")
        sent += [{"role": one.role, "content": content}, *results(one)]
    return RenderedRequest(tuple(sent))


@dataclass(frozen=True, slots=True)
class Gorilla(Format):
    """Gorilla openfunctions v2: calls after marks. The slots of the prompt are ``system``, ``history``, ``tools`` and
    ``query``.
    """

    temperature: ClassVar[float | None] = 0.0
    max_tokens: ClassVar[int | None] = 512
    reads_text: ClassVar[bool] = False  # without the blanks around it
    refusal: ClassVar[str] = "a reply that Gorilla's syntax cannot hold"

    prompt: str = _GORILLA_PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """One user message. The conversation's system message, which names the date, replaces the system sentence.

        The last user message is the question; messages after it become part of the history, which is placed before it.
        """
        system, question, turns = split_question(messages)
        content = fill(
            self.prompt,
            system=system or _GORILLA_SYSTEM,
            history="".join(f"{line}\n" for turn in turns for line in self._lines(turn)),
            tools=as_json(functions(tools)),
            query=question,
        )
        return RenderedRequest(({"role": "user", "content": content},))

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The history has a mark and the question, too. Gold calls are lost, speakers keep their names, and non-ASCII
        of the tools is escaped."""
        lines: list[tuple[str, str]] = []
        for told in dialogue.told:
            lines.append((told.role, told.text))
            if told.results:
                lines.append(("tool", as_json(list(told.results))))
        history = "\n".join(f"<<{role}>>{text}<<{role}>>" for role, text in lines)
        content = fill(
            self.prompt,
            system=f"\n\n{dialogue.dated}",
            history=f" <<history>> {history}\n\n",
            tools=json.dumps(list(tools)),
            query=[told.text for told in dialogue.told if told.role == "user"][-1],
        )
        return RenderedRequest(({"role": "user", "content": content},))

    def _lines(self, turn: Turn) -> list[str]:
        calls = "".join(f"{_GORILLA_MARK}{render_history([call])}" for call in turn.calls)
        sent = f"<<{turn.role}>>{calls or turn.text}<<{turn.role}>>"
        return [sent, f"<<tool>>{as_json(named_results(turn))}<<tool>>"] if turn.results else [sent]

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """The text of a reply is always the whole reply without the blanks around it, even if it has calls. Parts that
        do not begin with a statement of one call are dropped."""
        if tolerant:
            found = read_leniently(text, tools, (GORILLA_MARK, *_FORMS))
            return replace(found, text=text) if found.calls else found
        calls: list[ParsedCall] = []
        for part in text.split(_GORILLA_MARK)[1:]:
            with suppress(ValueError):  # as published
                calls.append(first_call(part))
        return ParsedReply(text.strip(), tuple(calls))

    def written(self, reply: ParsedReply) -> str:
        return "".join(f"{_GORILLA_MARK}{render([call])}" for call in reply.calls) or reply.text or ""
