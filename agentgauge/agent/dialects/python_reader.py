"""Reads calls in Python's syntax from a position, with the usual mistakes of models: for ``--scoring strict``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentgauge.agent.dialects.call_values import Offered, offered_name, types_of
from agentgauge.agent.dialects.format import ParsedCall, as_json
from agentgauge.agent.dialects.pycalls import evaluate
from agentgauge.agent.near_json import NoValue, decode, skip_blanks
from agentgauge.core.types import Json

_NAME = re.compile(r"([^\W\d][\w.-]*)\s*\(")
_PARAMETER = re.compile(r"([^\W\d][\w.-]*)\s*=(?!=)\s*")
_PIECE = re.compile(r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|[\[({\])},]", re.DOTALL)
_UNCLEAR = re.compile(r"\d[-/]\d")
"""A date, a telephone number, a fraction: what stands so without quotes is no sum."""

_EXPRESSION = 10_000  # characters


def read_python(text: str, place: int, offered: Offered) -> tuple[list[ParsedCall], int]:
    """The calls that begin at ``place``, joined by commas, in brackets or not, and their end. Raises NoValue.

    Values are those of ``near_json``, else what Python computes from numbers and joins from texts. A positional object
    holds the arguments, unless only an object fits the tool's first parameter; other positional values go to the
    parameters in their order. The last bracket of a reply may be missing.
    """
    bracketed = text.startswith("[", place)
    place = skip_blanks(text, place + 1) if bracketed else place
    calls: list[ParsedCall] = []
    while True:
        call, end = _call(text, place, offered)
        calls.append(call)
        place = skip_blanks(text, end)
        if text.startswith(",", place):
            place = skip_blanks(text, place + 1)
            if _NAME.match(text, place):
                continue
        if not bracketed:
            return calls, end
        if text.startswith("]", place):
            return calls, place + 1
        if text[end:place].strip() or (place < len(text) and not text.startswith("<|", place)):
            raise NoValue(place)
        return calls, end


def _call(text: str, place: int, offered: Offered) -> tuple[ParsedCall, int]:
    named = _NAME.match(text, place)
    if not named:
        raise NoValue(place)
    name = offered_name(named[1], offered)
    if name not in offered:
        name = name.removesuffix(".call").rpartition(".")[2]
    given: dict[str, Json] = {}
    positional: list[Json] = []
    place = skip_blanks(text, named.end())
    while not text.startswith(")", place):
        parameter = _PARAMETER.match(text, place)
        value, place = _argument(text, parameter.end() if parameter else place)
        if parameter:
            given[parameter[1]] = value
        else:
            positional.append(value)
        if text.startswith(",", place):
            place = skip_blanks(text, place + 1)
    try:
        return ParsedCall(name, as_json(_named(positional, given, offered.get(name, {})))), place + 1
    except (ValueError, RecursionError):
        raise NoValue(place) from None


def _named(positional: list[Json], given: dict[str, Json], parameters: Mapping[str, Any]) -> dict[str, Json]:
    """All arguments by name. Raises ValueError where a positional one has none."""
    names = list(parameters)
    if len(positional) == 1 and isinstance(held := positional[0], dict) and not set(held) & set(given):
        takes_object = bool(names) and "object" in types_of(parameters[names[0]])
        if set(held) <= set(names) or not takes_object:
            return held | given
    if len(positional) > len(names) or set(names[: len(positional)]) & set(given):
        raise ValueError("a positional argument without a name")
    return dict(zip(names, positional, strict=False)) | given


def _argument(text: str, place: int) -> tuple[Json, int]:
    """A value, and the comma or bracket behind it."""
    try:
        value, end = decode(text, place, python=True)
        end = skip_blanks(text, end)
        if text[end : end + 1] in (",", ")"):
            return value, end
        read_to = end
    except NoValue as error:
        read_to = error.place
    end = _expression_end(text, place)
    try:
        expression = text[place:end]
        if end and not _UNCLEAR.search(expression):
            return evaluate(expression), end
    except ValueError:
        pass
    raise NoValue(max(read_to, end or place + _EXPRESSION))


def _expression_end(text: str, place: int) -> int:
    """Where the expression meets a comma or the bracket of its call; 0 if it does not."""
    depth = 0
    for piece in _PIECE.finditer(text, place, place + _EXPRESSION):
        if piece[0] in "([{":
            depth += 1
        elif depth == 0 and piece[0] in "])},":
            return piece.start() if piece[0] in ",)" else 0
        elif piece[0] in ")]}":
            depth -= 1
    return 0
