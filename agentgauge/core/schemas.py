"""JSON schemas of tools, as people write them: references, tuples, and lists of types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

EVERY_VALUE, NO_VALUE = True, False
"""The two Boolean schemas."""


def resolved(schema: Any, root: Any) -> Any:
    """A schema without ``$ref``: what the reference leads to in ``root``, with the keywords beside it.

    A reference that leads in a circle, to nothing or out of ``root`` adds nothing.
    """
    followed: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        target = EVERY_VALUE if reference in followed else target_of(reference, root)
        followed.add(reference)
        if target is NO_VALUE:
            return NO_VALUE
        schema = {**target, **beside} if isinstance(target, Mapping) else beside or EVERY_VALUE
    return schema


def target_of(reference: str, root: Any) -> Any:
    """What a reference such as ``#/$defs/Place`` names in ``root``; None for what is not there."""
    if reference.partition("/")[0] not in ("#", ""):
        return None
    found = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found


def item_schema(schema: Mapping[str, Any], place: int) -> Any:
    """The schema of an array's item: ``items``, or its own where the array is a tuple, in either way to write one."""
    first, rest = schema.get("prefixItems"), schema.get("items", EVERY_VALUE)
    if isinstance(rest, list):
        first, rest = rest, schema.get("additionalItems", EVERY_VALUE)
    return first[place] if isinstance(first, list) and place < len(first) else rest


def type_names(schema: Mapping[str, Any]) -> list[str]:
    """The names in ``type``, which may be a list."""
    given = schema.get("type")
    return [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]
