"""Between the chat completion format and Anthropic's Messages: a request's body there, a message back.

The rules for system messages, tool calls and limits are those of Anthropic's own chat completion interface, so that a
model gets the same request with and without batches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.chat import completed
from agentgauge.core.text import parse_json
from agentgauge.model.replay import THINKING_BLOCKS
from agentgauge.model.wire import first

DEFAULT_MAX_TOKENS = 8192
"""The interface requires a limit; sent where neither the benchmark nor the model's table names one."""

_CONVERTED = ("model", "messages", "tools", "tool_choice", "temperature", "max_tokens", "max_completion_tokens", "stop")
_IGNORED = ("seed", "chat_template_kwargs")
_DATA = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)
_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}

Block = dict[str, Any]


def messages_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a Messages request. Fields that a chat completion does not have (of ``extra_body``) stay."""
    system, messages = _messages(body["messages"])
    limit = first(body.get("max_tokens"), body.get("max_completion_tokens"), DEFAULT_MAX_TOKENS)
    made: dict[str, Any] = {"model": body["model"], "max_tokens": limit, "messages": messages}
    if system:
        made["system"] = system
    if tools := body.get("tools"):
        made["tools"] = [_tool(tool) for tool in tools]
        if choice := _choice(body.get("tool_choice")):
            made["tool_choice"] = choice
    if "temperature" in body:
        made["temperature"] = min(body["temperature"], 1.0)
    if stop := [word for word in body.get("stop", ()) if word.strip()]:
        made["stop_sequences"] = stop
    return made | {key: value for key, value in body.items() if key not in (*_CONVERTED, *_IGNORED)}


def _messages(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Block], list[dict[str, Any]]]:
    """The system prompt, and turns of user and assistant in alternation: tool results are the user's."""
    system: list[Block] = []
    turns: list[dict[str, Any]] = []
    open_calls: list[str] = []
    for message in messages:
        role, blocks = message["role"], _blocks(message.get("content"))
        if role == "system":
            system += blocks
            continue
        if role == "assistant":
            blocks = [*(message.get(THINKING_BLOCKS) or ()), *blocks]
            calls = [_call(call, number) for number, call in enumerate(message.get("tool_calls") or ())]
            open_calls = [call["id"] for call in calls]
            blocks += calls
        elif role == "tool":
            blocks = [{"type": "tool_result", "tool_use_id": _answered(message, open_calls), "content": blocks}]
        role = "assistant" if role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return system, turns


def _blocks(content: object) -> list[Block]:
    """Without empty texts, which the interface refuses."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [block for part in parts if (block := _block(part))]


def _block(part: Mapping[str, Any]) -> Block | None:
    kept = {"cache_control": part["cache_control"]} if "cache_control" in part else {}
    if part.get("type") == "image_url":
        url = part["image_url"]["url"]
        return {"type": "image", "source": _source(url), **kept}
    if part.get("type") == "file":
        return {"type": "document", "source": _source(part["file"]["file_data"]), **kept}
    text = part.get("text")
    return {"type": "text", "text": text, **kept} if text else None


def _source(url: str) -> Block:
    if data := _DATA.fullmatch(url):
        return {"type": "base64", "media_type": data[1], "data": data[2]}
    return {"type": "url", "url": url}


def _call(call: Mapping[str, Any], number: int) -> Block:
    function = call["function"]
    try:
        given = parse_json(completed(function.get("arguments") or ""))
    except ValueError:
        given = function["arguments"]
    # arguments that are no object stay visible to the model
    given = given if isinstance(given, dict) else {"arguments": given}
    return {"type": "tool_use", "id": _identity(call.get("id"), number), "name": function["name"], "input": given}


def _identity(given: object, number: int) -> str:
    """An id of the letters that the interface takes."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(given)) if given else f"call_{number}"


def _answered(message: Mapping[str, Any], calls: list[str]) -> str:
    """The id of the call that a tool message answers; without one, the first call that has no answer yet."""
    identity = _identity(message.get("tool_call_id"), 0)
    if identity not in calls and calls and not message.get("tool_call_id"):
        identity = calls[0]
    if identity in calls:
        calls.remove(identity)
    return identity


def _tool(tool: Mapping[str, Any]) -> Block:
    function = tool["function"]
    made = {"name": function["name"], "input_schema": function.get("parameters") or {"type": "object"}}
    if description := function.get("description"):
        made["description"] = description
    return made | ({"cache_control": tool["cache_control"]} if "cache_control" in tool else {})


def _choice(choice: object) -> Block | None:
    if isinstance(choice, str):
        return {"type": _CHOICES.get(choice, "auto")}
    if isinstance(choice, Mapping):
        return {"type": "tool", "name": choice["function"]["name"]}
    return None


def chat_completion(message: Mapping[str, Any]) -> dict[str, Any]:
    """The chat completion with the content of a message."""
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    reply: dict[str, Any] = {"role": "assistant", "content": _joined(blocks, "text") or None}
    if thinking := _joined(blocks, "thinking"):
        reply["reasoning_content"] = thinking
    if signed := [block for block in blocks if block.get("signature") or block.get("type") == "redacted_thinking"]:
        reply[THINKING_BLOCKS] = signed
    if calls := [_tool_call(block) for block in blocks if block.get("type") == "tool_use"]:
        reply["tool_calls"] = calls
    elif reply["content"] is None:
        reply["content"] = ""
    stop = message.get("stop_reason")
    choice = {"index": 0, "message": reply, "finish_reason": _STOPS.get(str(stop), stop)}
    return {"choices": [choice], "usage": _usage(message.get("usage"))}


def _joined(blocks: Sequence[Mapping[str, Any]], kind: str) -> str:
    return "".join(str(block.get(kind, "")) for block in blocks if block.get("type") == kind)


def _tool_call(block: Mapping[str, Any]) -> Block:
    arguments = json.dumps(block.get("input", {}), ensure_ascii=False)
    return {
        "id": block.get("id"),
        "type": "function",
        "function": {"name": block.get("name"), "arguments": arguments},
    }


def _usage(usage: object) -> dict[str, Any]:
    """Anthropic counts the tokens that it read from a cache or wrote to one beside the others; chat completions count
    them among the tokens of the prompt."""
    numbers = usage if isinstance(usage, Mapping) else {}

    def number(name: str) -> int:
        value = numbers.get(name)
        return value if isinstance(value, int) else 0

    read, written = number("cache_read_input_tokens"), number("cache_creation_input_tokens")
    return {
        "prompt_tokens": number("input_tokens") + read + written,
        "completion_tokens": number("output_tokens"),
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
    }
