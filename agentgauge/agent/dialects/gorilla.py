"""Gorilla openfunctions v2: one prompt, calls in Python's syntax behind marks (wild spec 8, Gorilla)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import Turn, fill, functions, named_results, split_question
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest, as_json
from agentgauge.agent.dialects.pycalls import parse, read_anywhere, render, render_history
from agentgauge.core.chat import Message

_MARK = "<<function>>"

_SYSTEM = "You help programmers. You turn their questions into calls of the functions that they give you."

_PROMPT = """\
{system}
### Instruction: {history}<<function>>{tools}
<<question>>{query}
### Response: """


@dataclass(frozen=True, slots=True)
class Gorilla(Format):
    """The slots of the prompt are ``system``, ``history``, ``tools`` and ``query``."""

    refusal: ClassVar[str] = "a reply that Gorilla's syntax cannot hold"

    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """One user message. The conversation's system message, which names the date, replaces the system sentence.

        The last user message is the question; what came behind it is part of the history, which stands before it.
        """
        system, question, turns = split_question(messages)
        content = fill(
            self.prompt,
            system=system or _SYSTEM,
            history="".join(f"{line}\n" for turn in turns for line in self._lines(turn)),
            tools=as_json(functions(tools)),
            query=question,
        )
        return RenderedRequest(({"role": "user", "content": content},))

    def _lines(self, turn: Turn) -> list[str]:
        calls = "".join(f"{_MARK}{render_history([call])}" for call in turn.calls)
        sent = f"<<{turn.role}>>{calls or turn.text}<<{turn.role}>>"
        return [sent, f"<<tool>>{as_json(named_results(turn))}<<tool>>"] if turn.results else [sent]

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        """The text of a reply is always the whole reply, also beside calls. Parts that are no calls are dropped."""
        calls: list[ParsedCall] = []
        for part in text.split(_MARK)[1:]:
            try:
                calls += parse(part, positional="None", tolerant=tolerant)
            except ValueError:
                continue  # as published
        if calls or not tolerant:
            return ParsedReply(text, tuple(calls))
        return read_anywhere(text.replace(_MARK, "\n"))

    def written(self, reply: ParsedReply) -> str:
        return "".join(f"{_MARK}{render([call])}" for call in reply.calls) or reply.text or ""
