"""Checks a line of a WildToolBench data file against its rules (docs/benchmarks/wild.md#data), and finds gaps in tool
lists.

A list with gaps can still be used: the published ones have such gaps (docs/benchmarks/wild.md#records).
"""

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
from bench_wild.labels import ASK, FIRST_TURN, SUBTYPES, TYPES, UNKNOWN_SUBTYPE
from bench_wild.layout import check_earlier, is_earlier, modern

TASKS = 4
"""Tasks of every session."""


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A broken rule: ``field`` names the place, ``rule`` completes the sentence."""

    field: str
    rule: str


def check_record(record: Any, language: str) -> BrokenRule | None:
    """The first rule that a record of either release breaks in the fields that a run in ``language`` reads; None if it
    breaks none."""
    if not isinstance(record, Mapping):
        return BrokenRule("the line", f"must be a JSON object, not {_kind(record)}")
    if not isinstance(record.get("id"), str) or not record["id"]:
        return BrokenRule("id", f"must be a string that is not empty, not {_shown(record.get('id'))}")
    if is_earlier(record):
        if found := check_earlier(record, language):
            return BrokenRule(*found)
        record = modern(record)
    twin = "english_" if language == "en" else ""
    return _plain_fields(record, twin) or _tools(record, f"{twin}tools") or _gold(record, twin)


def _must(value: Any, kind: type, field: str, wanted: str) -> BrokenRule | None:
    """The rule that a value must be of a kind; ``wanted`` says so in words."""
    return None if isinstance(value, kind) else BrokenRule(field, f"must be {wanted}, not {_shown(value)}")


def _plain_fields(record: Mapping[str, Any], twin: str) -> BrokenRule | None:
    return (
        _must(record.get(f"{twin}env_info"), str, f"{twin}env_info", "a string")
        or _texts(record, f"{twin}tasks", TASKS)
        or _texts(record, f"{twin}task_types", TASKS, tuple(TYPES))
        or _texts(record, f"{twin}turn_subtypes", TASKS - 1, (*SUBTYPES, UNKNOWN_SUBTYPE))
        or _first_subtype(record)
    )


def _first_subtype(record: Mapping[str, Any]) -> BrokenRule | None:
    """Check the field of the earlier release, which may call a first task multi-turn."""
    found = record.get("first_subtype", FIRST_TURN)
    if found in (*SUBTYPES, FIRST_TURN):
        return None
    return BrokenRule("turn_subtypes[0]", f"is {found!r:.40}; accepted are {', '.join(SUBTYPES)}")


def _texts(record: Mapping[str, Any], field: str, count: int, accepted: Sequence[str] = ()) -> BrokenRule | None:
    values = record.get(field)
    if not isinstance(values, list):
        return BrokenRule(field, f"must be a list of {count} strings, not {_shown(values)}")
    if len(values) != count:
        later = " after the first" if count < TASKS else ""
        return BrokenRule(field, f"must have {count} entries, one for each task{later}; it has {len(values)}")
    for place, value in enumerate(values):
        if found := _must(value, str, f"{field}[{place}]", "a string"):
            return found
        if accepted and value not in accepted:
            return BrokenRule(f"{field}[{place}]", f"is {value!r}; accepted are {', '.join(accepted)}")
    return None


def _tools(record: Mapping[str, Any], field: str) -> BrokenRule | None:
    tools = record.get(field)
    if not isinstance(tools, list) or not tools:
        return BrokenRule(field, f"must be a list of tools, not {_shown(tools)}")
    for place, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            return BrokenRule(f"{field}[{place}]", "must be an object with a function that has a name")
        schema, where = function.get("parameters", {}), f"{field}[{place}].function.parameters"
        found = (
            _must(schema, Mapping, where, "an object")
            or _must(schema.get("properties", {}), Mapping, f"{where}.properties", "an object")
            or _must(schema.get("required", []), list, f"{where}.required", "a list")
        )
        if found:
            return found
    return None


def _gold(record: Mapping[str, Any], twin: str) -> BrokenRule | None:
    field = f"{twin}answer_list"
    for name in dict.fromkeys((field, "answer_list")):  # the Chinese list's lengths count whatever the language
        if name != field and name not in record:
            continue
        if found := _must(record.get(name), list, name, f"a list of {TASKS} lists"):
            return found
        if len(record[name]) != TASKS:
            return BrokenRule(name, f"must have {TASKS} entries, one for each task; it has {len(record[name])}")
        for place, nodes in enumerate(record[name]):
            if not isinstance(nodes, list) or not nodes:
                return BrokenRule(f"{name}[{place}]", f"must be a list of actions, not {_shown(nodes)}")
    for place, nodes in enumerate(record[field]):
        for number, node in enumerate(nodes):
            if found := _node(node, f"{field}[{place}][{number}]", len(nodes)):
                return found
        if circle := _circle(nodes):
            return BrokenRule(
                f"{field}[{place}]", f"has actions that wait for each other: {', '.join(map(str, circle))}"
            )
    return None


def _node(node: Any, where: str, count: int) -> BrokenRule | None:
    action = node.get("action") if isinstance(node, Mapping) else None
    if not isinstance(action, Mapping):
        return BrokenRule(f"{where}.action", f"must be an object, not {_shown(action)}")
    if not isinstance(action.get("name"), str) or not action["name"]:
        return BrokenRule(f"{where}.action.name", f"must be a string, not {_shown(action.get('name'))}")
    if found := _must(action.get("arguments"), Mapping, f"{where}.action.arguments", "an object"):
        return found
    if "observation" not in node:
        return BrokenRule(f"{where}.observation", "is missing; any JSON value is accepted")
    depends, field = node.get("dependency_list"), f"{where}.dependency_list"
    if found := _must(depends, list, field, "a list of positions"):
        return found
    for dependency in depends:
        if type(dependency) is not int or not 0 <= dependency < count:
            return BrokenRule(field, f"names {dependency!r}; accepted are the positions 0 to {count - 1}")
    if action["name"] == ASK:
        return _must(node.get("user_input"), str, f"{where}.user_input", "the user's reply, a string")
    return None


def _circle(nodes: Sequence[Mapping[str, Any]]) -> list[int]:
    """The actions that can never be reached."""
    done: set[int] = set()
    while ready := [
        place for place, node in enumerate(nodes) if place not in done and done.issuperset(node["dependency_list"])
    ]:
        done.update(ready)
    return [place for place in range(len(nodes)) if place not in done]


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )


def _shown(value: Any) -> str:
    return "missing or null" if value is None else f"{_kind(value)} ({str(value)[:40]!r})"


TOOL_LISTS = ("tools_en.jsonl", "tools_zh.jsonl")
"""The generator's tool lists, one JSON list a line."""

SCHEMA_TYPES = ("string", "integer", "number", "float", "boolean", "array", "object", "null")
"""Types that the argument checker knows; any other allows every value (docs/benchmarks/wild.md#schemas)."""


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
        elif kind is not None and kind not in SCHEMA_TYPES:
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
