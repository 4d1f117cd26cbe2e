"""Finished dialogues become evaluation records (wild spec 2.2, 2.3), marked as unverified.

In the original, people did this. A dialogue that cannot become a record is refused with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bench_wild.check import TASKS
from bench_wild.generate.dialogue.dialogue import Dialogue, Group, kept_messages
from bench_wild.generate.evaluation.actions import Action, NoRecord, actions_of
from bench_wild.generate.evaluation.depends import link
from bench_wild.generate.evaluation.values import plain
from bench_wild.labels import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    FIRST_TURN,
    LONG_RANGE,
    PARTIAL,
    PSEUDO,
    SINGLE,
)
from bench_wild.layout import GENERATED, UNVERIFIED
from bench_wild.matching.structure import TYPE_OF, structure_of

SUBTYPE_OF: Mapping[Group, str] = {
    "first": FIRST_TURN,
    "reply": COREFERENTIAL,  # refers to something in the assistant's reply
    "reference": COREFERENTIAL,  # a pronoun for something of the task before
    "omission": PARTIAL,
    "addition": PARTIAL,
    "modification": PARTIAL,
    "follow_up": PARTIAL,  # more, longer, continue: of what, the dialogue says
    "topic": LONG_RANGE,  # back to an early topic, or on to a neighbouring one
}
"""Turn subtype by the group of follow-up tasks. Ours: the original's people chose by reading."""


def record_of(dialogue: Dialogue, number: int) -> dict[str, Any]:
    """The record with the id ``wild_tool_bench_<number>``.

    ``number`` must be the record's line, from 0 (wild spec 2.1). Raises NoRecord.
    """
    if len(dialogue.turns) != TASKS:
        raise NoRecord(f"the number of its tasks is {len(dialogue.turns)}; a record has {TASKS}")
    messages, ranges = kept_messages(dialogue)
    env_info = date_of(dialogue.env_info)
    known = plain(env_info)
    tasks: list[str] = []
    answers: list[list[dict[str, Any]]] = []
    types: list[str] = []
    for place, (start, end) in enumerate(ranges, 1):
        try:
            text, actions = actions_of(messages[start:end])
        except NoRecord as problem:
            raise NoRecord(f"task {place} {problem}") from None
        known += "\n" + plain(text)
        waits = link(actions, known)
        tasks.append(text)
        answers.append([_node(position, *pair) for position, pair in enumerate(zip(actions, waits, strict=True))])
        types.append(type_of(actions, waits))
        known = "\n".join([known, *(plain(action.user_input) for action in actions if action.user_input)])
    twin = "english_" if dialogue.language == "en" else ""
    return {
        "id": f"wild_tool_bench_{number}",
        f"{twin}env_info": env_info,
        f"{twin}tools": [tool for tool in dialogue.tools if tool["function"]["name"] not in PSEUDO],
        f"{twin}tasks": tasks,
        f"{twin}answer_list": answers,
        f"{twin}task_types": types,
        f"{twin}turn_subtypes": [SUBTYPE_OF[turn.group] for turn in dialogue.turns[1:]],
        UNVERIFIED: True,
        GENERATED: origin(dialogue),
    }


def origin(dialogue: Dialogue) -> dict[str, Any]:
    """The identity of a dialogue in its folder, and how its follow-up tasks were made."""
    return {
        "sequence": "-".join(dialogue.sequence),
        "language": dialogue.language,
        "seed": dialogue.seed,
        "kinds": [turn.kind for turn in dialogue.turns],
    }


def date_of(env_info: str) -> str:
    """Date, time and weekday without the label before them."""
    found = re.search(r"\d{4}-\d{1,2}-\d{1,2}.*", env_info, re.DOTALL)
    return (found[0] if found else env_info).strip()


def type_of(actions: Sequence[Action], waits: Sequence[Sequence[int]]) -> str:
    """The task type that the actions show: a question makes it Clarify; otherwise the number of calls and their
    dependencies decide."""
    if any(action.user_input is not None for action in actions):
        return CLARIFY
    calls = sum(action.is_tool for action in actions)
    if calls < 2:
        return SINGLE if calls else CHAT
    structure = structure_of((action.name, before) for action, before in zip(actions, waits, strict=True))
    return TYPE_OF[structure or "combine"]


def _node(number: int, action: Action, waits: Sequence[int]) -> dict[str, Any]:
    reply = {} if action.user_input is None else {"user_input": action.user_input}
    return {
        "idx": number,
        "action": {"name": action.name, "arguments": dict(action.arguments)},
        "observation": action.observation,
        **reply,
        "dependency_list": list(waits),
    }
