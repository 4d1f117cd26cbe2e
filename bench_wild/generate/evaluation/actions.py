"""The accepted actions of a task of a dialogue with their results, from the transcript alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.types import Json
from bench_wild.generate.dialogue.dialogue import fenced_json, speaker, without_mark
from bench_wild.labels import ASK, PREPARE, PSEUDO

DEEPEST = 100
"""Levels of lists and objects in one another. More is no data, and ends the programs that read it."""


class NoRecord(Exception):
    """A dialogue cannot become an evaluation record; the text says why, after the words "task N"."""


@dataclass(frozen=True, slots=True)
class Action:
    """An accepted action with its result."""

    name: str
    arguments: Mapping[str, Json]
    observation: Json  # a tool's simulated result; of pseudo actions the agent's text
    list: int  # number of the planner's action list that it stands in, from 0
    user_input: str | None = None  # the user's reply to a question

    @property
    def is_tool(self) -> bool:
        return self.name not in PSEUDO


def actions_of(messages: Sequence[Mapping[str, str]]) -> tuple[str, list[Action]]:
    """The user's words and the actions of one task, from its kept messages. Raises NoRecord."""
    remaining = iter(messages)
    text = _next(remaining, "user", "it begins")
    actions: list[Action] = []
    number = 0
    while not actions or actions[-1].name != PREPARE:
        listed = _planned(
            _next(remaining, "planner", "a final answer should come" if actions else "its words are followed")
        )
        if listed[0][0] == PREPARE:
            actions.append(Action(*listed[0], _next(remaining, "agent", "the final answer is due"), number))
        elif listed[0][0] == ASK:
            question = _next(remaining, "agent", "a question is due")
            actions.append(Action(*listed[0], question, number, _next(remaining, "user", "a question was asked")))
        else:
            results = _observed(_next(remaining, "tool", "tools were called"), len(listed))
            actions += [
                Action(name, arguments, result, number)
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
        raise NoRecord(f"has {pseudo} in one list with other actions; such an action must stand alone (wild spec 2.3)")
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
