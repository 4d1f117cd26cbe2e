"""What the rules of ``baseline`` see in a text: the stems of its words, numbers and quotations."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+")
_ENDING = re.compile(r"(?<=\w{3})(?:at(?:ions?|ors?|e[ds]?)|ings?|ions?|ers?|ies|e[ds]?|y|s)$")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,18}(?:\.\d{1,18})?(?!\w)")
_QUOTED = re.compile(r"[\"“]([^\"”\n]+)[\"”]|(?<!\w)['‘]([^'’\n]+)['’](?!\w)")
_SHORT = 300  # characters
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can do does for from has have he her his how i if in into is it its many me much my"
        " need of on or our please she tell than that the their them there they this to tool us use using was we what"
        " when where which who will with would you your",
    )
)


def stems(text: str) -> frozenset[str]:
    """Words in lower case, without common endings and without stop words."""
    return _of_description(text) if len(text) <= _SHORT else _of_any(text)


def _of_any(text: str) -> frozenset[str]:
    return frozenset(map(_stem, {*_WORD.findall(text.lower())} - _STOP_WORDS))


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    return _ENDING.sub("", word)


_of_description = lru_cache(maxsize=4096)(_of_any)  # those of tools come with every request


@lru_cache(maxsize=4096)
def stems_of_name(name: str) -> frozenset[str]:
    """The stems of a name in any of the usual spellings: ``get_forecast``, ``getForecast``, ``get-forecast``."""
    return stems(" ".join(_CAMEL.findall(name)))


def numbers(text: str) -> list[str]:
    """The numbers that stand alone, as they are written."""
    return _NUMBER.findall(text)


def quotations(text: str) -> list[str]:
    """What stands in quotation marks."""
    return [double or single for double, single in _QUOTED.findall(text)]
