"""Replies that come as server-sent events: the body that the endpoint would have sent in one piece.

The body has every field that the pieces had, so the readers of whole bodies read it. A stream that breaks off before
the reply has ended is a truncated body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentgauge.core.causes import Failure
from agentgauge.core.text import parse_reply
from agentgauge.model import responses, wire
from agentgauge.model.exchange import Answer, Outgoing, is_event_stream, lost

_ASKING = {wire.PATH: b'"stream":true,"stream_options":{"include_usage":true}', responses.PATH: b'"stream":true'}
"""By path: the fields that ask for a stream. What ``extra_body`` sets comes behind them, and counts."""
_LABELS = frozenset(("role", "type", "name", "object", "format", "signature", "thought_signature", "status", "model"))
"""Texts that come whole; a later one takes the place of an earlier one. All other texts come in pieces."""
_IDS = frozenset(("id", "call_id"))
"""Texts that come whole, of which the first one stays."""
_STREAM = re.compile(rb"(?<!up)(?<!down)stream", re.IGNORECASE)
_LINE_END = re.compile(rb"\r\n|\n|\r")
_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
_TOO_DEEP = lost("garbled body", "an event of its stream is nested too deep")
_FINAL = ("response.completed", "response.incomplete", "response.failed")


def streamed(request: Outgoing) -> Outgoing:
    """The request, asking for a stream if its path can answer with one."""
    fields = _ASKING.get(request.path)
    if fields is None or not request.content.startswith(b'{"'):
        return request
    return replace(request, content=b"{" + fields + b"," + request.content[1:])


def wants_stream(answer: Answer, request: Outgoing) -> bool:
    """Whether an endpoint may have refused the request because it only streams. A second attempt finds out."""
    return answer.status in (400, 422) and request.path in _ASKING and bool(_STREAM.search(answer.content))


def whole(answer: Answer) -> Answer | Failure:
    """An answer of events as one JSON body; any other answer unchanged."""
    if not is_event_stream(answer.headers) and not answer.content.lstrip().startswith((b"data:", b"event:")):
        return answer
    if answer.content.lstrip().startswith((b"{", b"[", b"<")):  # no events, whatever its header says
        return answer
    body, events = _Body(), list(_events(answer.content))
    for place, (name, text) in enumerate(events, 1):
        try:
            data = None if text.strip() == "[DONE]" else parse_reply(text)
        except ValueError:
            if name == "error":
                body.add(name, {"message": text})
                break
            if body.is_whole or not 200 <= answer.status < 300:
                break
            if place == len(events) and not answer.content.endswith(_EVENT_ENDS):
                return lost("truncated body")
            return lost("garbled body", f"an event of its stream is not JSON: {wire.excerpt(text)!r}")
        if data is None:
            body.is_done = True
        elif isinstance(data, Mapping):
            try:
                body.add(name, data)
            except RecursionError:
                return _TOO_DEEP
    if not 200 <= answer.status < 300 and not body.is_error:
        return answer
    if not body.is_whole:
        return lost("truncated body")
    try:
        return replace(answer, content=json.dumps(_joined(body.content())).encode())
    except RecursionError:
        return _TOO_DEEP


def _events(content: bytes) -> Iterator[tuple[str, str]]:
    """Name and data of each event. Servers that leave the empty line between two events out are understood."""
    name, lines = "", list[str]()
    for raw in (*_LINE_END.split(content.removeprefix(b"\xef\xbb\xbf")), b""):
        line = raw.decode("utf-8", "replace")
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            text = "\n".join(lines)
            yield from ((name, one) for one in ([text] if len(lines) < 2 or _is_json(text) else lines) if one.strip())
            name, lines = "", []
        elif field == "data":
            lines.append(value)
        elif field == "event":
            name = value.strip()
        elif field == "error":  # older llama.cpp
            name, lines = field, [*lines, value]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class _Body:
    """What has come of one reply."""

    def __init__(self) -> None:
        self.is_done = False  # the endpoint has sent [DONE]
        self._fields: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._error: Any = None
        self._response: dict[str, Any] | None = None  # of the Responses API, once it is final
        self._items: list[Any] = []

    @property
    def is_error(self) -> bool:
        return self._error is not None

    @property
    def is_whole(self) -> bool:
        ended = bool(self._choices) and all(choice.get("finish_reason") for choice in self._choices.values())
        return self.is_done or ended or self.is_error or self._response is not None

    def add(self, name: str, data: Mapping[str, Any]) -> None:
        kind = data.get("type")
        is_error = name == "error" or data.get("object") == "error" or kind == "error"
        if data.get("error") or is_error or ("choices" not in data and {"code", "message"} <= data.keys()):
            self._error = data.get("error") or dict(data)
        if kind in _FINAL and isinstance(data.get("response"), Mapping):
            self._response = dict(data["response"])
        elif kind == "response.output_item.done":
            self._items.append(data.get("item"))
        else:
            choices = data.get("choices")
            for place, choice in enumerate(choices if isinstance(choices, list) else ()):
                if isinstance(choice, Mapping):
                    index = choice.get("index")
                    self._add_choice(index if isinstance(index, int) else place, choice)
            known = {key: value for key, value in data.items() if value is not None and key not in ("choices", "error")}
            self._fields |= known

    def _add_choice(self, index: int, piece: Mapping[str, Any]) -> None:
        choice = self._choices.setdefault(index, {"index": index, "message": {"role": "assistant", "content": None}})
        for key, value in piece.items():
            if key == "delta":
                _merge(choice["message"], value if isinstance(value, Mapping) else {})
            elif key == "usage":  # Moonshot counts here
                self._fields[key] = value or self._fields.get(key)
            elif key == "message":  # not in pieces after all
                if isinstance(value, Mapping):
                    choice[key] = dict(value)
                    self.is_done = True
            elif isinstance(value, Mapping) and isinstance(choice.get(key), dict):
                _merge(choice[key], value)  # logprobs
            elif value and value != "null":  # as some servers write it until the end
                choice[key] = dict(value) if isinstance(value, Mapping) else value

    def content(self) -> dict[str, Any]:
        """A body as the endpoint sends it without a stream. An error in the middle of a reply is all that counts."""
        if self.is_error:
            usage = self._fields.get("usage")
            return {"error": self._error} | ({"usage": usage} if usage else {})
        if self._response is not None:
            return self._response if self._response.get("output") else {**self._response, "output": self._items}
        choices = [self._choices[index] for index in sorted(self._choices)]
        for choice in choices:
            for call in _list(choice["message"].get("tool_calls")):
                if isinstance(call, dict):
                    call.pop("index", None)
        return {**self._fields, "object": "chat.completion", "choices": choices}


def _merge(into: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Add a piece to what has come of a JSON object."""
    for key, value in piece.items():
        before = into.get(key)
        if value is None:
            into.setdefault(key, None)
        elif key == "tool_calls" and isinstance(value, list):
            into[key] = [call for call in _list(before) if isinstance(call, dict)]
            for call in value:
                _add_call(into[key], call)
        elif before is None:
            into[key] = _copied(value)
        elif isinstance(before, _Text | str) and isinstance(value, str):
            if key in _IDS:
                into[key] = before or value
            elif key in _LABELS:
                into[key] = value or before
            elif isinstance(before, str):
                into[key] = _Text([before, value])
            else:
                before.append(value)
        elif isinstance(before, dict) and isinstance(value, Mapping):
            _merge(before, value)
        elif isinstance(before, list | str) and isinstance(value, list | str):
            into[key] = _parts(before)
            for item in _parts(value):
                _add_item(into[key], item)
        else:
            into[key] = value


class _Text(list[str]):
    """A text in pieces: joined at the end, because there may be a hundred thousand."""


def _joined(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value)
    if isinstance(value, dict):
        return {key: _joined(one) for key, one in value.items()}
    return [_joined(one) for one in value] if isinstance(value, list) else value


def _copied(value: Any) -> Any:
    """A value that pieces may be added to."""
    if isinstance(value, Mapping):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _parts(content: Any) -> list[Any]:
    """A list; of a text between lists of parts, which Magistral's thinking models send, its part."""
    if isinstance(content, str | _Text):
        text = _joined(content)
        return [{"type": "text", "text": text}] if text else []
    return _list(content)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _add_item(items: list[Any], piece: Any) -> None:
    """Add to the item of the same index and type (OpenRouter's ``reasoning_details``), or behind all items."""
    if isinstance(piece, Mapping) and piece.get("index") is not None:
        for item in items:
            alike = isinstance(item, dict) and all(item.get(key) == piece.get(key) for key in ("index", "type"))
            if alike and (not piece.get("id") or item.get("id") in (None, piece["id"])):
                _merge(item, piece)
                return
    items.append(_copied(piece))


def _add_call(calls: list[Any], piece: Any) -> None:
    """Add to the call that the piece belongs to. Its index says which, but servers leave it out, or give it to every
    call of a reply: then a new name with a new id, or behind arguments that are complete, begins a new call."""
    if not isinstance(piece, Mapping):
        return
    index, identity = piece.get("index"), piece.get("id")
    known = [call for call in calls if index is None or call.get("index") == index]
    if index is None and identity:
        known = [call for call in known if call.get("id") == identity] or known
    if not known or _begins(piece, known[-1]):
        calls.append(_copied(piece))
        return
    call, function = known[-1], piece.get("function")
    _merge(call, {key: value for key, value in piece.items() if key != "function"})
    if not isinstance(function, Mapping):
        return
    if not isinstance(call.get("function"), dict):
        call["function"] = {}
    before, name = call["function"].get("name"), function.get("name")
    _merge(call["function"], function)
    if before and name and isinstance(before, str) and isinstance(name, str):
        call["function"]["name"] = name if name.startswith(before) else before + name


def _begins(piece: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Whether a piece begins a call behind another one that could be its own."""
    function, before = piece.get("function"), call.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(before, Mapping) or not name or not before.get("name"):
        return False
    if piece.get("id") and call.get("id") and piece["id"] != call["id"]:
        return True
    arguments, more = before.get("arguments"), function.get("arguments")
    if not arguments:
        return piece.get("index") is None and name != before["name"]
    if not more or (isinstance(more, str) and not more.strip()):
        return False
    return not isinstance(arguments, str | _Text) or _is_json(_joined(arguments))
