"""OpenAI's chat completions as programs send and get them: parses request bodies and writes reply bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentgauge.core.chat import ChatReply, Message, Sampling
from agentgauge.model.wire import clean_all

PASSED_ON = ("tool_choice", "parallel_tool_calls", "response_format", "top_p", "reasoning_effort", "verbosity")
"""Fields of a body that are forwarded to the model unchanged."""

IGNORED = frozenset(
    "n frequency_penalty presence_penalty logit_bias logprobs top_logprobs seed user metadata store service_tier"  # noqa: SIM905
    " safety_identifier prompt_cache_key prompt_cache_retention stream_options modalities prediction".split()
)
"""Fields that a run does not forward: it decides them (a seed), or they do not change a reply with one text."""

Forwarded = Literal["known", "others", "all"]
"""Which fields of a body the model gets besides those that are understood here: PASSED_ON, and no others may be sent;
these and others, without IGNORED; all."""

_HANDLED = {"n", "logprobs", "top_logprobs", "stream_options"}  # of IGNORED: no model gets them
_UNDERSTOOD = {"model", "messages", "tools", "temperature", "max_tokens", "max_completion_tokens", "stop", "stream"}
_ROLES = {"system", "developer", "user", "assistant", "tool"}
_PARTS = {"text": str, "refusal": str, "image_url": dict, "input_audio": dict, "file": dict}


class Refused(Exception):
    """The program's request is not passed on. ``str()`` says why."""

    def __init__(self, why: str, status: int = 400, code: str = "invalid_request") -> None:
        super().__init__(why)
        self.status, self.code = status, code


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """A request of a program."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    wants_usage: bool = False  # in the stream
    case: str = ""  # the header that names a case, as it came


def read_body(content: bytes, model: str | None, forwarded: Forwarded = "known") -> ProgramRequest:
    """Raises Refused for a body that is not a chat completion, has a field that may not be sent, or names another model
    than ``model``; None: it may name any."""
    try:
        sent = json.loads(content, parse_constant=_no_number)
        body = clean_all(sent)
    except (ValueError, RecursionError):
        raise Refused("the body is not JSON") from None
    if not isinstance(body, dict):
        raise Refused("the body must be an object")
    if model is not None and (name := body.get("model")) not in (None, model):
        raise Refused(f"there is no model {str(name)[:80]!r} here; ask {model!r}", 404, "model_not_found")
    unknown = sorted(body.keys() - _UNDERSTOOD - {*PASSED_ON, *IGNORED})
    if unknown and forwarded == "known":
        raise Refused(f"the field {unknown[0][:80]!r} is not supported; leave it out")
    if body.get("n") not in (None, 1):
        raise Refused("n must be 1: ask again for another reply")
    if forwarded == "all":
        if body.get("logprobs") or body.get("top_logprobs"):
            raise Refused("the logprobs of a reply are not passed back; leave the field out")
        unknown += sorted(IGNORED - _HANDLED)
    tools = body.get("tools") or []
    if not isinstance(tools, list) or not all(map(_is_function, tools)):
        raise Refused("tools must be a list of function tools")
    stop = body.get("stop") or []
    stop = [stop] if isinstance(stop, str) else stop
    if not isinstance(stop, list) or not all(isinstance(word, str) for word in stop):
        raise Refused("stop must be a string or a list of strings")
    options = body.get("stream_options")
    return ProgramRequest(
        messages=_messages(body.get("messages")),
        tools=tuple(tools),
        sampling=Sampling(_number(sent, "temperature"), _whole(sent)),  # as sent: cleaning drops huge numbers
        stop=tuple(stop),
        extra={name: body[name] for name in (*PASSED_ON, *unknown) if body.get(name) is not None},
        stream=bool(body.get("stream")),
        wants_usage=isinstance(options, dict) and bool(options.get("include_usage")),
    )


def _no_number(name: str) -> None:
    """NaN and the infinities are no JSON, and no endpoint accepts them."""
    raise ValueError(name)


def _is_function(tool: object) -> bool:
    function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _messages(messages: object) -> tuple[Message, ...]:
    """Parts of other kinds are refused, above all our own, which would show the model a file of this machine. What
    reports read has the types that they expect."""
    if not isinstance(messages, list) or not messages:
        raise Refused("messages must be a list with at least one message")
    for message in messages:
        if not isinstance(message, dict) or str(message.get("role")) not in _ROLES:
            raise Refused(f"a message must be an object with a role of {', '.join(sorted(_ROLES))}")
        content, calls = message.get("content"), message.get("tool_calls")
        if not isinstance(content, str | list | None):
            raise Refused("the content of a message must be a string or a list of parts")
        if not all(map(_is_part, content if isinstance(content, list) else ())):
            raise Refused(f"a part of a message must be an object of one of the types {', '.join(sorted(_PARTS))}")
        if not isinstance(calls, list | None) or not all(map(_is_call, calls or ())):
            raise Refused("tool_calls of a message must be a list of calls with a function's name and arguments")
        for key in ("name", "tool_call_id", "refusal", "reasoning_content"):
            if not isinstance(message.get(key), str | None):
                raise Refused(f"the {key} of a message must be a string")
    return tuple(messages)


def _is_part(part: object) -> bool:
    """A text, or an object under the name of the kind."""
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(part, dict) and isinstance(kind, str) and isinstance(part.get(kind), _PARTS.get(kind, ()))


def _is_call(call: object) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return (
        isinstance(call, dict)
        and isinstance(function, dict)
        and all(isinstance(text, str) for text in (function.get("name"), function.get("arguments"), call.get("id", "")))
    )


def _number(body: Mapping[str, Any], name: str) -> float | None:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | None) or not -1e9 < (value or 0) < 1e9:
        raise Refused(f"{name} must be a number")
    return value


def _whole(body: Mapping[str, Any]) -> int | None:
    name = "max_completion_tokens" if body.get("max_completion_tokens") is not None else "max_tokens"
    value = _number(body, name)
    if value is not None and (value != int(value) or value < 1):
        raise Refused(f"{name} must be an integer from 1")
    return None if value is None else int(value)


def completion(reply: ChatReply, model: str, number: int) -> dict[str, Any]:
    """A reply as the body of an answer. ``number``: of the request among the program's."""
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": _message(reply, number), "finish_reason": _finish(reply)}],
        "usage": _usage(reply),
    }


def chunks(reply: ChatReply, model: str, number: int, *, usage: bool) -> Iterator[dict[str, Any]]:
    """The reply as a stream: its content in one chunk, the end in another, and ``usage`` in a third."""
    message = _message(reply, number)
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [{"index": place, **call} for place, call in enumerate(calls)]
    ends: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]},
    ]
    for part in [*ends, *([{"choices": [], "usage": _usage(reply)}] if usage else [])]:
        yield {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 0, "model": model, **part}


def arguments_text(content: bytes) -> str:
    """The arguments of a call, unchanged. Raises Refused for bytes that are not UTF-8."""
    try:
        return content.decode() or json.dumps({})
    except UnicodeDecodeError:
        raise Refused("the arguments must be JSON in UTF-8") from None


def error(why: str, code: str) -> dict[str, Any]:
    return {"error": {"message": why, "type": code, "param": None, "code": code}}


def _message(reply: ChatReply, number: int) -> dict[str, Any]:
    """Calls have an id, also where the server gave none: clients answer by it. What names no function is no call."""
    message = {"role": "assistant", **reply.message, "content": reply.content, "refusal": reply.refusal}
    message.pop("tool_calls", None)
    if reply.tool_calls:
        message["tool_calls"] = [
            {**call.to_wire(), "id": call.id or f"call_{number}_{place}"} for place, call in enumerate(reply.tool_calls)
        ]
    return message


def _finish(reply: ChatReply) -> str:
    """As received; some servers say ``stop`` beside calls."""
    return "tool_calls" if reply.tool_calls and reply.finish_reason == "stop" else reply.finish_reason


def _usage(reply: ChatReply) -> dict[str, int]:
    prompt, written = reply.usage.prompt_tokens, reply.usage.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
