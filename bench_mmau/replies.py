"""Parses stored responses of three shapes, and the targets that they are compared with (docs/benchmarks/mmau.md#fields
and docs/benchmarks/mmau.md#stored-replies).

The result is always a list of messages, one per choice, as the published evaluator makes them; an empty list is
possible (Gemini).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agentgauge.core.chat import completed
from agentgauge.core.errors import DataProblem
from agentgauge.core.text import cut
from bench_mmau.fixes import PARITY, Fixes


class NotScorable(DataProblem):
    """A record for which the published evaluator raises: no number may stand in for it
    (docs/benchmarks/mmau.md#replies-without-an-answer).

    ``record_id`` names the record, ``""`` if the whole file is meant; ``reason`` is the problem, ``str()`` the whole
    sentence.
    """

    def __init__(self, record_id: str, text: str) -> None:
        super().__init__(f"Apple MMAU record {cut(record_id)!r}: {text}" if record_id else f"Apple MMAU: {text}")
        self.record_id, self.reason = record_id, text


class StopsOnReply(NotScorable):
    """A model's reply on which the published evaluator stops (docs/benchmarks/mmau.md#replies-without-an-answer).

    The metrics raise it as that evaluator raises. Cases and ``agentgauge score`` catch it: they score the reply as that
    evaluator scores an invalid one, and count it (``agentgauge.core.types.Score.stops``).
    """


Client = Literal["openai", "anthropic", "gemini"]


@dataclass(frozen=True, slots=True)
class ReplyCall:
    """One tool call. ``arguments`` is the text as it was stored, JSON or not; the extras are fields outside the
    schema."""

    name: str
    arguments: str
    id: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    function_extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplyMessage:
    """An assistant message. ``calls`` None: no such field; an empty tuple: an empty list, which is not the same
    everywhere."""

    content: str | None
    calls: tuple[ReplyCall, ...] | None = None
    function_call: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Unreadable(ValueError):
    """A stored response that the published evaluator cannot parse. Tool use counts it; the other metrics refuse the
    record."""


EMPTY = ReplyMessage("")


def read(stored: object, client: Client = "openai", *, fixes: Fixes = PARITY) -> list[ReplyMessage]:
    """Decode and parse one stored response. Raises Unreadable."""
    if not isinstance(stored, str):
        raise Unreadable(f"the stored response is {kind(stored)}; it has to be the provider's response as JSON text")
    try:
        return parse(json.loads(stored), client, fixes=fixes)
    except Unreadable:
        raise
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the stored response is not JSON ({error}); generate it again") from error


def usable(stored: object, *, fixes: Fixes = PARITY) -> tuple[list[ReplyMessage], str]:
    """A stored response for the metrics that need its text, and why the published evaluator stops on it, or "".

    A response that cannot be parsed is replaced by an empty reply, and so is, in parity, one whose content is null.
    """
    try:
        messages = read(stored, fixes=fixes)
        if messages:
            text_of(messages[0].content, "", fixes)
    except Unreadable as error:
        return [EMPTY], str(error)
    except StopsOnReply as stop:
        return [EMPTY], stop.reason
    return messages, ""


def parse(response: Any, client: Client, *, fixes: Fixes = PARITY) -> list[ReplyMessage]:
    """Parse a decoded response. Raises Unreadable for a shape that the client's library refuses."""
    if not isinstance(response, Mapping):
        raise Unreadable(f"the stored response is {kind(response)}; it has to be an object")
    return _PARSERS[client](response, fixes)


def record_id(record: Mapping[str, Any]) -> str:
    """The record's name in messages; ``?`` if it has no id."""
    return str(record.get("id", record.get("deliverable_id", "?")))


def contents(messages: Sequence[ReplyMessage]) -> list[str | None]:
    return [message.content for message in messages]


def text_of(content: str | None, number: str, fixes: Fixes) -> str:
    """The text of a reply. Raises StopsOnReply if there is none, unless ``null_is_empty``
    (docs/benchmarks/mmau.md#replies-without-an-answer)."""
    if content is None and not fixes.null_is_empty:
        raise StopsOnReply(number, "the reply has no text (its content is null)")
    return content or ""


def why_useless(text: str, otherwise: str) -> str:
    """Why a reply's text holds nothing to score, for an explanation: there is none, or ``otherwise``."""
    return otherwise if text.strip() else "the reply has no text"


# -- the three shapes


def _openai(response: Mapping[str, Any], fixes: Fixes) -> list[ReplyMessage]:
    choices = response.get("choices", [])
    if not isinstance(choices, list):
        raise Unreadable(f"'choices' is {kind(choices)}; it has to be a list")
    return [_choice(choice, fixes) for choice in choices] or [EMPTY]


def _choice(choice: Any, fixes: Fixes) -> ReplyMessage:
    if not isinstance(choice, Mapping) or "message" not in choice:
        raise Unreadable("a choice has no 'message'; responses of the text-completion endpoint cannot be scored")
    message = validate(choice["message"], any_call=fixes.any_call)
    if not message.content:
        return message
    text = message.content
    # a line break on the left protects what follows it, and "<n>" turns into one [Q1]
    trimmed = text.lstrip() if fixes.plain_text else text.replace("\n", "<n>").lstrip().replace("<n>", "\n")
    return ReplyMessage(trimmed, message.calls, message.function_call, message.extra)


def _anthropic(response: Mapping[str, Any], fixes: Fixes) -> list[ReplyMessage]:
    """Any call drops all text; else the last text block counts. Nothing is trimmed."""
    blocks = _objects(response.get("content") or [], "content")
    used = [block for block in blocks if block.get("type") == "tool_use"]
    calls = [ReplyCall(_text(block, "name"), json.dumps(block.get("input")), _text(block, "id")) for block in used]
    if calls:
        return [ReplyMessage("", tuple(calls))]
    texts = [_text(block, "text") for block in blocks if block.get("type") == "text"]
    return [ReplyMessage(texts[-1])] if texts else [EMPTY]


def _gemini(response: Mapping[str, Any], fixes: Fixes) -> list[ReplyMessage]:
    """A candidate without content is skipped, so that the list may be empty."""
    candidates = _objects(response.get("candidates") or [], "candidates")
    if not candidates:
        return [EMPTY]
    return [_candidate(candidate["content"]) for candidate in candidates if candidate.get("content")]


def _candidate(content: Any) -> ReplyMessage:
    if not isinstance(content, Mapping):
        raise Unreadable(f"a candidate's content is {kind(content)}; it has to be an object")
    text: str | None = ""
    calls: list[ReplyCall] = []
    for part in _objects(content.get("parts") or [], "parts"):
        if "text" in part:
            if "thought" not in part:
                raise Unreadable("a part with 'text' has no 'thought', which the response shape demands")
            if not part["thought"]:
                text = _text(part, "text", null=True)  # a null overwrites an earlier text
        if called := part.get("function_call"):
            if not isinstance(called, Mapping):
                raise Unreadable(f"'function_call' is {kind(called)}; it has to be an object")
            # the original's ids are random; nothing that is scored depends on them
            calls.append(ReplyCall(_text(called, "name"), json.dumps(called.get("args")), f"call_{len(calls)}"))
    return ReplyMessage(text, tuple(calls) or None)


_PARSERS: Mapping[Client, Callable[[Mapping[str, Any], Fixes], list[ReplyMessage]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


# -- the schema of an assistant message


def validate(message: Any, *, any_call: bool = False) -> ReplyMessage:
    """An assistant message of the OpenAI schema; fields outside of it pass. Raises Unreadable."""
    if not isinstance(message, Mapping):
        raise Unreadable(f"the message is {kind(message)}; it has to be an object")
    if message.get("role") != "assistant":
        raise Unreadable(f"the message's role is {message.get('role')!r}; it has to be 'assistant'")
    function_call = message.get("function_call")
    if function_call is not None:
        if not isinstance(function_call, Mapping):
            raise Unreadable(f"'function_call' is {kind(function_call)}; it has to be an object or null")
        _text(function_call, "arguments")
        _text(function_call, "name")
    calls = message.get("tool_calls")
    return ReplyMessage(
        _text(message, "content", null=True),
        None if calls is None else tuple(_call(call, any_call) for call in _objects(calls, "tool_calls")),
        function_call,
        _extra(message, "content", "role", "function_call", "tool_calls"),
    )


def _completed(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The call with empty texts for what a server left out, and with arguments as text: ``{}`` for none."""
    function = call["function"] if isinstance(call.get("function"), Mapping) else {}
    given = function.get("arguments")
    arguments = completed(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
    function = {**function, "name": function.get("name") or "", "arguments": arguments}
    return {**call, "id": call.get("id") or "", "type": "function", "function": function}


def _call(call: Mapping[str, Any], any_call: bool) -> ReplyCall:
    if any_call:
        call = _completed(call)
    if call.get("type") != "function":
        raise Unreadable(f"a tool call's type is {call.get('type')!r}; it has to be 'function'")
    function = call.get("function")
    if not isinstance(function, Mapping):
        raise Unreadable(f"a tool call's 'function' is {kind(function)}; it has to be an object")
    return ReplyCall(
        _text(function, "name"),
        _text(function, "arguments"),
        _text(call, "id"),
        _extra(call, "id", "function", "type"),
        _extra(function, "arguments", "name"),
    )


def _text(where: Mapping[str, Any], name: str, *, null: bool = False) -> Any:
    value = where.get(name)
    if isinstance(value, str) or (null and value is None):
        return value
    raise Unreadable(f"{name!r} is {kind(value)}; it has to be text{' or null' if null else ''}")


def _objects(values: Any, name: str) -> list[Mapping[str, Any]]:
    if not isinstance(values, list) or not all(isinstance(value, Mapping) for value in values):
        raise Unreadable(f"{name!r} is {kind(values)}; it has to be a list of objects")
    return values


def _extra(where: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {name: value for name, value in where.items() if name not in known}


def kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null or missing"}
    return names.get(type(value), "a number")


# -- the target


def format_target(message: Any, number: str = "") -> ReplyMessage:
    """A stored target as a message: object arguments become JSON text with sorted keys, object content JSON text in its
    own order.

    Raises NotScorable for a target that the published evaluator refuses, such as ``"tool_calls": null``.
    """
    if not isinstance(message, Mapping):
        raise NotScorable(
            number,
            f"the target message is {kind(message)}; it has to be an assistant message, so check the data file",
        )
    formatted = dict(message)
    if isinstance(formatted.get("content"), Mapping):
        formatted["content"] = json.dumps(formatted["content"])
    try:
        if "tool_calls" in formatted:
            formatted["tool_calls"] = [_target_call(call) for call in _objects(formatted["tool_calls"], "tool_calls")]
        return validate(formatted)
    except Unreadable as error:
        raise NotScorable(
            number, f"in the target message, {error}; leave 'tool_calls' out of a target of text alone"
        ) from error


def _target_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if isinstance(function, Mapping) and isinstance(function.get("arguments"), Mapping):
        function = {**function, "arguments": json.dumps(function["arguments"], sort_keys=True)}
    return {**call, "function": function}
