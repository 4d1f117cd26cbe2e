"""Types of the parameters that the earlier evaluator found wrong, as its report lists them (wild spec 7.5)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.types import Json
from bench_wild.matching.arguments import find_tool
from bench_wild.release2025.evaluator import SoftVerdict


def signature(schema: Any) -> str:
    """A schema's types as JSON: ``["string"]``, ``["array", ["string"]]``, an object with a list of its members' types.

    ``[]`` for a schema without a type, and for a parameter that the tool does not have.
    """
    return json.dumps(_types(schema))


def _types(schema: Any) -> list[Json]:
    if not isinstance(schema, Mapping) or "type" not in schema:
        return []
    types: list[Json] = [schema["type"]]
    if isinstance(properties := schema.get("properties"), Mapping):
        types.append([_types(member) for member in properties.values()])
    if "items" in schema:
        types.append(_types(schema["items"]))
    return types


def wrong_types(verdict: SoftVerdict, tools: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """How often a parameter of each signature is wrong in a task's bad calls."""
    found: Counter[str] = Counter()
    for one in verdict.bad:
        tool = find_tool(tools, one.call.name)
        properties = ((tool or {}).get("function", {}).get("parameters") or {}).get("properties") or {}
        found.update(signature(properties.get(name)) for name in one.tried_last)
    return found
