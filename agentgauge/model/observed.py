"""What an answer shows of its endpoint besides the reply: token counts that are no counts, another model's name, and
tools that did not arrive. A case's log holds it by request (``ChatReply.observed``):

``estimated``: what the endpoint reports instead of token counts, as text that may be empty. ``reported``: the name of
the model, where it is another text than the one that was asked for. ``denied``: true where that is another model.
``tools``: for a request with tools whether the endpoint's count can hold them: ``{"seen": bool, "counted": tokens,
"bytes": of the tools}``; left out where the count does not tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.types import Usage
from agentgauge.model.names import denies
from agentgauge.model.spec import ModelSpec
from agentgauge.model.usage import completed, message_texts, unread
from agentgauge.model.wire import excerpt

FEWEST = 7
"""Characters of text, runs of blanks counted as one, that no tokenizer packs into less than a token on average."""
MOST = 2
"""Characters that make at least one token in any tokenizer on average, with TEMPLATE tokens of a chat template."""
TEMPLATE = 200
LEAST_TOOLS = 40
"""Tokens of tools below which a count does not tell whether it holds them."""


def observed(reply: ChatReply, data: object, request: ChatRequest, spec: ModelSpec) -> ChatReply:
    """The reply with what its answer ``data`` shows of the endpoint, and with its usage completed by estimates."""
    found: dict[str, Any] = {}
    usage = completed(reply.usage, request, reply, spec.prices)
    if usage.estimated_requests:
        found["estimated"] = excerpt(counts) if (counts := unread(data)) else ""
    elif tools := _tools(request, usage):
        found["tools"] = tools
    if reply.model and reply.model != spec.model:
        found["reported"] = reply.model
        if spec.provider != "azure" and denies(reply.model, spec.model):  # a deployment has any name
            found["denied"] = True
    return replace(reply, usage=usage, observed=found)


def _tools(request: ChatRequest, usage: Usage) -> dict[str, Any]:
    """Whether a count of prompt tokens holds the tools of a request. Empty if it does not tell."""
    counted = usage.prompt_tokens
    messages = [text for message in request.messages for text in message_texts(message)]
    if not request.tools or None in messages:
        return {}
    size = sum(len(text) for text in messages if text)
    least = sum(map(_length, _tool_texts(request.tools))) // FEWEST
    most = counted + usage.cached_tokens  # some gateways count cached tokens beside the prompt's
    if least >= LEAST_TOOLS and most < least + sum(_length(text) for text in messages if text) // FEWEST:
        if usage.cached_tokens == counted:  # cut to the prompt's: there were more
            return {}
        seen = False
    elif counted > size // MOST + TEMPLATE:
        seen = True
    else:
        return {}
    written = json.dumps([dict(tool) for tool in request.tools], ensure_ascii=False)
    return {"seen": seen, "counted": counted, "bytes": len(written.encode("utf-8", "replace"))}


def _tool_texts(tools: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The texts of tools that every chat template shows: names and descriptions of tools and of their parameters."""
    for tool in tools:
        function = tool.get("function")
        function = function if isinstance(function, Mapping) else tool
        yield from _strings(function)
        parameters = function.get("parameters")
        properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
        for name, schema in properties.items() if isinstance(properties, Mapping) else ():
            yield str(name)
            yield from _strings(schema)


def _strings(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from (text for name in ("name", "description") if isinstance(text := schema.get(name), str))


def _length(text: str) -> int:
    return len(re.sub(r"\s+", " ", text))
