"""Decoding JSON that a model wrote."""

from __future__ import annotations

import json

from agentgauge.core.types import Json

DEEPEST = 200
"""Levels of lists and objects. Python's JSON module handles about 1,000 levels less the depth of the call stack, so a
value that could be read might not be writable into a record from another depth."""


def read_json(text: str) -> Json:
    """The value. Raises ValueError for text that is no JSON, for values nested deeper than DEEPEST and for overlong
    numbers."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    check_depth(value)
    return value


def check_depth(value: Json) -> None:
    """Raises ValueError for a value nested deeper than DEEPEST."""
    level = [value]
    for _ in range(DEEPEST + 1):
        nested = [one for one in level if isinstance(one, dict | list)]
        if not nested:
            return
        level = [item for one in nested for item in (one if isinstance(one, list) else one.values())]
    raise ValueError(f"nested deeper than {DEEPEST} levels")
