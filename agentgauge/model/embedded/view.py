"""A request taken apart: the offered tools, the query, its files, the calls so far and their results.

Reads native function calling and ReAct, whose system prompt holds the tools.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentgauge.core.chat import ChatRequest, Message
from agentgauge.core.text import parse_json
from agentgauge.core.tools import resolved, type_names

_TICKED = re.compile(r"`([^`/\n]*/[^`\n]*)`")
_FILES_NOTE = re.compile(r"[^`]*(?:`[^`/]*/[^`]*`(?:, )?)+")
_CLOSING = re.compile(r"final answer|\bsum(?:mar| up\b)")  # in lower case: ignoring it takes three times as long
_ERROR = re.compile(r"\berror\b|\bfailed\b|\bexception\b|\binvalid\b|\bnot found\b", re.IGNORECASE)
_PASSING = re.compile(
    r"\b(?:HTTP |error )(?:429|50\d)\b|tim(?:ed|e)[ -]?out|temporar|unavailable|try again|retry|rate limit|overload"
    r"|connection\w* (?:was |is )?(?:closed|reset|refused|lost)",
    re.IGNORECASE,
)
_DEEPEST = 4  # objects within objects
_RESPONSE = "Response:"
_ACTION = re.compile(r"^\s*Action:\s*(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str  # in lower case, of several the first; empty if the schema names none
    is_required: bool
    description: str = ""
    choices: tuple[Any, ...] = ()
    item: Parameter | None = None  # of a list
    members: tuple[Parameter, ...] = ()  # of an object


@dataclass(frozen=True, slots=True)
class OfferedTool:
    name: str
    description: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The last call, whose result is an error or empty."""

    name: str
    arguments: str
    passes: bool  # an error that another try may not meet


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request as the policy sees it."""

    tools: tuple[OfferedTool, ...]
    query: str  # what the user asks now, with the question that it answers, if it answers one
    earlier: str  # what the user wrote before that
    system: str
    files: tuple[str, ...]
    called: tuple[str, ...]  # since the user asked
    failed: Failed | None
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
    calls: list[tuple[str, str]] = []
    observations: list[str] = []
    asked: list[str] = []  # as they are
    queries: list[str] = []  # the answer to a question of the assistant together with what was asked before
    before, is_question = 0, False  # calls before the last query; whether the assistant's last text is a question
    for number, (message, text) in enumerate(texts):
        role = message.get("role")
        if role == "assistant":
            functions = [call.get("function", {}) for call in message.get("tool_calls") or ()]
            calls += [(str(one.get("name")), str(one.get("arguments"))) for one in functions]
            calls += [(name, "") for name in _ACTION.findall(text)]
            is_question = text.rstrip().endswith(("?", "？"))
        elif (
            role == "tool"
            or (role != "assistant" and text.startswith(_RESPONSE))
            or (role == "system" and calls and number)
        ):
            observations.append(text.removeprefix(_RESPONSE).strip())
        else:
            paths = _TICKED.findall(text)
            files += [path for path in paths if path not in files]
            if role == "user" and not (paths and _FILES_NOTE.fullmatch(text.strip())):
                asked.append(text)
                if queries and _CLOSING.search(text.lower()):
                    continue
                before = len(calls)
                if is_question and queries:
                    queries[-1] += f"\n{text}"
                else:
                    queries.append(text)
                is_question = False
    closing = len(asked) > 1 and bool(_CLOSING.search(asked[-1].lower()))
    return RequestView(
        tools=native or react_tools,
        query=_TICKED.sub("", queries[-1]) if queries else "",
        earlier="\n".join(queries[:-1]),
        system="" if react_tools else "\n".join(text for message, text in texts[:2] if message.get("role") == "system"),
        files=tuple(files),
        called=tuple(name for name, _ in calls[before:]),
        failed=_failed(calls[before:], observations) if texts and texts[-1][0].get("role") == "tool" else None,
        observations=tuple(observations),
        react=bool(react_tools),
        must_answer=closing and request.messages[-1].get("role") == "user",
        asked=tuple(asked),
    )


def _failed(calls: Sequence[tuple[str, str]], observations: Sequence[str]) -> Failed | None:
    beginning = observations[-1][:300] if observations else ""
    passes = bool(_PASSING.search(beginning))
    if not calls or not (passes or _ERROR.search(beginning) or beginning in ("[]", "{}", "null", "")):
        return None
    return Failed(*calls[-1], passes)


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _native_tool(tool: Mapping[str, Any]) -> OfferedTool:
    return _of_function(json.dumps(tool.get("function") or {}))


@lru_cache(maxsize=1024)  # every request of a task offers the same tools
def _of_function(text: str) -> OfferedTool:
    function = parse_json(text)
    schema = resolved(function.get("parameters"), function.get("parameters"))
    schema = schema if isinstance(schema, Mapping) else {}
    return OfferedTool(str(function.get("name")), str(function.get("description") or ""), _parameters(schema, schema))


def _parameters(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> tuple[Parameter, ...]:
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else ()
    rules = properties if isinstance(properties, Mapping) and depth < _DEEPEST else {}
    return tuple(_parameter(name, resolved(rule, root), name in needed, root, depth) for name, rule in rules.items())


def _parameter(name: str, rule: Any, is_required: bool, root: Mapping[str, Any], depth: int) -> Parameter:
    schema = rule if isinstance(rule, Mapping) else {}
    items, choices = resolved(schema.get("items"), root), schema.get("enum")
    types = type_names(schema)
    return Parameter(
        name,
        types[0].lower() if types else "",
        is_required,
        str(schema.get("description") or ""),
        tuple(choices) if isinstance(choices, list) else (),
        _parameter(name, items, True, root, depth + 1) if isinstance(items, Mapping) and depth < _DEEPEST else None,
        _parameters(schema, root, depth + 1),
    )


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
                    tuple(
                        Parameter(
                            p["name"],
                            str(p.get("type", "")).lower(),
                            p["name"] in tool.get("required", ()),
                            str(p.get("description") or ""),
                        )
                        for p in tool.get("parameters", ())
                    ),
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
