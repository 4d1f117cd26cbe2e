"""The accepted actions of a task with their results, and which must come before which, as far as the transcript shows
it (docs/benchmarks/wild.md#gold-graphs).

- An action waits for the results that its argument values come from: values that occur in an earlier result of the
  task, but neither in the user's words nor in the date.
- Actions of one list of the planner wait for each other only if one uses a value from another's result.
- A question is a separate step: it waits for everything before it, and everything after waits for it. So does the final
  answer.
- If an action of a later list uses no known value, it keeps the planner's order: it waits for the list before.

A value occurs in a text where it stands there whole: ``BK-1`` does not occur in ``BK-12``, nor ``cat`` in ``category``;
case, width and blanks do not matter. A value is *telling* where finding it somewhere cannot well be chance: a text of
three signs (two in Chinese), a number of three digits. Others count only under the same name (an ``id`` 7 of a result
in an argument ``bed_id``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentgauge.core.types import Json
from bench_wild.generate.transcript import fenced_json, speaker, without_mark
from bench_wild.labels import ASK, PREPARE, PSEUDO

DEEPEST = 100
"""Levels of lists and objects in one another. More is no data, and ends the programs that read it."""


class NoRecord(Exception):
    """A dialogue cannot become an evaluation record; the text says why, after the words "task N"."""


@dataclass(frozen=True, slots=True)
class AcceptedAction:
    """An accepted action with its result."""

    name: str
    arguments: Mapping[str, Json]
    observation: Json  # a tool's simulated result; of pseudo actions the agent's text
    list: int  # number of the planner's action list that it stands in, from 0
    user_input: str | None = None  # the user's reply to a question

    @property
    def is_tool(self) -> bool:
        return self.name not in PSEUDO


def actions_of(messages: Sequence[Mapping[str, str]]) -> tuple[str, list[AcceptedAction]]:
    """The user's words and the actions of one task, from its kept messages. Raises NoRecord."""
    remaining = iter(messages)
    text = _next(remaining, "user", "it begins")
    actions: list[AcceptedAction] = []
    number = 0
    while not actions or actions[-1].name != PREPARE:
        listed = _planned(
            _next(remaining, "planner", "a final answer should come" if actions else "its words are followed")
        )
        if listed[0][0] == PREPARE:
            actions.append(AcceptedAction(*listed[0], _next(remaining, "agent", "the final answer is due"), number))
        elif listed[0][0] == ASK:
            question = _next(remaining, "agent", "a question is due")
            actions.append(
                AcceptedAction(*listed[0], question, number, _next(remaining, "user", "a question was asked"))
            )
        else:
            results = _observed(_next(remaining, "tool", "tools were called"), len(listed))
            actions += [
                AcceptedAction(name, arguments, result, number)
                for (name, arguments), result in zip(listed, results, strict=True)
            ]
        number += 1
    if next(remaining, None) is not None:
        raise NoRecord("continues after its final answer")
    return text, actions


def _next(messages: Iterator[Mapping[str, str]], wanted: str, where: str) -> str:
    """The words of the next message, which must be the speaker's and not be empty."""
    message = next(messages, None)
    if message is None:
        raise NoRecord(f"ends where {where}")
    if (found := speaker(message["content"])) != wanted:
        raise NoRecord(f"has a message of {found or 'an unknown speaker'} where {where}; one of {wanted} is needed")
    if not (text := without_mark(message["content"])):
        raise NoRecord(f"has an empty message of {wanted}")
    return text


def _planned(text: str) -> list[tuple[str, dict[str, Any]]]:
    plan = fenced_json(text)
    listed = plan.get("Action_List") if isinstance(plan, dict) else None
    if not isinstance(listed, list) or not listed:
        raise NoRecord("has an accepted plan without a list of actions")
    found: list[tuple[str, dict[str, Any]]] = []
    for action in listed:
        name, arguments = (action.get("name"), action.get("arguments")) if isinstance(action, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise NoRecord("has an accepted action without a name or without an object of arguments")
        _refuse_deep(arguments)
        found.append((name, arguments))
    if len(found) > 1 and (pseudo := next((name for name, _ in found if name in PSEUDO), "")):
        raise NoRecord(f"has {pseudo} in one list with other actions; such an action must stand alone")
    return found


def _observed(text: str, count: int) -> list[Json]:
    reply = fenced_json(text)
    results = reply.get("Observation_List") if isinstance(reply, dict) else None
    if not isinstance(results, list) or len(results) != count:
        raise NoRecord(f"has {count} calls and {len(results) if isinstance(results, list) else 'no list of'} results")
    _refuse_deep(results)
    return results


def _refuse_deep(value: Json) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            one
            for outer in level
            if isinstance(outer, dict | list)
            for one in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if level:
        raise NoRecord(f"has a value of more than {DEEPEST} lists or objects in one another")


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
class ObservedResult:
    """An observation, ready to look in."""

    leaves: tuple[Leaf, ...]
    text: str

    @staticmethod
    def of(observation: Json) -> ObservedResult:
        return ObservedResult(tuple(leaves(observation)), joined([observation]))

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


def link(actions: Sequence[AcceptedAction], known: str) -> list[list[int]]:
    """For every action the positions that it waits for, ascending.

    ``known``: what the user has said up to the task's words, and the date, as ``plain`` has them.
    """
    results = [
        ObservedResult.of(action.observation) if action.is_tool else ObservedResult((), "") for action in actions
    ]
    waits: list[list[int]] = []
    question: int | None = None  # the last question
    for place, action in enumerate(actions):
        if not action.is_tool:
            waits.append(_ends(waits))
            if action.user_input is not None:
                question = place
                known += "\n" + plain(action.user_input)
            continue
        found = {
            source for leaf in leaves(action.arguments) for source in _of_leaf(actions, results, place, leaf, known)
        }
        found = found or {earlier for earlier in range(place) if actions[earlier].list == action.list - 1}
        if question is not None and all(one < question for one in found):
            found.add(question)
        waits.append(sorted(found))
    return waits


def _ends(waits: Sequence[Sequence[int]]) -> list[int]:
    """The actions that none waits for."""
    awaited = {one for before in waits for one in before}
    return [place for place in range(len(waits)) if place not in awaited]


def _of_leaf(
    actions: Sequence[AcceptedAction], results: Sequence[ObservedResult], place: int, leaf: Leaf, known: str
) -> list[int]:
    """Where a value first came up: the results with it, of the first list that has any.

    A result only repeats what its own call was given. Of dates the planner knows more than is written, so that a date
    in two calls of one list says nothing.
    """
    giving = [
        earlier
        for earlier in range(place)
        if results[earlier].gives(leaf, known)
        and not any(written(one.value) == written(leaf.value) for one in leaves(actions[earlier].arguments))
        and not (actions[earlier].list == actions[place].list and is_date(leaf.value))
    ]
    first = min((actions[earlier].list for earlier in giving), default=None)
    return [earlier for earlier in giving if actions[earlier].list == first]
