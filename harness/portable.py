"""Absolute paths out of everything that is stored, so that a run can be moved and scored again elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from harness.types import Json


def portable(value: Json, tokens: Mapping[str, str]) -> Json:
    """A copy of ``value`` in which every text has the folders of ``tokens`` replaced by their token.

    ``tokens`` maps an absolute folder, without a slash at the end, to what stands for it. Only whole folder names are
    replaced: with ``/data/gta``, ``/data/gta2/x`` stays as it is. Where one folder lies in another, the deeper one wins.
    The form that a folder takes inside escaped JSON text is found too.
    """
    written = {form: token for folder, token in tokens.items() if folder.strip("/") for form in (folder, json.dumps(folder)[1:-1])}
    if not written:
        return value
    pattern = _finder(tuple(written))

    def replace(item: Any) -> Any:
        if isinstance(item, str):
            return pattern.sub(lambda match: written[match[0]], item)
        if isinstance(item, Mapping):
            return {replace(key): replace(inner) for key, inner in item.items()}
        if isinstance(item, (list, tuple)):
            return [replace(inner) for inner in item]
        return item

    return replace(value)


@lru_cache(maxsize=64)
def _finder(forms: tuple[str, ...]) -> re.Pattern[str]:
    folders = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(rf"(?<![\w/.-])(?:{folders})(?![\w-]|\.\w)")


class Portable:
    """Folders of this machine and this run to tokens, and back.

    ``tokens`` maps an absolute folder to its token. Each folder needs a token of its own, or there would be no way back.
    """

    def __init__(self, tokens: Mapping[str, str]) -> None:
        if len(set(tokens.values())) != len(tokens):
            raise ValueError(f"two folders have the same token: {dict(tokens)}")
        self._tokens = dict(tokens)
        self._folders = {token: folder for folder, token in tokens.items()}
        self._pattern = re.compile("|".join(map(re.escape, self._folders))) if tokens else None

    def pack(self, value: Json) -> Json:
        """Folders to tokens."""
        return portable(value, self._tokens)

    def unpack(self, value: Json) -> Json:
        """Tokens to folders, in every text."""
        if isinstance(value, str) and self._pattern is not None:
            return self._pattern.sub(lambda hit: self._folders[hit[0]], value)
        if isinstance(value, Mapping):
            return {self.unpack(key): self.unpack(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.unpack(item) for item in value]
        return value
