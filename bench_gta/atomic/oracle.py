"""Answers with the gold: the upper bound, and a check of the data and of the scoring. The gold has one call a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice, product

from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.core.tools import FILE_TYPES
from agentgauge.core.types import Json, Sample
from bench_gta.atomic.data import in_data_set, read_tools, resolve, user_turns
from bench_gta.atomic.fixes import PARITY, STRICT
from bench_gta.atomic.score import matches

DONE = "It is done."  # closing words where the gold has none

_PRODUCED = re.compile(r"\[(?:image|audio|video|file)\]\((.*?)\)")
_TRIED = 2000  # combinations of aliases


def answer_step(sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
    """The gold turn that the request asks for: the n-th assistant turn of the dialog for the n-th request."""
    loaded = resolve(sample)
    turns = [turn for turn in loaded.dialogs if turn["role"] == "assistant"]
    turn = turns[min(turn_of(request), len(turns) - 1)]
    if turn.get("tool_calls"):
        return call_reply(request, turn)
    texts = [one for one in turns if not one.get("tool_calls")]
    return ChatReply(text=right_answer(loaded.gt_answer, turn["content"]) if turn is texts[-1] else turn["content"])


def answer_e2e(sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
    """The next gold call of the user turn, then the answer. A gold argument that names a file which an earlier call
    produced, and which is not part of the data set, is replaced by the file that the real tool produced."""
    loaded = resolve(sample)
    number, answers, call, closing = planned(loaded.dialogs, turn_of(request))
    if call is not None:
        return call_reply(request, _with_real_files(sample, answers, call, request))
    return ChatReply(text=right_answer(loaded.gt_answer, closing) if number == 0 else closing)


def planned(
    dialogs: Sequence[Mapping[str, Json]], turn: int
) -> tuple[int, Sequence[Mapping[str, Json]], Mapping[str, Json] | None, str]:
    """The gold for the ``turn``-th request of a run, from 0: each user turn has its calls and one closing text.

    The number of the user turn, the turns that answer it, the call (None when it is time to close), and the closing
    text.
    """
    parts = user_turns(dialogs)
    for number, (_, answers) in enumerate(parts):
        calls = [one for one in answers if one["role"] == "assistant" and one.get("tool_calls")]
        closing = [one["content"] for one in answers if one["role"] == "assistant" and not one.get("tool_calls")]
        text = closing[-1] if closing else DONE
        if turn < len(calls):
            return number, answers, calls[turn], text
        if turn == len(calls) or number == len(parts) - 1:
            return number, answers, None, text
        turn -= len(calls) + 1
    raise AssertionError("a sample has a user turn: the loader checks it")


def right_answer(reference: Json, gold: str) -> str:
    """A text with the highest possible score: ``gold`` if it has that score, otherwise a text made from the reference.

    Some aliases are only found glued to a word (docs/benchmarks/gta_atomic.md#objective-answers), so each is also tried
    with an underscore, which counts as a word character, at either end.
    """
    if not reference:
        return gold
    if not isinstance(reference, Mapping):
        return str(reference[0])
    candidates = [gold]
    groups = [[alias for alias in group if alias.strip()] or [DONE] for group in reference["whitelist"]]
    for wrap in ("{}", "_{}", "{}_", "_{}_"):
        candidates += [" ".join(map(wrap.format, choice)) for choice in islice(product(*groups), _TRIED)]
    for fixes in (STRICT, PARITY):
        for text in candidates:
            if matches(text, reference, PARITY) and matches(text, reference, fixes):
                return text
    return gold


def turn_of(request: ChatRequest) -> int:
    """The number of earlier requests of the case."""
    return request.case.turn if request.case else 0


def call_reply(request: ChatRequest, turn: Mapping[str, Json]) -> ChatReply:
    """The first call of a gold turn, as a reply."""
    function = turn["tool_calls"][0]["function"]
    arguments = json.dumps(function["arguments"], ensure_ascii=False)
    call = ToolCall(function["name"], arguments, f"call_{turn_of(request)}_0")
    return ChatReply(tool_calls=(call,), finish_reason="tool_calls")


def _with_real_files(
    sample: Sample, answers: Sequence[Mapping[str, Json]], call: Mapping[str, Json], request: ChatRequest
) -> Mapping[str, Json]:
    """The call with paths of files that only the gold run produced replaced by those of this run."""
    function = call["tool_calls"][0]["function"]
    tool = read_tools(sample.root).get(function["name"])
    paths = {parameter.name for parameter in tool.inputs if parameter.type in FILE_TYPES} if tool else set()
    made = produced(answers, request)
    arguments = dict(function["arguments"])
    for name in paths & arguments.keys():
        value = arguments[name]
        own = isinstance(value, str) and (value.startswith(f"{sample.root}/") or in_data_set(sample.root, value))
        if made and isinstance(value, str) and not own:
            # a path that no gold turn names can only mean the newest file
            arguments[name] = made.get(value) or list(made.values())[-1]
    return {**call, "tool_calls": [{"type": "function", "function": {**function, "arguments": arguments}}]}


def produced(answers: Sequence[Mapping[str, Json]], request: ChatRequest) -> dict[str, str]:
    """Files that this run's tools returned, by the path that the gold has for them: the n-th stands for the n-th. In
    every dialect a result occurs as ``[image](path)`` in the messages to the model."""
    sent = [str(message.get("content") or "") for message in request.messages if message.get("role") != "assistant"]
    ours = [path for text in sent for path in _PRODUCED.findall(text)]
    results = [turn["content"] for turn in answers if turn["role"] == "tool" and turn["content"]]
    theirs = [result["content"] for result in results if result["type"] in FILE_TYPES]
    return dict(zip(theirs, ours, strict=False))
