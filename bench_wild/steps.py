"""Parses a task's log: the model's reply and the expected actions at each step (wild spec 3.5)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agentgauge.core.types import Json

CORRECT = "correct"
ERROR = "error"


STOPS: Mapping[str, str] = {"absent": "KeyError", "unreadable": "TypeError", "unhashable": "TypeError"}
"""Why a name cannot be looked up → the exception with which the earlier evaluator stops there."""


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: Json  # JSON text; whatever the model gave, where that is none
    unnamed: str = ""  # why the earlier evaluator cannot look the name up: a key of STOPS; mostly it can


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model."""

    place: int  # number in the log, from 0
    action: str  # "correct" or "error"
    reason: str  # why the action is wrong; empty where it is not
    content: str | None
    calls: tuple[Call, ...]  # in the order given; a scorer may sort them
    candidates: tuple[tuple[Call, ...], ...]  # expected: the matched group alone, or all of the step; duplicates stay
    answered: bool  # whether the log holds ``inference_answer``: upstream's evaluator stops where it does not
    outcomes: tuple[str, ...] = ()  # for each call "correct" or an error text; empty: arguments were not checked

    @property
    def key(self) -> str:
        return f"step_{self.place}"

    @property
    def arguments(self) -> str | None:
        """``correct``, ``error``, or None where they were not checked."""
        if not self.outcomes:
            return None
        return CORRECT if all(outcome == CORRECT for outcome in self.outcomes) else ERROR


def read_steps(log: Mapping[str, Json]) -> list[Step]:
    """The steps of an ``inference_log``, in order."""
    return [_step(int(key.removeprefix("step_")), entry) for key, entry in log.items() if key.startswith("step_")]


def _step(place: int, entry: Mapping[str, Json]) -> Step:
    output = entry["inference_output"]
    answer = entry.get("inference_answer")
    return Step(
        place,
        output["current_action_name_label"],
        output.get("error_reason") or "",
        _shown(output.get("content")),
        tuple(read_calls(output.get("tool_calls"))),
        tuple(
            tuple(Call(one["name"], one["arguments"]) for one in group["action"]) for group in (answer or {}).values()
        ),
        answer is not None,
    )


def _shown(content: Json) -> str | None:
    """The content of a reply as a text, for people to read."""
    return content if isinstance(content, str | None) else json.dumps(content, ensure_ascii=False)


def read_calls(calls: Json) -> Iterator[Call]:
    """Calls as they came; a name that is no text is empty, and arguments that are missing are null. A number or a
    boolean in place of the list is a call that cannot be read."""
    for call in calls if isinstance(calls, list) else [None] if isinstance(calls, int | float) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        function = function if isinstance(function, Mapping) else {}
        name = function.get("name")
        yield Call(name if isinstance(name, str) else "", function.get("arguments"), _unnamed(call))


def _unnamed(call: Json) -> str:
    """A text or a list lacks a name as an object does, anything else is unreadable: as upstream."""
    for key in ("function", "name"):
        if not isinstance(call, dict | list | str):
            return "unreadable"
        if key not in call:
            return "absent"
        if not isinstance(call, dict):
            return "unreadable"
        call = call[key]
    return "unhashable" if isinstance(call, dict | list) else ""
