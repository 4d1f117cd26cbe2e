"""Every text inside a JSON value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentgauge.core.types import Json


def texts_in(value: Json) -> Iterator[str]:
    """The texts in lists and in values of objects, in order, however deep. Keys of objects are left out."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, Mapping):
            waiting += reversed(list(part.values()))
