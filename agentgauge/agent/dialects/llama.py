"""Llama 3.x: one JSON object (wild spec 8, Llama)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import split_date, tool_messages, with_results
from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply, RenderedRequest, as_json, value_of
from agentgauge.agent.dialects.lenient import read_leniently, without_thoughts
from agentgauge.core.chat import Message

_WORDS = ("function", "name", "parameters")


@dataclass(frozen=True, slots=True)
class Llama(Format):
    """See agentgauge.agent.dialects.format for what each method is for.

    The published runs gave the template bare function objects; servers take only OpenAI's wrapped ones.
    """

    max_tokens: ClassVar[int | None] = 1024
    refusal: ClassVar[str] = "a reply that Llama's syntax cannot hold"

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date is an argument of the template. Parallel calls are shown one by one: the template refuses two in
        a message."""
        kept, date = split_date(messages)
        sent = tuple(_one_by_one(tool_messages(kept)))
        return RenderedRequest(sent, tuple(tools), {"date_string": date} if date else {})

    def read(self, text: str, *, tolerant: bool) -> ParsedReply:
        """A reply without the word ``function`` is text, which the family's usual ``{"name", "parameters"}`` therefore
        is.

        Of a list only items that are JSON *texts* are calls; the published runs gave a list of objects no ids, on which
        the benchmark fails: an empty reply here.
        """
        if tolerant:
            return read_leniently(without_thoughts(text).removeprefix("<|python_tag|>"))
        if not all(word in text for word in _WORDS):
            return ParsedReply(text)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return ParsedReply(text)
        try:
            calls = [_call(json.loads(item)) for item in value] if isinstance(value, list) else [_call(value)]
        except (TypeError, ValueError, KeyError, RecursionError):
            return ParsedReply(None)
        return ParsedReply(None, tuple(calls))

    def written(self, reply: ParsedReply) -> str:
        """Several calls are a list of JSON texts."""
        calls = [
            as_json({"type": "function", "name": call.name, "parameters": value_of(call.arguments)})
            for call in reply.calls
        ]
        return (reply.text or "") if not calls else calls[0] if len(calls) == 1 else as_json(calls)


def _call(value: Any) -> ParsedCall:
    """Raises KeyError or TypeError for what is no call."""
    name, given = value["name"], value["parameters"] if "parameters" in value else value["arguments"]
    if not isinstance(name, str):
        raise TypeError("the name is no text")
    return ParsedCall(name, given if isinstance(given, str) else as_json(given))


def _one_by_one(messages: Iterable[Message]) -> Iterator[Message]:
    """Results are looked for in their own step only: ids may come again in a later one."""
    for message, results in with_results(messages):
        calls = message.get("tool_calls") or ()
        if len(calls) < 2:
            yield message
            yield from results
            continue
        left = {result.get("tool_call_id"): result for result in results}
        for call in calls:
            yield {**message, "tool_calls": [call]}
            if call["id"] in left:
                yield left.pop(call["id"])
        yield from left.values()
