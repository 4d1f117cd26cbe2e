"""Checking a call's arguments: first against the tool's schema, then against the gold (wild spec 5.2).

Outcomes are the texts of the published evaluator: ``correct`` or the first error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.types import Json
from bench_wild.fixes import Fix, Fixes
from bench_wild.matching.strings import CORRECT, compare_text

INVALID_JSON = "error: args invalid json format"

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "float": (float,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
"""Python types by schema type. bool is a subclass of int and passes for numbers: as upstream."""

_PHRASES = {
    "missing": ("required args missing", "required nested args missing"),
    "undefined": ("args not defined", "nested args not defined"),
    "type": ("args type inconsistent", "nested args type inconsistent"),
    "enum": ("args value not in enum", "nested args value not in enum"),
}
"""For arguments as a whole and for anything within them: a top-level argument counts as nested (as upstream)."""

Schema = Mapping[str, Any]


def check(tool: Mapping[str, Any], predicted: Json, gold: Json, fixes: Fixes) -> str:
    """Judge the arguments of one call. ``tool`` is in OpenAI form, ``predicted`` JSON text, ``gold`` an object.
    Raises as ``parse``."""
    parsed, error = parse(predicted, fixes)
    if error:
        return error
    parameters = _parameters(tool)
    outcome = _check_schema(parsed, parameters, "", fixes)
    return outcome if outcome != CORRECT else compare(parsed, gold, parameters, fixes)


def check_schema(tool: Mapping[str, Any], predicted: Json, fixes: Fixes) -> str:
    """The schema check alone. Raises as ``parse``."""
    parsed, error = parse(predicted, fixes)
    return error or _check_schema(parsed, _parameters(tool), "", fixes)


def parse(predicted: Json, fixes: Fixes) -> tuple[Json, str]:
    """Value and error text, one of them empty. Python's JSON: NaN is taken, and of equal keys the last.

    A value that is no text is an error (upstream stops there), except an object under Fix.ARGUMENT_OBJECTS. Raises the
    exception with which upstream stops, unless Fix.ANY_TEXT: RecursionError for text that is nested too deep,
    ValueError for an integer of too many digits.
    """
    if Fix.ARGUMENT_OBJECTS in fixes and isinstance(predicted, dict):
        return predicted, ""
    if not isinstance(predicted, str):
        return None, INVALID_JSON
    try:
        return json.loads(predicted), ""
    except (ValueError, RecursionError) as error:
        if Fix.ANY_TEXT not in fixes and not isinstance(error, json.JSONDecodeError):
            raise
        return None, INVALID_JSON


def find_tool(tools: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """The tool of a name; of several, the last."""
    return next((tool for tool in reversed(tools) if tool["function"]["name"] == name), None)


def _parameters(tool: Mapping[str, Any]) -> Schema:
    """The schema of the arguments as a whole. A top-level ``additionalProperties`` is ignored: as upstream."""
    parameters = tool["function"].get("parameters") or {}
    return {
        "type": "object",
        "required": parameters.get("required") or [],
        "properties": parameters.get("properties") or {},
    }


# -- the schema


def _check_schema(value: Json, schema: Schema, path: str, fixes: Fixes) -> str:
    if branches := schema.get("anyOf"):
        outcomes = [_check_schema(value, branch, path, fixes) for branch in branches]
        return CORRECT if CORRECT in outcomes else outcomes[0]
    if not _right_type(value, schema, fixes):
        return _violation("type", path)
    if "enum" in schema and value not in schema["enum"]:
        return _violation("enum", path)
    if isinstance(value, dict):
        return _check_members(value, schema, path, fixes)
    if isinstance(value, list) and "items" in schema:
        for place, item in enumerate(value):
            if (outcome := _check_schema(item, schema["items"], f"{path}[{place}]", fixes)) != CORRECT:
                return outcome
    return CORRECT


def _right_type(value: Json, schema: Schema, fixes: Fixes) -> bool:
    if "type" not in schema and Fix.ANY_TYPE in fixes:
        return True
    name = schema.get("type", "string")
    accepted = _TYPES.get(name) if isinstance(name, str) else None
    if accepted is None:
        return True  # an unknown name allows anything: as upstream
    if Fix.SAME_NUMBER in fixes and name == "float" and isinstance(value, int):
        return True
    return isinstance(value, accepted)


def _check_members(value: Mapping[str, Json], schema: Schema, path: str, fixes: Fixes) -> str:
    if any(name not in value for name in schema.get("required", ())):
        return _violation("missing", path)
    properties = schema.get("properties", {})
    free = schema.get("additionalProperties") is True or (Fix.FREE_OBJECTS in fixes and "properties" not in schema)
    for name, member in value.items():
        if name in properties:
            outcome = _check_schema(member, properties[name], f"{path}.{name}" if path else name, fixes)
            if outcome != CORRECT:
                return outcome
        elif not free:
            return _violation("undefined", path)
    return CORRECT


def _violation(kind: str, path: str) -> str:
    return f"error_schema: {_PHRASES[kind][bool(path)]}"


# -- the gold


def compare(predicted: Json, gold: Json, parameters: Schema, fixes: Fixes) -> str:
    """Compare parsed arguments with the gold's. The order of members is irrelevant, that of items is not."""
    # upstream hands over the map of properties instead of a schema; it matters for a parameter called ``properties``
    # only
    return _compare(
        predicted,
        gold,
        parameters if Fix.FREE_OBJECTS in fixes else parameters["properties"],
        "",
        fixes,
        top=parameters,
    )


def _compare(predicted: Json, gold: Json, schema: Any, path: str, fixes: Fixes, top: Schema | None = None) -> str:
    where = _at(path)
    if type(predicted) is not type(gold):
        if Fix.SAME_NUMBER in fixes and _one_number(predicted, gold):
            return CORRECT
        return f"error_match: value type inconsistent{where}"
    if isinstance(gold, dict):
        return _compare_members(predicted, gold, schema, path, fixes, top)
    if isinstance(gold, list):
        if len(predicted) != len(gold):
            return f"error_match: array length mismatch{where}"
        if not isinstance(schema, Mapping):
            return _no_schema(schema)
        items = schema.get("items", {})
        for place, (mine, wanted) in enumerate(zip(predicted, gold, strict=True)):
            if (outcome := _compare(mine, wanted, items, f"{path}[{place}]", fixes)) != CORRECT:
                return outcome
        return CORRECT
    if isinstance(gold, str):
        return compare_text(predicted, gold, path, any_length=Fix.LONG_TEXTS in fixes)
    return CORRECT if predicted == gold else f"error_match: value mismatch{where}"


def _compare_members(
    predicted: Mapping[str, Json], gold: Mapping[str, Json], schema: Any, path: str, fixes: Fixes, top: Schema | None
) -> str:
    if Fix.DEFAULTS in fixes:
        known = {name: value for name, value in _defaults(top or schema).items() if name in predicted or name in gold}
        predicted, gold = {**known, **predicted}, {**known, **gold}
    missing, extra = sorted(gold.keys() - predicted.keys()), sorted(predicted.keys() - gold.keys())
    if missing or extra:
        parts = [f"{word}: {names}" for word, names in (("missing", missing), ("extra", extra)) if names]
        return f"error_match: args keys mismatch{_at(path)} ({', '.join(parts)})"
    members = _members(schema, fixes)
    for name, wanted in gold.items():
        sub_schema = members.get(name, {})
        if (
            outcome := _compare(predicted[name], wanted, sub_schema, f"{path}.{name}" if path else name, fixes)
        ) != CORRECT:
            return outcome
    return CORRECT


def _members(schema: Any, fixes: Fixes) -> Mapping[str, Any]:
    """The schemas of an object's members; what is no schema has none.

    Where there are no ``properties``, a member called like a keyword gets that keyword's value: as upstream.
    """
    if not isinstance(schema, Mapping):
        return {}
    members = schema.get("properties", {} if Fix.FREE_OBJECTS in fixes else schema)
    return members if isinstance(members, Mapping) else {}


def _no_schema(schema: Any) -> str:
    return f"error: comparison failed - {type(schema).__name__!r} object has no attribute 'get'"


def _at(path: str) -> str:
    return f" at '{path}'" if path else ""


def _defaults(schema: Any) -> dict[str, Json]:
    """Default values of optional members."""
    members = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    return {name: one["default"] for name, one in members.items() if isinstance(one, Mapping) and "default" in one}


def _one_number(one: Json, other: Json) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other))
    return numbers and bool(one == other)
