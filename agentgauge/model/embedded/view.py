"""A request taken apart: the offered tools, the query, its files, the calls so far and their results.

Reads native function calling and ReAct, whose system prompt holds the tools.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentgauge.core.chat import ChatRequest, Message
from agentgauge.core.text import parse_json
from agentgauge.core.tools import resolved, type_names

_TICKED = re.compile(r"`([^`\n]*/[^`\n]*)`")
_FILES_NOTE = re.compile(r"[^`]*(?:`[^`]*/[^`]*`(?:, )?)+")
_CLOSING = re.compile(r"final answer|\bsummar|\bsum up\b", re.IGNORECASE)
_RESPONSE = "Response:"
_ACTION = re.compile(r"^\s*Action:\s*(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    name: str
    description: str
    parameters: tuple[tuple[str, str], ...]  # name, type in lower case
    required: frozenset[str]


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request as the policy sees it."""

    tools: tuple[OfferedTool, ...]
    query: str
    files: tuple[str, ...]
    called: tuple[str, ...]
    observations: tuple[str, ...]
    react: bool
    must_answer: bool  # the last message asks to sum up
    asked: tuple[str, ...]  # all texts of the user


def look(request: ChatRequest) -> RequestView:
    """Sort a conversation into tools, query, files, calls and observations."""
    texts = [(message, _text(message)) for message in request.messages]
    native = tuple(_native_tool(tool) for tool in request.tools)
    react_tools = () if native else _react_tools(text for message, text in texts if message.get("role") == "system")
    files: list[str] = []
    called: list[str] = []
    observations: list[str] = []
    queries: list[str] = []
    for number, (message, text) in enumerate(texts):
        role = message.get("role")
        if role == "assistant":
            called += [str(call.get("function", {}).get("name")) for call in message.get("tool_calls") or ()]
            called += _ACTION.findall(text)
        elif (
            role == "tool"
            or (role != "assistant" and text.startswith(_RESPONSE))
            or (role == "system" and called and number)
        ):
            observations.append(text.removeprefix(_RESPONSE).strip())
        else:
            paths = _TICKED.findall(text)
            files += [path for path in paths if path not in files]
            if role == "user" and not _FILES_NOTE.fullmatch(text.strip()):
                queries.append(text)
    closing = len(queries) > 1 and bool(_CLOSING.search(queries[-1]))
    asked = queries[:-1] if closing else queries
    query = _TICKED.sub("", asked[-1]) if asked else ""
    return RequestView(
        tools=native or react_tools,
        query=query,
        files=tuple(files),
        called=tuple(called),
        observations=tuple(observations),
        react=bool(react_tools),
        must_answer=closing and request.messages[-1].get("role") == "user",
        asked=tuple(queries),
    )


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _native_tool(tool: Mapping[str, Any]) -> OfferedTool:
    function = tool.get("function") or {}
    schema = resolved(function.get("parameters"), function.get("parameters"))
    schema = schema if isinstance(schema, Mapping) else {}
    properties, required = schema.get("properties"), schema.get("required")
    rules = properties if isinstance(properties, Mapping) else {}
    return OfferedTool(
        str(function.get("name")),
        str(function.get("description") or ""),
        tuple((name, _type(resolved(rule, function.get("parameters")))) for name, rule in rules.items()),
        frozenset(name for name in required if isinstance(name, str)) if isinstance(required, list) else frozenset(),
    )


def _type(rule: Any) -> str:
    """The type of a parameter in lower case, of several the first; empty if its schema names none."""
    names = type_names(rule) if isinstance(rule, Mapping) else []
    return names[0].lower() if names else ""


def _react_tools(texts: Iterable[str]) -> tuple[OfferedTool, ...]:
    """The tool list of a ReAct prompt: one JSON object a line, or GTA's Python literal
    (docs/benchmarks/gta_atomic.md#system-prompt)."""
    for text in texts:
        if functions := [tool for line in text.split("\n") if (tool := _function(line))]:
            return tuple(_native_tool({"function": tool}) for tool in functions)
        start = text.find("[{'name'")
        end = start
        while start >= 0 and (end := text.find("]", end + 1)) >= 0:
            try:
                tools = ast.literal_eval(text[start : end + 1])
            except (ValueError, SyntaxError):
                continue  # a bracket further in
            return tuple(
                OfferedTool(
                    tool["name"],
                    tool.get("description") or "",
                    tuple((p["name"], str(p.get("type", "")).lower()) for p in tool.get("parameters", ())),
                    frozenset(tool.get("required", ())),
                )
                for tool in tools
            )
    return ()


def _function(line: str) -> dict[str, Any] | None:
    try:
        value = parse_json(line) if line.startswith('{"name"') else None
    except ValueError:
        return None
    return value if isinstance(value, dict) and isinstance(value.get("parameters"), dict) else None
