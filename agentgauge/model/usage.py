"""What a request has used, as endpoints report it in many forms, or as an estimate where they report nothing usable."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.types import Usage
from agentgauge.model.prices import PriceList

BYTES_PER_TOKEN = 4
PICTURE_TOKENS = 1000
MESSAGE_TOKENS = 4
"""The assumptions of estimates: bytes of text a token, tokens of a picture or file, and of the frame of a message."""

Fields = Mapping[str, Any]

_PLACES = ("usage", "usage_metadata", "token_usage", "meta")
"""Fields of an answer, or of its first choice or result, that may hold the counts."""
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count", "input_token_count", "prompt_eval_count")
_COMPLETION = (
    *("completion_tokens", "output_tokens", "completion_token_count", "output_token_count"),
    *("candidates_token_count", "response_token_count", "generated_token_count", "eval_count"),
)
_TOTAL = ("total_tokens", "total_token_count")
_READ = ("cache_read_input_tokens", "cache_read_input_token_count")
"""Tokens of a cache in the interfaces of Anthropic and Bedrock, which count them beside the prompt's."""
_CACHED = (
    *_READ,
    *("prompt_cache_hit_tokens", "cached_tokens", "cached_content_token_count", "cached_prompt_text_tokens"),
)
_WRITTEN = (
    *("cache_creation_input_tokens", "cache_write_input_tokens", "cache_write_input_token_count"),
    "cache_write_tokens",
)
_BESIDE = frozenset({"input_tokens", "input_token_count"})
"""Names of the prompt's tokens in interfaces that count cached ones beside them, unless details say otherwise."""
_DETAILS = ("prompt_tokens_details", "input_tokens_details", "prompt_token_details", "input_token_details")
_REPLY_DETAILS = (
    *("completion_tokens_details", "output_tokens_details"),
    *("completion_token_details", "output_token_details"),
)
_NUMBER = re.compile(r"\s*(\d{1,12})(?:\.\d+)?\s*")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LARGEST = 1e12  # no count of tokens
_MOST_PARTS = 32  # of a list of counts


def usage_of(data: object, prices: PriceList) -> Usage:
    """The usage of the request that an answer is for, with its price. Without counts it is one request."""
    return _named(data, prices) or Usage(requests=1)


def unused_cost(data: object, prices: PriceList) -> Usage:
    """The usage of an answer that is no reply, where the answer names it."""
    return _named(data, prices) or Usage()


def _named(data: object, prices: PriceList) -> Usage | None:
    return next((read_usage(fields, prices) for fields in _candidates(data) if _counts(fields)), None)


def unread(data: object) -> str:
    """What an answer has in the place of its counts, as short text, if no count can be read there; empty if nothing."""
    found = data.get("usage") if isinstance(data, Mapping) else None
    if not found or any(_counts(fields) for fields in _candidates(data)):
        return ""
    return json.dumps(found, ensure_ascii=False, default=str)


def read_usage(usage: object, prices: PriceList) -> Usage:
    """The usage of one request from its counts, with its price.

    Cached tokens are part of the prompt's, save in the interfaces that count them beside it (Anthropic, Bedrock). Where
    a total is given it decides. Reasoning is part of the reply's tokens, save where another field or only the total
    has it (Gemini, xAI, Perplexity).
    """
    fields = _snake(usage)
    prompt, completion, total = _first(fields, _PROMPT), _first(fields, _COMPLETION), _first(fields, _TOTAL)
    into, out = _mapping(fields, _DETAILS), _mapping(fields, _REPLY_DETAILS)
    written = _largest(fields, _WRITTEN)
    beside = _largest(fields, _READ) + written
    is_beside = any(fields.get(name) is not None for name in _BESIDE) and fields.get("prompt_tokens") is None
    if (is_beside and not into) or beside > prompt:
        prompt += 0 if total and total == prompt + completion and beside <= prompt else beside
    prompt += _first(fields, ("tool_use_prompt_token_count",))
    cached = max(_largest(fields, _CACHED), _largest(into, _CACHED))
    written = max(written, _largest(into, _WRITTEN))
    thoughts = _first(fields, ("thoughts_token_count",))
    reasoning = _first(fields, ("reasoning_tokens",))
    completion += thoughts + (reasoning if reasoning > completion else 0)
    rest = max(0, total - prompt - completion)
    hidden = rest if prompt and completion else 0
    if prompt:
        completion += rest
    else:
        prompt = rest
    reasoning = max(hidden, thoughts, reasoning, _largest(out, ("reasoning_tokens", "thinking_tokens")))
    cached = min(cached, prompt)
    counted = Usage(
        requests=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=min(written, prompt - cached),
        reasoning_tokens=min(reasoning, completion),
    )
    return replace(counted, usd=prices.dollars(counted))


def completed(usage: Usage, request: ChatRequest, reply: ChatReply, prices: PriceList) -> Usage:
    """The usage of a request with estimates for what the endpoint did not count: no prompt is empty, and no reply with
    text has 0 tokens."""
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if prompt and completion:
        return usage
    written = reply_tokens(reply)
    if prompt and not written:
        return usage
    counted = replace(
        usage,
        prompt_tokens=prompt or prompt_tokens(request),
        completion_tokens=completion or written,
        usd=0.0,
        estimated_requests=1,
    )
    return replace(counted, usd=prices.dollars(counted))


def prompt_tokens(request: ChatRequest) -> int:
    """An estimate of a prompt's tokens."""
    texts = [json.dumps([dict(tool) for tool in request.tools], ensure_ascii=False)] if request.tools else []
    pictures = 0
    for message in request.messages:
        for text in message_texts(message):
            if text is None:
                pictures += 1
            else:
                texts.append(text)
    return _tokens(texts) + pictures * PICTURE_TOKENS + max(1, len(request.messages)) * MESSAGE_TOKENS


def reply_tokens(reply: ChatReply) -> int:
    """An estimate of a reply's tokens; 0 for an empty reply."""
    calls = [text for call in reply.tool_calls for text in (call.name, call.arguments)]
    return _tokens([reply.text, reply.refusal or "", reply.reasoning or "", *calls])


def message_texts(message: Mapping[str, Any]) -> Iterator[str | None]:
    """The texts of a message, calls of tools included; None for a picture or file."""
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            text = part.get("text")
            yield text if isinstance(text, str) else None
    if calls := message.get("tool_calls"):
        yield json.dumps(calls, ensure_ascii=False, default=str)


def _tokens(texts: Iterable[str]) -> int:
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return -(-size // BYTES_PER_TOKEN)


def _candidates(data: object) -> Iterator[Fields]:
    """The objects of an answer that may hold its counts, the likeliest first. The entries of a list are added up."""
    for holder in _holders(data):
        for name in _PLACES:
            found = holder.get(name)
            if isinstance(found, list):
                yield _sum(found)
            elif isinstance(found, Mapping):
                yield from _unpacked(_snake(found))
        yield holder


def _holders(data: object) -> Iterator[Fields]:
    fields = _snake(data)
    yield fields
    for name in ("choices", "results", "candidates"):
        if isinstance(entries := fields.get(name), list) and entries and isinstance(entries[0], Mapping):
            yield (first := _snake(entries[0]))
            yield _snake(first.get("message"))
    for name in ("result", "response", "x_groq", "metrics"):
        yield _snake(fields.get(name))


def _unpacked(fields: Fields) -> Iterator[Fields]:
    """Cohere has the tokens of the model, and those that it bills, in objects of their own."""
    yield fields
    for name in ("tokens", "billed_units"):
        if isinstance(inner := fields.get(name), Mapping):
            yield _snake({**fields, **inner})


def _sum(entries: list[Any]) -> Fields:
    parts = [_snake(entry) for entry in entries[:_MOST_PARTS]]
    names = {name for part in parts for name in part}
    return {name: total for name in names if (total := sum(_count(part, name) for part in parts))}


def _counts(fields: Fields) -> bool:
    """Whether an object names tokens of a prompt or a reply."""
    return bool(_first(fields, _PROMPT) or _first(fields, _COMPLETION) or _first(fields, _TOTAL)) or bool(
        _largest(fields, _CACHED)
    )


def _snake(value: object) -> Fields:
    """An object with its names in lower case and underscores; empty for anything else."""
    if not isinstance(value, Mapping):
        return {}
    return {_WORD_START.sub("_", name).lower(): field for name, field in value.items() if isinstance(name, str)}


def _mapping(fields: Fields, names: Iterable[str]) -> Fields:
    return next((_snake(fields[name]) for name in names if isinstance(fields.get(name), Mapping)), {})


def _first(fields: Fields, names: Iterable[str]) -> int:
    return next((count for name in names if (count := _count(fields, name))), 0)


def _largest(fields: Fields, names: Iterable[str]) -> int:
    return max(_count(fields, name) for name in names)


def _count(fields: Fields, name: str) -> int:
    """A count, which may be text; 0 for what is none."""
    value = fields.get(name)
    if isinstance(value, str):
        return int(match[1]) if (match := _NUMBER.fullmatch(value)) else 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LARGEST:
        return 0
    return int(value)
