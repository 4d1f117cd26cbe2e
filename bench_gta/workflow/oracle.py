"""Answering with the reference steps, by which real tools make the deliverables
(docs/benchmarks/gta_workflow.md#tasks)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.types import Json, Sample
from bench_gta.atomic.oracle import call_reply, planned, produced, turn_of
from bench_gta.workflow.data import files_of, resolve


def answer(sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
    """The next reference call of the user turn, then its closing text.

    Wherever an argument names an attached file, or one that an earlier reference call made, the path becomes that of
    the file of this run: also inside a longer text, such as Markdown with pictures or a list between commas.
    """
    _, answers, call, closing = planned(resolve(sample).dialogs, turn_of(request))
    if call is None:
        return ChatReply(text=closing)
    attached = {used["path"]: f"{sample.root}/{used['path']}" for used in files_of(sample.payload)}
    paths = attached | produced(answers, request)
    function = call["tool_calls"][0]["function"]
    arguments = {name: with_paths(value, paths) for name, value in function["arguments"].items()}
    called = {"type": "function", "function": {**function, "arguments": arguments}}
    return call_reply(request, {**call, "tool_calls": [called]})


def with_paths(value: Json, paths: Mapping[str, str]) -> Json:
    """A text with every path of ``paths`` that stands in it as a whole replaced; any other value as it is."""
    if not isinstance(value, str) or not paths:
        return value
    known = "|".join(map(re.escape, sorted(paths, key=len, reverse=True)))
    return re.sub(rf"(?<![\w./-])(?:{known})(?![\w/-])", lambda found: paths[found[0]], value)
