"""Finds gaps in tool lists. A list with gaps can still be used: the published ones have such gaps (wild spec 2.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.parsing import parse_json
from agentgauge.core.text_files import read_text
from agentgauge.core.types import Json

FILES = ("tools_en.jsonl", "tools_zh.jsonl")
"""The generator's tool lists, one JSON list a line."""

TYPES = ("string", "integer", "number", "float", "boolean", "array", "object", "null")
"""Types that the argument checker knows; any other allows every value (wild spec 5.2)."""


def read_tool_lists(file: Path) -> Iterator[list[dict[str, Any]]]:
    """The lists of a file. Raises DataProblem for a line that is no list of tools."""
    try:
        text = read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise DataProblem(f"{file} cannot be read as UTF-8 text: {error}") from None
    # a value may hold U+2028, at which splitlines would break it
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        try:
            tools = parse_json(line)
        except ValueError as error:
            raise DataProblem(
                f"{file.name}, line {number}: not valid JSON: {error}; each line is a JSON list of tools"
            ) from None
        if not isinstance(tools, list) or not all(isinstance(tool, Mapping) and _function(tool) for tool in tools):
            raise DataProblem(
                f"{file.name}, line {number}: must be a list of tools, each an object with a function that has a name"
            )
        yield tools


def _function(tool: Mapping[str, Any]) -> Mapping[str, Any] | None:
    function = tool.get("function")
    return function if isinstance(function, Mapping) and isinstance(function.get("name"), str) else None


def lacks(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """The gaps and oddities of a list, one sentence each."""
    names = Counter(tool["function"]["name"] for tool in tools)
    found = [f"{count} tools are called {name!r}; a call means the first" for name, count in names.items() if count > 1]
    for tool in tools:
        function = tool["function"]
        name = function["name"]
        if not function.get("description"):
            found.append(f"{name} has no description")
        schema = function.get("parameters")
        if not isinstance(schema, Mapping):
            found.append(f"{name} has no parameters")
        else:
            found += [f"{name}{text}" for text in _of_object(schema, "")]
    return found


def _of_object(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    if not isinstance(properties, Mapping) or not isinstance(required, list | tuple):
        yield f"{path} has properties that are not an object, or a list of required names that is none"
        return
    for wanted in required:
        if wanted not in properties:
            yield f"{path} requires {wanted!r}, which it does not declare"
    for name, rule in properties.items():
        yield from _of_value(rule, f"{path}.{name}")


def _of_value(rule: Json, path: str) -> Iterator[str]:
    if not isinstance(rule, Mapping):
        yield f"{path} is not a schema but {json.dumps(rule, ensure_ascii=False)[:60]}"
        return
    kind = rule.get("type")
    if kind is None and "anyOf" not in rule:
        yield f"{path} has no type, which the evaluator takes for string"
    elif kind is not None and kind not in TYPES:
        yield f"{path} has the unknown type {kind!r}, which allows every value"
    if not rule.get("description"):
        yield f"{path} has no description"
    if kind == "object":
        if not rule.get("properties"):
            yield f"{path} is an object without properties, so that the evaluator accepts only an empty one"
        yield from _of_object(rule, path)
    if kind == "array":
        if isinstance(rule.get("items"), Mapping):
            yield from (
                text for text in _of_value(rule["items"], f"{path}[]") if not text.endswith("has no description")
            )
        else:
            yield f"{path} is an array without items"
