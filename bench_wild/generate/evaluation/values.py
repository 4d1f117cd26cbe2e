"""Where values occur in texts and results, to find out whether an argument was taken from a result.

A value occurs in a text where it stands there whole: ``BK-1`` does not occur in ``BK-12``, nor ``cat`` in ``category``;
case, width and blanks do not matter. A value is *telling* where finding it somewhere cannot well be chance: a text of
three signs (two in Chinese), a number of three digits. Others count only under the same name (an ``id`` 7 of a result
in an argument ``bed_id``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from agentgauge.core.types import Json

FROM_CJK = "\u2e80"
"""Signs from here on are Chinese or the like, where no blanks part words."""

_PART = 4
"""Signs that a result's value must have to be looked for inside a longer argument."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that holds no others, and the name it stands under: its own, or that of the list it is in."""

    name: str
    value: str | int | float


def leaves(value: Json, name: str = "") -> Iterator[Leaf]:
    """The texts and numbers in a value. True, false and null say nothing about their source, and are left out."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, name)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield Leaf(name, value)


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """A text to look in: small letters, narrow signs, single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def written(value: str | int | float) -> str:
    """A value as a text to look for. ``3.0`` is written ``3``."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return plain(str(value))


def joined(values: Iterable[Json]) -> str:
    """The leaves of values as a text to look in."""
    return "\n".join(written(leaf.value) for value in values for leaf in leaves(value))


def telling(value: str | int | float) -> bool:
    """Whether a value is telling, as the module's docstring defines it."""
    signs = [sign for sign in written(value) if sign.isalnum()]
    return len(signs) >= (2 if any(sign >= FROM_CJK for sign in signs) else 3)


def is_date(value: str | int | float) -> bool:
    """Whether a value is a date or a time of day, which may follow from the current time."""
    return (
        re.fullmatch(r"(\d{4}-\d{1,2}(-\d{1,2})?)?[ t]?(\d{1,2}:\d{2}(:\d{2})?)?(z|[+-]\d{2}:?\d{2})?", written(value))
        is not None
    )


def occurs(value: str | int | float, text: str) -> bool:
    """Whether a value stands whole in a text that ``plain`` or ``joined`` made."""
    wanted = written(value)
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        if not (_same(text[start - 1 : start], wanted[0]) or _same(text[end : end + 1], wanted[-1])) and not _fraction(
            value, text, end
        ):
            return True
        start = text.find(wanted, start + 1)
    return False


def _same(one: str, other: str) -> bool:
    """Whether two neighbours belong to one word or one number."""
    if not one or one >= FROM_CJK or other >= FROM_CJK:
        return False
    return (one.isdigit() and other.isdigit()) or (one.isalpha() and other.isalpha())


def _fraction(value: str | int | float, text: str, end: int) -> bool:
    """Whether a number goes on behind a point there: 3 does not occur in 3.5, but in 3.0."""
    found = re.match(r"\.(\d+)", text[end : end + 20])
    return not isinstance(value, str) and found is not None and found[1].strip("0") != ""


@dataclass(frozen=True, slots=True)
class Result:
    """An observation, ready to look in."""

    leaves: tuple[Leaf, ...]
    text: str

    @staticmethod
    def of(observation: Json) -> Result:
        return Result(tuple(leaves(observation)), joined([observation]))

    def gives(self, leaf: Leaf, known: str) -> bool:
        """Whether an argument's value, or a part of it, is in this result and not in ``known``."""
        if occurs(leaf.value, known):
            return False
        if telling(leaf.value):
            return occurs(leaf.value, self.text) or self._gives_part(leaf.value, known)
        return any(written(leaf.value) == written(mine.value) and _alike(leaf.name, mine.name) for mine in self.leaves)

    def _gives_part(self, value: str | int | float, known: str) -> bool:
        if not isinstance(value, str):
            return False
        text = plain(value)
        parts = (mine.value for mine in self.leaves if telling(mine.value) and len(written(mine.value)) >= _PART)
        return any(occurs(part, text) and not occurs(part, known) for part in parts)


def _alike(argument: str, member: str) -> bool:
    """``bedId`` and ``bed_id``; ``bed_id`` and ``id``."""
    wanted, given = (re.sub(r"[^a-z0-9]", "", name.casefold()) for name in (argument, member))
    return bool(wanted and given) and (
        wanted == given or (wanted.endswith(given) and given in ("id", "no", "number", "code", "key"))
    )
