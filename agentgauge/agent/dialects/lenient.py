"""Finds calls in any text, for ``--scoring strict``: JSON or the equivalent Python literals, anywhere in the text."""

from __future__ import annotations

import ast
import json
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence

from agentgauge.agent.dialects.format import ParsedCall, ParsedReply, as_json
from agentgauge.core.types import Json

_OPENING = re.compile(r"[\[{]")
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_TRIES = 200  # places that turn out to hold no value; hostile text has no end of them
_LITERAL = 20_000  # characters of a value in Python's syntax
_NESTED = 200  # brackets in each other that Python's parser takes

_quiet = threading.Lock()  # the filters of warnings are the process's: two parsers must not restore each other's


def without_thoughts(text: str) -> str:
    """The text without its ``<think>`` sections; one of the two tags may be missing."""
    if "<think>" not in text and "</think>" not in text:
        return text
    closed, end, rest = text.rpartition("</think>")
    left = (
        _THOUGHT.sub("", closed + end) + rest
    )  # what is open behind the last end would be searched for one again and again
    return left.rpartition("</think>")[2].partition("<think>")[0].strip()


def find_calls(text: str) -> list[ParsedCall]:
    """The calls in a text, in order: objects with a name and arguments, also in lists and in OpenAI's wrappings."""
    found: list[ParsedCall] = []
    place = tries = 0
    while (opening := _OPENING.search(text, place)) and tries < _TRIES:
        value, end = _value_at(text, opening.start())
        if end is None:
            tries += 1
            place = opening.start() + 1
        else:
            found += _calls_in(value)
            place = end
    return found


def read_leniently(text: str, find: Callable[[str], Sequence[ParsedCall]] = find_calls) -> ParsedReply:
    """The calls that ``find`` returns for the text after its thoughts, or that text if there are no calls."""
    answer = without_thoughts(text)
    if calls := tuple(find(answer)):
        return ParsedReply(None, calls)
    return ParsedReply(answer if answer.strip() else None)


def parse_python(text: str) -> ast.Expression:
    """The syntax tree of an expression. Raises what ``ast.parse`` does."""
    with _quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of "\\d" and of 1if
        return ast.parse(text, mode="eval")


def _value_at(text: str, start: int) -> tuple[Json, int | None]:
    """The value that begins there and its end; no end where there is none."""
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        pass  # perhaps it is Python
    end = _balanced(text, start)
    if end is None:
        return None, None
    try:
        return ast.literal_eval(parse_python(text[start:end])), end
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None, None


def _balanced(text: str, start: int) -> int | None:
    """Behind the bracket that closes the one at ``start``; brackets in quotes do not count. None where there is none
    within the bounds of a literal."""
    depth, quote, place = 0, "", start
    stop = min(len(text), start + _LITERAL)
    while place < stop:
        sign = text[place]
        if quote:
            place += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "[{(":
            depth += 1
            if depth > _NESTED:
                return None
        elif sign in "]})":
            depth -= 1
            if not depth:
                return place + 1
        place += 1
    return None


def _calls_in(value: Json) -> Iterator[ParsedCall]:
    if isinstance(value, list):
        for item in value:
            yield from _calls_in(item)
    elif isinstance(value, dict):
        name = value.get("name")
        if isinstance(name, str) and name and (arguments := _arguments(value)) is not None:
            yield ParsedCall(name, arguments)
        else:
            for inner in ("tool_calls", "function", "function_call"):
                yield from _calls_in(value.get(inner))


def _arguments(call: dict[str, Json]) -> str | None:
    for key in _ARGUMENTS:
        given = call.get(key)
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except (ValueError, RecursionError):
                return None
        if isinstance(given, dict):
            try:
                return as_json(given)
            except (TypeError, ValueError, RecursionError):  # a set, or keys that JSON does not know
                return None
    return None
