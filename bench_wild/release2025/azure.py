"""Schemas as the earlier release normalises them for OpenAI's and Azure's endpoints (wild spec 8).

Follows ``functions_uniform`` in ``bench_test/utils/tools.py`` of yupeijei1997/WildToolBench at e163970, with one
difference: a type that is unknown there ends the request, and stays what it is here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgauge.core.types import Json
from bench_wild.data import Session

_KEPT = ("parameters", "properties", "description", "type", "example_value", "enum", "items")
"""Keywords that a property keeps. ``required``, ``default``, ``anyOf`` and ``additionalProperties`` are not among
them."""

_TYPES = {
    "float": "number",
    "int": "integer",
    "list of dictionaries": "object",
    "complex_string": "string",
    "String": "string",
    "UUID": "string",
}


def normalised(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools with normalised parameters. The result shares nothing with ``tools``."""
    return [{**_copy(tool), "function": _function(tool["function"])} for tool in tools]


def as_asked(session: Session, result: Mapping[str, Json]) -> Session:
    """The session with the tools that the earlier evaluator scores: as the requests of its release left them."""
    return replace(session, tools=tuple(narrowed(session.tools))) if result.get("release") == "2025" else session


def narrowed(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools as a request leaves them in the data, which is then scored: of a type that names several, such as
    ``string|null``, the first."""
    found: list[dict[str, Any]] = _copy(tools)
    for tool in found:
        schemas = list(tool["function"].get("parameters", {}).get("properties", {}).values())
        while schemas:
            if isinstance(schema := schemas.pop(), dict):
                if isinstance(schema.get("type"), str):
                    schema["type"] = schema["type"].split("|")[0]
                members = schema.get("properties")
                schemas += [*(members.values() if isinstance(members, dict) else ()), schema.get("items")]
    return found


def _function(function: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _copy(function)
    if "parameters" in function:
        found["parameters"] = _parameters(function["parameters"])
    return found


def _parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the arguments as a whole keeps every keyword, ``required`` too."""
    if "properties" not in parameters:
        return {"type": "object", "properties": {}}
    return {**_copy(parameters), "properties": {name: _property(one) for name, one in parameters["properties"].items()}}


def _property(schema: Any) -> Any:
    """The schema of a property or of items. Names of members are no keywords, so that each may be called like one."""
    if not isinstance(schema, Mapping):
        return _copy(schema)
    found: dict[str, Any] = {}
    for key in (key for key in schema if key in _KEPT):
        value = schema[key]
        if key == "properties" and isinstance(value, Mapping):
            found[key] = {name: _property(one) for name, one in value.items()}
        elif key == "items":
            found[key] = _property(value)
        elif key == "type":
            found |= _type(value)
        else:
            found[key] = _copy(value)
    return found


def _type(name: Any) -> dict[str, Any]:
    """``type``, with ``enum`` where the type's text lists values: ``enum["low", "high"]``."""
    if isinstance(name, Mapping):
        return {"type": "object"}
    if not isinstance(name, str):
        return {"type": _copy(name)}
    first = name.split("|")[0]
    if first in _TYPES or "enum" not in first:
        return {"type": _TYPES.get(first, first)}
    try:
        return {"enum": json.loads(first.replace("enum", "")), "type": "string"}
    except ValueError:
        return {"type": "string"}


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))
