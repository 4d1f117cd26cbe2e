"""Tools on offer, in OpenAI's format."""

from __future__ import annotations

from typing import Any


def tools(*names: str, **parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Function tools: by their names, or with the schemas of their parameters."""
    given: dict[str, dict[str, Any]] = {name: {} for name in names} | {
        name: {"type": "object", "properties": properties} for name, properties in parameters.items()
    }
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in given.items()]
