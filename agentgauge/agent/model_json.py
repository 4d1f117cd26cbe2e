"""Decodes JSON as models write it: as a whole, or from a position in a text with its usual mistakes; Python's literals
too.
"""

from __future__ import annotations

import json
import math
import re

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


_JSON = json.JSONDecoder(strict=False)  # line breaks and tabs may stand in strings
_BLANKS = re.compile(r"\s*")
_STRINGS = {
    '"': re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL),
    "'": re.compile(r"'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL),
    '"""': re.compile(r'"""(.*?)"""', re.DOTALL),
    "'''": re.compile(r"'''(.*?)'''", re.DOTALL),
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PYTHON_ESCAPE = re.compile(
    r"""\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[A-Z0-9 -]+\}|[0-7]{1,3}|[\n\\'"abfnrtv])"""
)
_ESCAPED = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NUMBER = re.compile(r"(?a:[+-]?(?:(?:0|[1-9]\d*(?:_\d+)*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.:/@%-])")
_WORD = re.compile(r"\w[\w.:/@%-]*+")
_KEY = re.compile(r"[\w.-]+")
_MARKS = re.compile(r"</?think>|[\[{]")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{\]}]', re.DOTALL)
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None, "none": None}


class NoValue(ValueError):
    """The text holds no value at the position. ``place``: how far the text was read."""

    def __init__(self, place: int) -> None:
        super().__init__(f"no value: the text cannot be read at character {place}")
        self.place = place


class TooDeep(NoValue):
    """A value nested too deep to be read, up to ``place``. What stands inside of it is not looked at, so that such a
    text costs no more than its length."""


class Budget:
    """How much of a text may be read without a result: hostile text has no end. False when it is spent."""

    def __init__(self, text: str) -> None:
        self._left = len(text) + 300_000  # characters

    def __bool__(self) -> bool:
        return self._left > 0

    def again(self, characters: int) -> None:
        self._left -= max(characters, 0)

    def failed(self, start: int, place: int) -> None:
        """A value was tried at ``start`` and read up to ``place``."""
        self.again(place - start)
        self._left -= 50 + start // 1000  # the JSON module counts the lines before


def decode(text: str, start: int = 0, closing: tuple[str, ...] = (), *, python: bool = False) -> tuple[Json, int]:
    """The value that begins at ``start``, and its end. Raises NoValue.

    ``python``: strings have Python's escapes, as those in single quotes always have.

    Accepted beside JSON: line breaks and tabs in strings, unknown escapes (kept as written), single and triple quotes,
    Python's constants, tuples, a leading plus, trailing commas, names and other words without quotes (as texts: also a
    date, and a number that begins with 0), one missing closing bracket. Any number of brackets may be missing before
    one of the texts ``closing``, because they show that the value was not cut off.
    """
    read_to = start
    if text[start : start + 1] in ("{", "["):
        try:
            value, end = _JSON.raw_decode(text, start)
        except json.JSONDecodeError as error:
            read_to = error.pos
        except RecursionError:  # deeper than Python's module goes
            raise TooDeep(_closed(text, start)) from None
        except ValueError:  # a number of too many digits
            raise NoValue(start + 1000) from None
        else:
            return _not_deep(value, end), end
    try:
        return _Decoder(text, closing, python).value(start, 0)
    except NoValue as error:
        raise NoValue(max(error.place, read_to)) from None


def _not_deep(value: Json, end: int) -> Json:
    """The value that ends at ``end``. Raises TooDeep."""
    try:
        check_depth(value)
    except ValueError:
        raise TooDeep(end) from None
    return value


def _closed(text: str, start: int) -> int:
    """Behind the bracket that closes the one at ``start``; the text's end where none does."""
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return len(text)


def values_in(text: str) -> list[Json]:
    """The outermost lists and objects of a text, behind its thoughts. Marks of thoughts inside a value are text."""
    found: list[Json] = []
    place, budget = 0, Budget(text)
    while budget and (mark := _MARKS.search(text, place)):
        place = mark.end()
        if mark[0] == "<think>":
            place = text.find("</think>", place)
            if place < 0:
                break
        elif mark[0] == "</think>":
            found.clear()
        else:
            try:
                value, place = decode(text, mark.start(), ("```",))
                found.append(value)
            except NoValue as error:
                budget.failed(mark.start(), error.place)
                place = error.place if isinstance(error, TooDeep) else place
    return found


def skip_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() if found else place


class _Decoder:
    def __init__(self, text: str, closing: tuple[str, ...], python: bool) -> None:
        self._text = text
        self._closing = closing
        self._python = python
        self._missing = 0  # closing brackets so far

    def value(self, place: int, depth: int) -> tuple[Json, int]:
        sign = self._text[place : place + 1]
        if depth > DEEPEST:
            raise NoValue(place)
        if sign == "{":
            return self._object(place, depth)
        if sign in ("[", "("):
            return self._list(place, depth, "]" if sign == "[" else ")")
        return self._scalar(place)

    def _object(self, place: int, depth: int) -> tuple[Json, int]:
        found: dict[str, Json] = {}
        place = skip_blanks(self._text, place + 1)
        while (end := self._end(place, "}", depth)) is None:
            name, place = self._key(place)
            place = skip_blanks(self._text, place)
            if self._text[place : place + 1] != ":":
                raise NoValue(place)
            found[name], place = self.value(skip_blanks(self._text, place + 1), depth + 1)
            place = self._next(place)
        return found, end

    def _list(self, place: int, depth: int, bracket: str) -> tuple[Json, int]:
        found: list[Json] = []
        place, is_tuple = skip_blanks(self._text, place + 1), bracket == "]"
        while (end := self._end(place, bracket, depth)) is None:
            item, place = self.value(place, depth + 1)
            found.append(item)
            place = skip_blanks(self._text, place)
            is_tuple = is_tuple or self._text.startswith(",", place)
            place = self._next(place)
        return found if is_tuple or len(found) != 1 else found[0], end

    def _end(self, place: int, bracket: str, depth: int) -> int | None:
        """The end of the list or object if it ends here; None if it goes on. Raises NoValue for a wrong bracket."""
        sign = self._text[place : place + 1]
        if sign == bracket:
            return place + 1
        if self._closing and self._text.startswith(self._closing, place):
            return place
        if sign and sign not in "]})":
            return None
        # a cut reply ends anywhere; a forgotten bracket is the last one, behind another
        is_allowed = depth if sign else self._text[:place].rstrip()[-1:] in ("}", "]")
        if not is_allowed or self._missing:
            raise NoValue(place)
        self._missing += 1
        return place

    def _next(self, place: int) -> int:
        """Behind the comma, or where the list or object ends."""
        place = skip_blanks(self._text, place)
        sign = self._text[place : place + 1]
        if sign == ",":
            return skip_blanks(self._text, place + 1)
        if sign and sign not in "]})" and not (self._closing and self._text.startswith(self._closing, place)):
            raise NoValue(place)
        return place

    def _key(self, place: int) -> tuple[str, int]:
        """A key in quotes, or a word as JSON writes it."""
        if bare := _KEY.match(self._text, place):
            word = bare[0].lower()
            return json.dumps(_CONSTANTS[word]) if word in _CONSTANTS else bare[0], bare.end()
        key, place = self._scalar(place)
        return str(key), place

    def _scalar(self, place: int) -> tuple[Json, int]:
        quote = self._text[place : place + 1]
        if quote in ("'", '"'):
            triple = 3 * quote
            found = _STRINGS[triple if self._text.startswith(triple, place) else quote].match(self._text, place)
            if not found:
                raise NoValue(len(self._text))
            return _unescaped(found[1], python=self._python or quote == "'"), found.end()
        if number := _NUMBER.match(self._text, place):
            return _number(number[0], place), number.end()
        word = _WORD.match(self._text, place)
        if not word:
            raise NoValue(place)
        return _CONSTANTS.get(word[0].lower(), word[0]), word.end()


def _unescaped(text: str, *, python: bool) -> str:
    if "\\" not in text:
        return text
    plain = _PYTHON_ESCAPE.sub(_python_escape, text) if python else _ESCAPE.sub(_escape, text)
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), plain)


def _escape(found: re.Match[str]) -> str:
    return chr(int(found[1][1:], 16)) if len(found[1]) > 1 else _ESCAPED.get(found[1], found[0])


def _python_escape(found: re.Match[str]) -> str:
    try:
        return found[0].encode("ascii").decode("unicode_escape")
    except UnicodeDecodeError:  # no character of that number or name
        return found[0]


def _number(text: str, place: int) -> int | float:
    """Raises NoValue for a number that JSON cannot hold."""
    try:
        value = float(text) if re.search("[.eE]", text) else int(text)
    except ValueError:
        raise NoValue(place) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise NoValue(place)
    return value
