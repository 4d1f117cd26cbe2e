"""Placeholders that stand for folders of this machine in everything that is stored, so that a run can be moved and
scored again elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from agentgauge.core.types import Json


def with_placeholders(value: Json, placeholders: Mapping[str, str]) -> Json:
    """``value`` with the folders in its texts replaced by placeholders: a copy, or the value itself where no text names
    one.

    ``placeholders`` maps an absolute folder, without a slash at the end, to its placeholder. Only whole folder names
    are replaced: with ``/data/gta``, ``/data/gta2/x`` stays as it is. Where one folder lies in another, the deeper one
    wins. The form that a folder takes inside escaped JSON text is found too.
    """
    search = _search(tuple(placeholders.items()))
    return _replaced(value, search) if search.written and _may_name(value, search) else value


class _Search(NamedTuple):
    written: Mapping[str, str]  # every form of a folder → its placeholder
    pattern: re.Pattern[str]
    plain: bool  # every folder is written in JSON as it is


@lru_cache(maxsize=64)
def _search(placeholders: tuple[tuple[str, str], ...]) -> _Search:
    written = {
        form: placeholder
        for folder, placeholder in placeholders
        if folder.strip("/")
        for form in (folder, json.dumps(folder)[1:-1])
    }
    folders = "|".join(re.escape(form) for form in sorted(written, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w/.-])(?:{folders})(?![\w-]|\.\w)")
    return _Search(written, pattern, plain=all(json.dumps(folder)[1:-1] == folder for folder, _ in placeholders))


def _may_name(value: Json, search: _Search) -> bool:
    """Whether a folder may be in one of the texts, which few values have: looking through all at once takes a fifth
    of the time."""
    if not search.plain:
        return True
    try:
        text = value if isinstance(value, str) else json.dumps(value)
    except (TypeError, ValueError):  # other than plain JSON
        return True
    return any(folder in text for folder in search.written)


def _replaced(value: Any, search: _Search) -> Any:
    if isinstance(value, str):
        return search.pattern.sub(lambda match: search.written[match[0]], value)
    if isinstance(value, Mapping):
        return {_replaced(key, search): _replaced(inner, search) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(inner, search) for inner in value]
    return value


class PathPlaceholders:
    """Converts folders of this machine and this run to placeholders, and back.

    ``placeholders`` maps an absolute folder to its placeholder. Each folder needs a placeholder of its own, so that the
    conversion can be reversed.
    """

    def __init__(self, placeholders: Mapping[str, str]) -> None:
        if len(set(placeholders.values())) != len(placeholders):
            raise ValueError(f"two folders have the same placeholder: {dict(placeholders)}")
        self._placeholders = dict(placeholders)
        self._folders = {placeholder: folder for folder, placeholder in placeholders.items()}

    def to_placeholders(self, value: Json) -> Json:
        return with_placeholders(value, self._placeholders)

    def to_paths(self, value: Json) -> Json:
        """Replace the placeholders by folders in every text."""
        if isinstance(value, str) and self._folders:
            return re.sub("|".join(map(re.escape, self._folders)), lambda hit: self._folders[hit[0]], value)
        if isinstance(value, Mapping):
            return {self.to_paths(key): self.to_paths(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.to_paths(item) for item in value]
        return value
