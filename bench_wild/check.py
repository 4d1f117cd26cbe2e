"""Checks a line of a WildToolBench data file against its rules (wild spec 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_wild.labels import ASK, FIRST_TURN, SUBTYPES, TYPES, UNKNOWN_SUBTYPE
from bench_wild.release2025.records import check_earlier, is_earlier, modern

TASKS = 4
"""Tasks of every session."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A broken rule: ``field`` names the place, ``rule`` completes the sentence."""

    field: str
    rule: str


def check_record(record: Any, language: str) -> Rule | None:
    """The first rule that a record of either release breaks in the fields that a run in ``language`` reads; None if it
    breaks none."""
    if not isinstance(record, Mapping):
        return Rule("the line", f"must be a JSON object, not {_kind(record)}")
    if not isinstance(record.get("id"), str) or not record["id"]:
        return Rule("id", f"must be a text that is not empty, not {_shown(record.get('id'))}")
    if is_earlier(record):
        if found := check_earlier(record, language):
            return Rule(*found)
        record = modern(record)
    twin = "english_" if language == "en" else ""
    return _plain_fields(record, twin) or _tools(record, f"{twin}tools") or _gold(record, twin)


def _must(value: Any, kind: type, field: str, wanted: str) -> Rule | None:
    """The rule that a value must be of a kind; ``wanted`` says so in words."""
    return None if isinstance(value, kind) else Rule(field, f"must be {wanted}, not {_shown(value)}")


def _plain_fields(record: Mapping[str, Any], twin: str) -> Rule | None:
    return (
        _must(record.get(f"{twin}env_info"), str, f"{twin}env_info", "a text")
        or _texts(record, f"{twin}tasks", TASKS)
        or _texts(record, f"{twin}task_types", TASKS, tuple(TYPES))
        or _texts(record, f"{twin}turn_subtypes", TASKS - 1, (*SUBTYPES, UNKNOWN_SUBTYPE))
        or _first_subtype(record)
    )


def _first_subtype(record: Mapping[str, Any]) -> Rule | None:
    """Of the earlier release, which may call a first task multi-turn."""
    found = record.get("first_subtype", FIRST_TURN)
    if found in (*SUBTYPES, FIRST_TURN):
        return None
    return Rule("turn_subtypes[0]", f"is {found!r:.40}; accepted are {', '.join(SUBTYPES)}")


def _texts(record: Mapping[str, Any], field: str, count: int, accepted: Sequence[str] = ()) -> Rule | None:
    values = record.get(field)
    if not isinstance(values, list):
        return Rule(field, f"must be a list of {count} texts, not {_shown(values)}")
    if len(values) != count:
        later = " after the first" if count < TASKS else ""
        return Rule(field, f"must have {count} entries, one for each task{later}; it has {len(values)}")
    for place, value in enumerate(values):
        if found := _must(value, str, f"{field}[{place}]", "a text"):
            return found
        if accepted and value not in accepted:
            return Rule(f"{field}[{place}]", f"is {value!r}; accepted are {', '.join(accepted)}")
    return None


def _tools(record: Mapping[str, Any], field: str) -> Rule | None:
    tools = record.get(field)
    if not isinstance(tools, list) or not tools:
        return Rule(field, f"must be a list of tools, not {_shown(tools)}")
    for place, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            return Rule(f"{field}[{place}]", "must be an object with a function that has a name")
        schema, where = function.get("parameters", {}), f"{field}[{place}].function.parameters"
        found = (
            _must(schema, Mapping, where, "an object")
            or _must(schema.get("properties", {}), Mapping, f"{where}.properties", "an object")
            or _must(schema.get("required", []), list, f"{where}.required", "a list")
        )
        if found:
            return found
    return None


def _gold(record: Mapping[str, Any], twin: str) -> Rule | None:
    field = f"{twin}answer_list"
    for name in dict.fromkeys((field, "answer_list")):  # the Chinese list's lengths count whatever the language
        if name != field and name not in record:
            continue
        if found := _must(record.get(name), list, name, f"a list of {TASKS} lists"):
            return found
        if len(record[name]) != TASKS:
            return Rule(name, f"must have {TASKS} entries, one for each task; it has {len(record[name])}")
        for place, nodes in enumerate(record[name]):
            if not isinstance(nodes, list) or not nodes:
                return Rule(f"{name}[{place}]", f"must be a list of actions, not {_shown(nodes)}")
    for place, nodes in enumerate(record[field]):
        for number, node in enumerate(nodes):
            if found := _node(node, f"{field}[{place}][{number}]", len(nodes)):
                return found
        if circle := _circle(nodes):
            return Rule(f"{field}[{place}]", f"has actions that wait for each other: {', '.join(map(str, circle))}")
    return None


def _node(node: Any, where: str, count: int) -> Rule | None:
    action = node.get("action") if isinstance(node, Mapping) else None
    if not isinstance(action, Mapping):
        return Rule(f"{where}.action", f"must be an object, not {_shown(action)}")
    if not isinstance(action.get("name"), str) or not action["name"]:
        return Rule(f"{where}.action.name", f"must be a text, not {_shown(action.get('name'))}")
    if found := _must(action.get("arguments"), Mapping, f"{where}.action.arguments", "an object"):
        return found
    if "observation" not in node:
        return Rule(f"{where}.observation", "is missing; any JSON value is accepted")
    depends, field = node.get("dependency_list"), f"{where}.dependency_list"
    if found := _must(depends, list, field, "a list of positions"):
        return found
    for dependency in depends:
        if type(dependency) is not int or not 0 <= dependency < count:
            return Rule(field, f"names {dependency!r}; accepted are the positions 0 to {count - 1}")
    if action["name"] == ASK:
        return _must(node.get("user_input"), str, f"{where}.user_input", "the user's reply, a text")
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
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )


def _shown(value: Any) -> str:
    return "missing or null" if value is None else f"{_kind(value)} ({str(value)[:40]!r})"
