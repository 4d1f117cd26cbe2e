"""Finds gaps in tool lists. A list with gaps can still be used: the published ones have such gaps (wild spec 2.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.text import json_lines, parse_json
from agentgauge.core.tools import target_of
from agentgauge.core.types import Json

FILES = ("tools_en.jsonl", "tools_zh.jsonl")
"""The generator's tool lists, one JSON list a line."""

TYPES = ("string", "integer", "number", "float", "boolean", "array", "object", "null")
"""Types that the argument checker knows; any other allows every value (wild spec 5.2)."""


def read_tool_lists(file: Path) -> Iterator[list[dict[str, Any]]]:
    """The lists of a file. Raises DataProblem for a line that is no list of tools."""
    try:
        lines = json_lines(file)
    except (OSError, UnicodeDecodeError) as error:
        raise DataProblem(f"{file} cannot be read as UTF-8 text: {error}") from None
    for number, line in lines:
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
    found = [f"{count} tools are called {name!r}; a call means the last" for name, count in names.items() if count > 1]
    for tool in tools:
        function = tool["function"]
        name = function["name"]
        if not function.get("description"):
            found.append(f"{name} has no description")
        schema = function.get("parameters")
        if not isinstance(schema, Mapping):
            found.append(f"{name} has no parameters")
        else:
            try:
                found += [f"{name}{text}" for text in _Lacks(schema).of_object(schema, "")]
            except RecursionError:
                found.append(f"{name} has parameters that are nested too deep to be looked at")
    return found


@dataclass(frozen=True, slots=True)
class _Lacks:
    """The gaps of one tool's parameters, as ends of sentences that begin with the tool's name."""

    root: Mapping[str, Any]

    def of_object(self, schema: Mapping[str, Any], path: str) -> Iterator[str]:
        properties, required = schema.get("properties") or {}, schema.get("required") or ()
        if not isinstance(properties, Mapping) or not isinstance(required, list | tuple):
            yield f"{path} has properties that are not an object, or a list of required names that is none"
            return
        for wanted in required:
            if not isinstance(wanted, str) or wanted not in properties:
                yield f"{path} requires {wanted!r}, which it does not declare"
        for name, rule in properties.items():
            yield from self._of_member(rule, f"{path}.{name}")

    def _of_member(self, rule: Json, path: str) -> Iterator[str]:
        yield from self._of_value(rule, path)
        if isinstance(rule, Mapping) and not rule.get("description"):
            yield f"{path} has no description"

    def _of_value(self, rule: Json, path: str) -> Iterator[str]:
        if isinstance(rule, bool):
            yield f"{path} is {str(rule).lower()}, which is a schema, but the published evaluator stops on it"
        elif not isinstance(rule, Mapping):
            yield f"{path} is not a schema but {json.dumps(rule, ensure_ascii=False)[:60]}"
        else:
            yield from self._of_schema(rule, path)

    def _of_schema(self, rule: Mapping[str, Any], path: str) -> Iterator[str]:
        kind, reference = rule.get("type"), rule.get("$ref")
        if isinstance(reference, str):
            lost = "" if target_of(reference, self.root) is not None else ", and which leads to nothing"
            yield f"{path} refers to {reference!r}, which the evaluator takes for string{lost}"
        elif isinstance(kind, list):
            yield f"{path} has the types {', '.join(map(str, kind))}; the published evaluator stops on a list of types"
        elif kind is None and "anyOf" not in rule:
            yield f"{path} has no type, which the evaluator takes for string"
        elif kind is not None and kind not in TYPES:
            yield f"{path} has the unknown type {kind!r}, which allows every value"
        if "object" in (kind if isinstance(kind, list) else [kind]):
            yield from self._of_members(rule, path)
        if "array" in (kind if isinstance(kind, list) else [kind]):
            yield from self._of_items(rule, path)

    def _of_members(self, rule: Mapping[str, Any], path: str) -> Iterator[str]:
        if isinstance(rule.get("additionalProperties"), Mapping):
            yield f"{path} has a schema for further members, which the evaluator refuses"
        elif not rule.get("properties") and rule.get("additionalProperties") is not True:
            yield f"{path} is an object without properties, so that the evaluator accepts only an empty one"
        yield from self.of_object(rule, path)

    def _of_items(self, rule: Mapping[str, Any], path: str) -> Iterator[str]:
        items = rule.get("items")
        if isinstance(rule.get("prefixItems"), list):
            yield f"{path} has prefixItems, which the evaluator does not read"
        elif isinstance(items, list):
            yield f"{path} is a tuple, whose items the evaluator takes for strings"
        elif items is None:
            yield f"{path} is an array without items"
        if isinstance(items, Mapping | bool | str | int | float):
            yield from self._of_value(items, f"{path}[]")
