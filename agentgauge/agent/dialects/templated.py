"""The families whose chat template describes the tools: Qwen, functionary, Llama, Hammer and DeepSeek
(docs/benchmarks/wild.md#model-families).

The published runs of Llama and Hammer gave the template bare function objects; servers take only OpenAI's wrapped ones.

DeepSeek-Coder-V2-Lite and its kin write calls in DeepSeek's tokens. WildToolBench's first release runs the model with
its chat template, and has no reader for its replies: how a reply is read is ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

from agentgauge.agent.dialects.format import (
    Format,
    ParsedCall,
    ParsedReply,
    PublishedDialogue,
    PublishedTurn,
    RenderedRequest,
    as_json,
    call_objects,
    call_of,
    calling,
    listed,
    named,
    named_list,
    result_of,
    split_date,
    text_of,
    tool_messages,
    unnamed,
    value_of,
    with_results,
)
from agentgauge.agent.dialects.lenient import (
    DEEPSEEK_TOKEN,
    FUNCTION,
    JSON,
    JSON_LIST,
    JSON_TYPED,
    PYTHON_LIST,
    PYTHON_TAG,
    read_leniently,
    tag,
)
from agentgauge.core.chat import Message

_QWEN_BLOCK = re.compile(r"<tool_call>\n(.*)\n</tool_call>")
_QWEN_OPEN = "<tool_call>"
_QWEN_END = re.compile(r"<\|im_end\|>$")  # a line break may follow
_QWEN_FORMS = (tag("tool_call"), FUNCTION, JSON)
_FUNCTIONARY_FORMS = (FUNCTION, JSON)
_LLAMA_FORMS = (PYTHON_TAG, FUNCTION, PYTHON_LIST, JSON_TYPED)
_OPEN, _CLOSE = "<function=", "</function>"  # functionary's
_LLAMA_WORDS = ("function", "name", "parameters")
_LLAMA_REFUSAL = "the published server refused the request, in which two messages of the role {} follow each other"
_LLAMA_TEMPLATE = "the server refused the request, as Llama's chat template takes only one call a message"
_HAMMER_MARK = '```\n[{"name"'

_QWEN_PROMPT = "You are Qwen, a model of Alibaba Cloud, and help with what you are asked."

PLACEHOLDER = "(an answer without a call)"
"""Stands for every text reply to Hammer: the published runs replaced them, and so gave an empty reply a text."""


@dataclass(frozen=True, slots=True)
class Qwen(Format):
    """A block for each call."""

    max_tokens: ClassVar[int | None] = 512
    refusal: ClassVar[str] = "a reply that Qwen's syntax cannot hold"

    prompt: str = _QWEN_PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The chat template has the tools; the date stays at the end of the system message."""
        return RenderedRequest(tuple(tool_messages(messages)), tuple(tools))

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The sentence loses its last sign. In Chinese each request of a task has two more line breaks before the
        date."""
        breaks = "\n\n" * (1 if dialogue.language == "en" else dialogue.asked + 1)
        system = {"role": "system", "content": f"{self.prompt[:-1]}{breaks}{dialogue.dated}"}
        return RenderedRequest((system, *_as_template(dialogue, lambda one: calling(one, one.text))), tuple(tools))

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """A block's JSON stands on one line. A block with broken JSON is skipped; an empty one, or one that is no
        call, makes the reply empty."""
        if tolerant:
            return read_leniently(text, tools, _QWEN_FORMS)
        blocks = list(_QWEN_BLOCK.finditer(text))
        found = []
        for block in blocks:
            if not block[1]:
                return ParsedReply(None)
            try:
                call = call_of(json.loads(block[1]))
            except (ValueError, RecursionError):
                continue
            if call is None:
                return ParsedReply(None)
            found.append(call.normal)
        if not found:
            return ParsedReply(_QWEN_END.sub("", text))
        before = text[: blocks[0].start()]
        return ParsedReply(before if before.strip() else None, tuple(found))

    def written(self, reply: ParsedReply) -> str:
        blocks = (f"{_QWEN_OPEN}\n{as_json(call)}\n</tool_call>" for call in call_objects(reply.calls))
        return (reply.text or "") + "\n".join(blocks)


@dataclass(frozen=True, slots=True)
class Functionary(Format):
    """functionary-medium v3.1: a tag for each call."""

    max_tokens: ClassVar[int | None] = 512
    refusal: ClassVar[str] = "a reply that functionary's syntax cannot hold"

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The chat template has the tools; tool messages carry the name of their function."""
        return RenderedRequest(tuple(tool_messages(_without_written(messages, (_OPEN,)))), tuple(tools))

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """What the model wrote goes back as text."""
        system = {"role": "system", "content": dialogue.dated}
        sent = _as_template(dialogue, lambda one: {"role": "assistant", "content": one.written or ""})
        return RenderedRequest((system, *sent), tuple(tools))

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """The text of a reply is always the whole reply. Opening and closing tags must be as many, or there are no
        calls; a tag that does not begin the reply or follow another one directly is none. Of broken JSON in the middle
        the calls before it are kept."""
        if tolerant:
            return read_leniently(text, tools, _FUNCTIONARY_FORMS)
        calls: list[ParsedCall] = []
        pieces = text.split(_CLOSE) if text.count(_OPEN) == text.count(_CLOSE) else []
        for piece in pieces:
            if not piece.startswith(_OPEN):
                continue
            name, mark, arguments = piece.partition(">{")
            try:
                calls.append(ParsedCall(name.replace(_OPEN, ""), as_json(json.loads(mark[1:] + arguments))))
            except (ValueError, RecursionError):
                break
        return ParsedReply(text, tuple(calls))

    def written(self, reply: ParsedReply) -> str:
        tagged = (f"{_OPEN}{call.name}>{as_json(value_of(call.arguments))}{_CLOSE}" for call in reply.calls)
        return (reply.text or "") + "".join(tagged)


def _without_written(messages: Iterable[Message], words: Sequence[str]) -> Iterator[Message]:
    """The messages, calls without the text that they were read from, which has these words: the template writes it."""
    for message in messages:
        is_written = bool(message.get("tool_calls")) and all(word in text_of(message) for word in words)
        yield {**message, "content": None} if is_written else message


def _as_template(dialogue: PublishedDialogue, call: Callable[[PublishedTurn], Message]) -> Iterator[Message]:
    """The dialogue of a chat template with tools. ``call``: how the running task's own calls go back."""
    for one in dialogue.history:
        yield calling(one) if one.calls else _text(one, dialogue)
        if one.results:
            yield listed(one)
    for one in dialogue.task:
        if one.role == "user":
            yield _text(one, dialogue)
        else:
            yield call(one) if one.calls else {"role": "assistant", "content": one.text}
            yield from named(one)


def _text(one: PublishedTurn, dialogue: PublishedDialogue) -> Message:
    return {"role": one.role, "content": unnamed(one.text, dialogue.language)}


@dataclass(frozen=True, slots=True)
class Llama(Format):
    """Llama 3.x: one JSON object."""

    max_tokens: ClassVar[int | None] = 1024
    refusal: ClassVar[str] = "a reply that Llama's syntax cannot hold"

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The date is an argument of the template. Parallel calls are shown one by one: the template refuses two in
        a message."""
        kept, date = split_date(messages)
        sent = tuple(_one_by_one(tool_messages(_without_written(kept, _LLAMA_WORDS))))
        return RenderedRequest(sent, tuple(tools), {"date_string": date} if date else {})

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """There is no system message. The server refused two messages of one role in a row: the results of parallel
        calls, and the user's reply to a text that has the words of a call, since such a text was left out. The chat
        template refuses parallel calls of earlier tasks."""
        task = tuple(one for one in dialogue.task if one.calls or one.role == "user" or not _has_words(one.text))
        sent = tuple(_as_template(replace(dialogue, task=task), lambda one: calling(one, None)))
        roles = [message["role"] for message in sent]
        twice = next((role for role, other in pairwise(roles) if role == other), "")
        refused = _LLAMA_REFUSAL.format(twice) if twice else ""
        refusal = _LLAMA_TEMPLATE if any(len(one.calls) > 1 for one in dialogue.history) else ""
        return RenderedRequest(sent, tuple(tools), {"date_string": dialogue.date}, refused=refused, refusal=refusal)

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """A reply without the word ``function`` is text. So the family's usual ``{"name", "parameters"}`` is text, too.

        Of a list only items that are JSON *texts* are calls; the published runs gave a list of objects no ids, on which
        the benchmark fails: an empty reply here.
        """
        if tolerant:
            return read_leniently(text, tools, _LLAMA_FORMS)
        if not _has_words(text):
            return ParsedReply(text)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return ParsedReply(text)
        try:
            objects = [json.loads(item) for item in value] if isinstance(value, list) else [value]
            calls = [call_of(one, "parameters", "arguments") for one in objects]
        except (TypeError, ValueError, RecursionError):
            return ParsedReply(None)
        kept = tuple(call for call in calls if call)
        return ParsedReply(text, kept) if len(kept) == len(calls) else ParsedReply(None)

    def written(self, reply: ParsedReply) -> str:
        """Several calls are a list of JSON texts."""
        calls = [
            as_json({"type": "function", "name": call.name, "parameters": value_of(call.arguments)})
            for call in reply.calls
        ]
        return (reply.text or "") if not calls else calls[0] if len(calls) == 1 else as_json(calls)


def _has_words(text: str) -> bool:
    return all(word in text for word in _LLAMA_WORDS)


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


@dataclass(frozen=True, slots=True)
class Hammer(Format):
    """Hammer 2.1: a JSON list in a code fence."""

    max_tokens: ClassVar[int | None] = 128
    reads_text: ClassVar[bool] = False
    refusal: ClassVar[str] = "a reply that Hammer's syntax cannot hold"

    keeps_text: bool = False  # for benchmarks that judge texts

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The results of a step are one message: a user message in the current task (after the last user message), a
        tool message in earlier ones."""
        left = sum(message.get("role") == "user" for message in messages)
        sent: list[Message] = []
        for message, results in with_results(tool_messages(messages)):
            sent.append(message)
            left -= message.get("role") == "user"
            if results:
                named = [{"name": one.get("name"), "results": result_of(text_of(one))} for one in results]
                # non-ASCII is escaped, other than everywhere else: as published
                sent.append({"role": "tool" if left else "user", "content": json.dumps(named)})
        return RenderedRequest(tuple(sent), tuple(tools))

    def published(self, dialogue: PublishedDialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """Gold calls are fenced text, and what the model wrote goes back as it was, but for a broken list of calls,
        which was left out. The running task's results are the user's, with non-ASCII escaped."""
        sent: list[Message] = [{"role": "system", "content": dialogue.dated}]
        for told in dialogue.told:
            text = unnamed(told.text, dialogue.language) if told.written is None else told.written
            gold = told.calls and told.written is None
            if told.calls or told.written is None or _HAMMER_MARK not in told.written:
                sent.append({"role": told.role, "content": _fenced(told.calls) if gold else text})
            if told.results:
                listed = json.dumps(named_list(told), ensure_ascii=told.written is not None)
                sent.append({"role": "tool" if gold else "user", "content": listed})
        return RenderedRequest(tuple(sent), tuple(tools))

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """A reply that contains the start of a fenced list is parsed as that list. The text beside calls is the whole
        reply, unless texts are judged."""
        if tolerant:
            return read_leniently(text, tools, (JSON_LIST,))
        if _HAMMER_MARK not in text:
            return ParsedReply(text if self.keeps_text and text.strip() else PLACEHOLDER)
        try:
            value = json.loads(text[3:-4])
            found = [call_of(item, "parameters", "arguments") for item in value] if isinstance(value, list) else [None]
        except (ValueError, RecursionError):
            return ParsedReply(text)
        calls = tuple(call for call in found if call)
        if len(calls) < len(found):
            return ParsedReply(None)
        return ParsedReply(None if self.keeps_text else text, calls)

    def written(self, reply: ParsedReply) -> str:
        return _fenced(reply.calls) if reply.calls else reply.text or ""


def _fenced(calls: Iterable[ParsedCall]) -> str:
    return f"```\n{as_json(call_objects(calls))}\n```"


_FORMS = (DEEPSEEK_TOKEN, JSON)


@dataclass(frozen=True, slots=True)
class DeepSeek(Format):
    """A block of tokens for each call."""

    max_tokens: ClassVar[int | None] = 512
    refusal: ClassVar[str] = "a reply that DeepSeek's syntax cannot hold"

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The chat template has the tools. That of DeepSeek-Coder-V2-Lite shows neither them nor results."""
        return RenderedRequest(tuple(tool_messages(messages)), tuple(tools))

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """Calls in the tokens, and bare ones of tools on offer, under both scorings."""
        return read_leniently(text, tools, _FORMS)

    def written(self, reply: ParsedReply) -> str:
        calls = "\n".join(
            f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{call.name}\n"
            f"```json\n{as_json(value_of(call.arguments))}\n```<｜tool▁call▁end｜>"
            for call in reply.calls
        )
        said = reply.text or ""
        return f"{said}<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>" if calls else said
