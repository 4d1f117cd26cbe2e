"""Writes the sessions as a data file of the April 2026 release (wild spec 2.1, 2.2)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bench_wild.labels import ASK, SUBTYPES, TYPES
from bundled_data.wild.sessions import TALKS
from bundled_data.wild.words import Action, Talk, in_language

FILE = "Wild-Tool-Bench.jsonl"

_DAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
}
_CHINESE = {english: label for label, english in (*TYPES.items(), *SUBTYPES.items()) if label != english}


def build(folder: Path) -> Path:
    """Write the data file into ``folder``, which is made where it is missing, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    file.write_text(
        "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records()), encoding="utf-8", newline="\n"
    )
    return file


def records() -> list[dict[str, Any]]:
    """The sessions in the file's form. Their ids count the lines: the published scorer finds a line by its number."""
    return [_record(number, talk) for number, talk in enumerate(TALKS)]


def _record(number: int, talk: Talk) -> dict[str, Any]:
    chinese, english = _half(talk, "zh"), _half(talk, "en")
    fields = {"id": f"wild_tool_bench_{number}"}
    return {**fields, **chinese, **{f"english_{name}": value for name, value in english.items()}}


def _half(talk: Talk, language: str) -> dict[str, Any]:
    day = _DAYS[language][datetime.fromisoformat(talk.at).weekday()]
    kinds = [turn.kind for turn in talk.turns]
    subtypes = [turn.subtype for turn in talk.turns if turn.subtype is not None]
    return {
        "env_info": f"{talk.at} {day}",
        "tools": in_language(talk.tools, language),
        "tasks": [in_language(turn.says, language) for turn in talk.turns],
        "answer_list": [_nodes(turn.actions, language) for turn in talk.turns],
        "task_types": [_label(kind, language) for kind in kinds],
        "turn_subtypes": [_label(subtype, language) for subtype in subtypes],
    }


def _nodes(actions: Sequence[Action], language: str) -> list[dict[str, Any]]:
    return [_node(place, action, language) for place, action in enumerate(actions)]


def _node(place: int, action: Action, language: str) -> dict[str, Any]:
    reply = {"user_input": in_language(action.reply, language)} if action.name == ASK else {}
    return {
        "idx": place,
        "action": {"name": action.name, "arguments": in_language(action.arguments, language)},
        "observation": in_language(action.observation, language),
        **reply,
        "dependency_list": list(action.after),
    }


def _label(label: str, language: str) -> str:
    return label if language == "en" else _CHINESE[label]
