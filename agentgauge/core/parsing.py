"""JSON and TOML that others wrote: everything that is wrong with a text is a ValueError with a sentence."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.text_files import read_text
from agentgauge.core.types import Json

DEEPEST = 100
"""Levels of lists and tables of what people write by hand. Deeper ones can be read, but not walked through."""

_LARGEST = 10**300
"""No number of a file is larger: many uses of one make it a float."""

_SIGN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)

_TOO_DEEP = "it is nested too deep"


def parse_json(text: str | bytes) -> Json:
    """As ``json.loads``. Raises ValueError, also for what Python does not read: levels above a thousand or so, and
    numbers of more than 4,300 digits."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise in_words(error) from None


def in_words(error: ValueError | RecursionError) -> ValueError:
    """An error of reading JSON or TOML, in words that say what the text holds."""
    if isinstance(error, RecursionError):
        return ValueError(_TOO_DEEP)
    if isinstance(error, json.JSONDecodeError | tomllib.TOMLDecodeError | UnicodeDecodeError):
        return error
    return ValueError("it has a number of more than 4300 digits")


def parse_reply(text: str | bytes) -> Json:
    """As ``parse_json``, for what a server sends. What Python cannot read there must not cost the rest: a whole number
    of more than 4,300 digits is infinite, and what is nested too deep is null."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except (ValueError, RecursionError):
        text = text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")
        return json.loads(_shallow(text), parse_int=_whole)


def _shallow(text: str) -> str:
    """A JSON text with null in the place of everything below DEEPEST levels."""
    kept, depth, start = list[str](), 0, 0
    for sign in _SIGN.finditer(text):
        if sign[0] in "[{":
            depth += 1
            if depth == DEEPEST + 1:
                kept += text[start : sign.start()], "null"
        elif sign[0] in "]}":
            if depth == DEEPEST + 1:
                start = sign.end()
            depth -= 1
    return "".join([*kept, text[start:]] if depth <= DEEPEST else kept)


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < 4300 else float(digits)


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file of people. Raises OSError and, as ``parse_json``, ValueError; its message shows no value of the
    file."""
    try:
        data = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise in_words(error) from None
    refuse_extremes(data)
    return data


def refuse_extremes(value: Json, *, deepest: int = DEEPEST) -> None:
    """Raises ValueError for what cannot be worked with, though it can be read: more levels than ``deepest``, and whole
    numbers of more than 300 digits."""
    level = [value]
    for _ in range(deepest):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, Mapping):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
            elif isinstance(one, int) and abs(one) > _LARGEST:
                raise ValueError("it has a number of more than 300 digits")
        if not inner:
            return
        level = inner
    raise ValueError(_TOO_DEEP)
