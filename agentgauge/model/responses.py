"""OpenAI's Responses API: a request to its body, a body to a reply. Pure, and lenient in parsing, as ``wire`` is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgauge.core.causes import Failure
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.reply_ends import ENDED, is_filtered
from agentgauge.model.providers import is_reasoning_name
from agentgauge.model.replay import RESPONSE_ITEMS, Needs, fitted
from agentgauge.model.spec import ModelSpec
from agentgauge.model.usage import usage_of
from agentgauge.model.wire import (
    clean,
    clean_all,
    cut,
    excerpt,
    first,
    model_name,
    read_tool_calls,
    reported,
    role_messages,
)

ENCRYPTED = "reasoning.encrypted_content"
"""What the API is asked to include: the thoughts, which the server does not keep. Models without thoughts refuse it."""

PATH = "/responses"


def request_body(spec: ModelSpec, request: ChatRequest, needs: Needs = Needs()) -> dict[str, Any]:  # noqa: B008 - frozen
    """The JSON body. Settings override each other as in chat completions; ``extra_body`` overrides all.

    The API knows neither ``seed`` nor ``stop``: replies are cut at the stop words here. Nothing is kept on the server,
    so the model's thoughts come encrypted and go back with its calls.
    """
    temperature = first(request.temperature, spec.temperature, request.usual.temperature)
    max_tokens = first(request.max_tokens, spec.max_tokens, request.usual.max_tokens)
    messages = role_messages(fitted(request, spec.quirks, needs), spec.quirks.later_system)
    body: dict[str, Any] = {
        "model": spec.deployment or spec.model,
        "input": [item for message in messages for item in _items(message)],
        "store": False,
    }
    if request.tools:
        body["tools"] = [{"type": "function", "strict": False, **tool["function"]} for tool in request.tools]
        if request.raw:
            body["tool_choice"] = "none"
    if temperature is not None and spec.quirks.temperature:
        body["temperature"] = temperature
    if max_tokens is not None:
        body["max_output_tokens"] = max_tokens
    if request.tools and (is_reasoning_name(spec.model) or "reasoning" in spec.extra_body):
        body["include"] = [ENCRYPTED]
    body.update(spec.extra_body)
    return body


def _items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One chat message as items: its content, then each of its tool calls; a tool's answer as one of another kind."""
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        yield {"type": "function_call_output", "call_id": message.get("tool_call_id", ""), "output": _plain(content)}
        return
    if items := message.get(RESPONSE_ITEMS):
        yield from _own_items(items, message)
        return
    if isinstance(content, list):
        yield {"role": role, "content": [_part(part, role) for part in content]}
    elif content or not message.get("tool_calls"):
        yield {"role": role, "content": content or ""}
    for call in message.get("tool_calls") or ():
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        yield {"type": "function_call", "call_id": call["id"], "name": name, "arguments": arguments}


def _own_items(items: Sequence[Mapping[str, Any]], message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The items as they came, in their order: a thought must stand before the call that it led to. Of the calls what
    has been made of them since."""
    calls = iter(message.get("tool_calls") or ())
    for item in items:
        if item.get("type") != "function_call":
            yield dict(item)
        elif call := next(calls, None):
            yield {**item, "call_id": call["id"], **call["function"]}


def _plain(content: object) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return str(content or "")


def _part(part: Mapping[str, Any], role: object) -> dict[str, Any]:
    """Parts of chat completions in this API's form; its own parts stay."""
    kind = part.get("type")
    if kind == "text":
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part["text"]}
    if kind == "image_url":
        image = part["image_url"]
        return {"type": "input_image", "image_url": image["url"], "detail": image.get("detail", "auto")}
    if kind == "file":
        return {"type": "input_file", **part["file"]}
    return dict(part)


def read_reply(data: object, spec: ModelSpec, stop: Sequence[str] = ()) -> ChatReply | Failure:
    """The reply in a decoded body. A response that ended at the token limit or at a filter is a reply, too, as far as
    it got.
    """
    if not isinstance(data, Mapping):
        return Failure("no output", f"the endpoint answered with a JSON {type(data).__name__} instead of a response")
    status, output = data.get("status", "completed"), data.get("output")
    if status == "failed" or (data.get("error") and not isinstance(output, list)):
        return reported({"error": data.get("error") or "the response failed"}, final=True, cause="failed")
    if status not in ("completed", "incomplete"):
        return Failure(
            "no output", f"the endpoint's response has the status {excerpt(repr(status))} instead of being completed"
        )
    if not isinstance(output, list):
        return Failure("no output", "the endpoint's answer holds no output, so no message of the model")
    items = [item for item in output if isinstance(item, Mapping)]
    parts = [part for item in items if item.get("type") == "message" for part in _mappings(item.get("content"))]
    text = _joined(part.get("text") for part in parts if part.get("type") == "output_text")
    refusal = _joined(part.get("refusal") for part in parts if part.get("type") == "refusal")
    thoughts = [
        part.get("text") for item in items if item.get("type") == "reasoning" for part in _mappings(item.get("summary"))
    ]
    called = [item for item in items if item.get("type") == "function_call"]
    calls = read_tool_calls(
        [
            {"id": call.get("call_id"), "function": {name: call.get(name) for name in ("name", "arguments")}}
            for call in called
        ]
    )
    finish = "tool_calls" if calls else "stop"
    if status == "incomplete":
        details = data.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else None
        finish = clean(reason) if isinstance(reason, str) else "incomplete"
        finish = "length" if reason == "max_output_tokens" else finish
        if is_filtered(finish) and not text:
            refusal = refusal or ENDED
    kept = [] if any(map(_is_lost, items)) or cut(text, stop) != text else [clean_all(item) for item in items]
    return ChatReply(
        text=cut(text, stop),
        tool_calls=calls,
        refusal=refusal or None,
        reasoning=_joined(thoughts) or None,
        finish_reason=finish,
        usage=usage_of(data, spec.prices),
        model=model_name(data.get("model")),
        extra={RESPONSE_ITEMS: kept} if any(item.get("type") == "reasoning" for item in kept) else {},
    )


def _is_lost(item: Mapping[str, Any]) -> bool:
    """Whether an item is a thought that the server would have to look up, though it has kept nothing."""
    return item.get("type") == "reasoning" and not (item.get("encrypted_content") or item.get("content"))


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _joined(texts: Iterator[object] | Sequence[object]) -> str:
    return clean("".join(text for text in texts if isinstance(text, str)))
