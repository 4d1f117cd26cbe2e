"""The OpenAI chat completion format: a request to its body, a body to a reply.

Lenient in parsing. Texts of replies are redacted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, TypeVar

from agentgauge.core.causes import Failure, failed_with
from agentgauge.core.chat import ChatReply, ChatRequest, Message, ToolCall
from agentgauge.core.redaction import MARK, redact, without_logins
from agentgauge.core.reply_ends import ENDED, FILTERED, is_blocked_prompt, is_filter_error, is_filtered
from agentgauge.model.prompt_cache import with_marks
from agentgauge.model.replay import RESPONSE_ITEMS, Needs, fitted
from agentgauge.model.spec import ModelSpec
from agentgauge.model.usage import usage_of

Number = TypeVar("Number", int, float)

PATH = "/chat/completions"
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""The fields of bodies that limit the tokens of a reply."""
_EXCERPT = 200  # characters of an endpoint's text in a message
_PLAIN = frozenset({"role", "content", "refusal", "tool_calls"})
_CALL_FIELDS = {"id": None, "type": None, "function": None}
_FUNCTION_FIELDS = {"name": None, "arguments": None}
_STATUS = re.compile("[45][0-9]{2}")
_LIMITED, _PASSING, _EMPTY = "rate_limit_exceeded", "server_error", "insufficient_quota"
"""Codes of errors that are known."""
_LARGEST = 10**300  # of the numbers that a server sends beside texts
_DEEPEST = 100  # levels of lists and objects that are kept of what a server sends beside texts


def request_body(spec: ModelSpec, request: ChatRequest, needs: Needs = Needs()) -> dict[str, Any]:  # noqa: B008 - frozen
    """The JSON body. Settings of the request override those of the spec, which override the benchmark's usual ones;
    ``extra_body`` overrides all. ``needs``: what the endpoint has asked of replayed messages."""
    quirks = spec.quirks
    temperature = first(request.temperature, spec.temperature, request.usual.temperature)
    max_tokens = first(request.max_tokens, spec.max_tokens, request.usual.max_tokens)
    messages = role_messages(fitted(request, quirks, needs), quirks.later_system)
    for message in messages:
        message.pop(RESPONSE_ITEMS, None)
    body: dict[str, Any] = {"model": spec.model, "messages": with_marks(messages) if spec.cache_control else messages}
    if request.tools:
        body["tools"] = [dict(tool) for tool in request.tools]
        if request.raw:
            body["tool_choice"] = "none"  # vLLM still renders the tools, and does not parse the reply
    if request.template:
        body["chat_template_kwargs"] = dict(request.template)
    if temperature is not None and quirks.temperature:
        body["temperature"] = temperature
    if max_tokens is not None:
        body[quirks.token_field] = max_tokens
    if request.seed is not None and (request.repeated if quirks.seed is None else quirks.seed):
        body["seed"] = request.seed
    if request.stop and quirks.stop:
        body["stop"] = list(request.stop)
    body.update(request.extra)
    body.update(spec.extra_body)
    if request.template and "chat_template_kwargs" in spec.extra_body:
        body["chat_template_kwargs"] = {**request.template, **spec.extra_body["chat_template_kwargs"]}
    return body


def sent_limit(body: Mapping[str, Any]) -> int | None:
    """The limit of the reply that a request's body sets, in tokens, whatever the endpoint calls it; None: it sets
    none."""
    return first(*(limit for key in LIMITS if isinstance(limit := body.get(key), int)))


def first(*values: Number | None) -> Number | None:
    return next((value for value in values if value is not None), None)


def role_messages(messages: Sequence[Message], later_system: str) -> list[dict[str, Any]]:
    """Copies of the messages, with another role for system messages after the first other one, if the endpoint needs
    that."""
    leading = len(list(takewhile(lambda message: message.get("role") == "system", messages)))
    return [
        {**message, "role": later_system} if message.get("role") == "system" and place > leading else dict(message)
        for place, message in enumerate(messages)
    ]


def read_reply(data: object, spec: ModelSpec, stop: Sequence[str] = ()) -> ChatReply | Failure:
    """The reply in a decoded body.

    An empty message is a reply; a body without a message is not. Some gateways answer 200 with an error inside.
    """
    if not isinstance(data, Mapping):
        kind = type(data).__name__
        return Failure("no choices", f"the endpoint answered with a JSON {kind} instead of a chat completion")
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
    message = choice.get("message")
    reasons = [choice.get(name) for name in ("finish_reason", "native_finish_reason")]  # the latter is OpenRouter's
    finish = next((reason for reason in reasons if isinstance(reason, str) and is_filtered(reason)), reasons[0])
    is_blocked = is_blocked_prompt(data) or (isinstance(finish, str) and is_filtered(finish))
    error = choice.get("error")
    if finish == "error":
        error = error or data.get("error") or "its finish_reason is 'error'"
    if error and not is_blocked:
        # what gateways answer with status 200 when the server behind them fails in the middle of a reply
        return reported({"error": error}, final=False, cause="failed")
    if not isinstance(message, Mapping):
        if data.get("error"):
            return reported(data, final=False, cause="no choices")
        if not is_blocked and is_filter_error(200, data):
            return Failure(FILTERED, error_text(data), final=True)
        if not is_blocked:
            return Failure("no choices", "the endpoint's answer holds no choices, so no message of the model")
        message = {}
    content = message.get("content")
    text = _text(content)
    if not spec.quirks.stop:
        text = cut(text, stop)
    refusal = message.get("refusal")
    # vLLM has renamed the field
    reasoning = message.get("reasoning_content") or message.get("reasoning") or _thinking(content)
    reply = ChatReply(
        text=text,
        tool_calls=read_tool_calls(message.get("tool_calls")),
        refusal=_string(refusal) or None,
        reasoning=clean(reasoning) if isinstance(reasoning, str) else None,
        finish_reason=clean(finish) if isinstance(finish, str) else "stop",
        usage=usage_of(data, spec.prices),
        model=model_name(data.get("model")),
    )
    received = _received(message, text if isinstance(content, str) else clean_all(content))
    if received != reply.message:
        reply = replace(reply, received=received)
    if is_blocked and not (text or reply.tool_calls):
        finish = finish if isinstance(finish, str) and is_filtered(finish) else "content_filter"
        reply = replace(reply, refusal=reply.refusal or ENDED, finish_reason=clean(finish))
    extra = {key: clean_all(value) for key, value in message.items() if key not in _PLAIN and value is not None}
    if isinstance(content, list) and not all(map(_is_text, content)):
        extra["content"] = clean_all(content)
    return replace(reply, extra=extra) if extra else reply


def reported(data: Mapping[str, Any], *, final: bool, cause: str) -> Failure:
    """The ``error`` that an endpoint reports in an answer of status 200. A code that is an HTTP status is treated as
    that status.

    ``final``: whether a code is that is neither a status nor known. ``cause``: of an error without a code.
    """
    error = data["error"]
    if is_filter_error(200, {"error": error}):
        return Failure(FILTERED, error_text(data), final=True)
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, str) and _STATUS.fullmatch(code):
        code = int(code)
    if isinstance(code, int) and 400 <= code < 600:
        message = f"the endpoint reported error {code}: {error_text(data)}"
        return failed_with(code, message, answer=redact(json.dumps(data, ensure_ascii=False))[:4000])
    if not isinstance(code, str) or not code:
        return Failure(cause, f"the endpoint reported an error: {error_text(data)}")
    code = excerpt(code)
    message = f"the endpoint reported an error ({code}): {error_text(data)}"
    is_final = code == _EMPTY or (final and code not in (_LIMITED, _PASSING))
    return Failure(f"failed: {code}"[:60], message, is_final, limited=code == _LIMITED)


def _text(content: object) -> str:
    """Text, or the text parts of a list of parts."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        content = "".join(part for part in parts if isinstance(part, str))
    return _string(content)


def _is_text(part: object) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") in ("text", "output_text"))


def _thinking(content: object) -> str | None:
    """The thoughts among the parts of a content, as Mistral sends them."""
    parts = [part.get("thinking") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    return "".join(map(_text, parts)) or None


def _string(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def read_tool_calls(calls: object) -> tuple[ToolCall, ...]:
    """The calls that name a function. Arguments stay raw text; servers that send an object get it written as JSON.

    What a server left out is empty here; ``ChatReply.message`` has the calls as they came.
    """
    found: list[ToolCall] = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            name, arguments, identity = function.get("name"), function.get("arguments"), call.get("id")
            if not isinstance(arguments, str | None):
                arguments = json.dumps(clean_all(arguments), ensure_ascii=False)
            extra = {key: clean_all(value) for key, value in call.items() if key not in _CALL_FIELDS}
            if inner := {key: clean_all(value) for key, value in function.items() if key not in _FUNCTION_FIELDS}:
                extra["function"] = inner
            found.append(ToolCall(_string(name), _string(arguments), _string(identity), extra))
    return tuple(found)


def _received(message: Mapping[str, Any], content: Any) -> dict[str, Any]:
    """What ``ChatReply.received`` describes. The published clients read absent fields of a call as null."""
    received: dict[str, Any] = {"content": content}
    for name in ("reasoning_content", "tool_calls"):
        if (value := message.get(name)) is not None:
            received[name] = clean_all(value)
    if isinstance(calls := received.get("tool_calls"), list):
        received["tool_calls"] = [_filled(call) for call in calls]
    return received


def _filled(call: Any) -> Any:
    if not isinstance(call, Mapping):
        return call
    if call.get("type") == "custom":  # whose function is a field like any other to the clients
        return {"id": None, "custom": None, **call}
    filled = {**_CALL_FIELDS, **call}
    if isinstance(function := filled["function"], Mapping):
        filled["function"] = {**_FUNCTION_FIELDS, **function}
    return filled


def cut(text: str, stop: Sequence[str]) -> str:
    for word in stop:
        text = text.partition(word)[0] if word else text
    return text


def clean(text: str) -> str:
    """A text from an endpoint, without secrets. Lone surrogates, which JSON escapes can hold and UTF-8 cannot, become
    question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
    return redact(text)


def model_name(value: object) -> str:
    """The name that an endpoint reports for its model, as one short line, because terminals and reports show it. Empty
    for what is no name."""
    text = clean(value) if isinstance(value, str) else ""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= _EXCERPT else line[:_EXCERPT] + "..."


def clean_all(value: Any, depth: int = _DEEPEST) -> Any:
    """A JSON value whose texts are clean. Values below ``depth`` levels, NaN, and infinite or huge numbers become None,
    because they could not be written or computed with again."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float | int) and not abs(value) <= _LARGEST:  # NaN is not, either
        return None
    if not isinstance(value, list | Mapping):
        return value
    if not depth:
        return None
    if isinstance(value, list):
        return [clean_all(item, depth - 1) for item in value]
    return {clean(name): clean_all(item, depth - 1) for name, item in value.items()}


def error_text(data: object) -> str:
    """The message of an error body, short."""
    if isinstance(data, Mapping):
        error = data.get("error", data)
        message = error
        if isinstance(error, Mapping):
            message = error.get("message") or error.get("detail") or error.get("type") or error.get("code")
        data = message if isinstance(message, str) else json.dumps(data, ensure_ascii=False, default=str)
    return excerpt(str(data))


def excerpt(text: str) -> str:
    """The beginning of an endpoint's answer, for a message: without secrets, logins, and everything that looks like a
    key.

    The text is cut last, because a cut through a secret would leave the secret's beginning.
    """
    text = without_shapes(" ".join(clean(text).split()))
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "..."


_KEY_SHAPES = re.compile(r"(?i)\b(?:bearer\s+\S+|(?:sk|gsk|xai|hf)[-_][\w*.-]{6,}|AIza[\w-]{10,})")


def without_shapes(text: str) -> str:
    """The text of a message without what has the shape of a key (endpoints repeat parts of it) and without logins in
    addresses.

    Not for replies: a model may well write what only looks like a key.
    """
    return _KEY_SHAPES.sub(MARK, without_logins(text))
