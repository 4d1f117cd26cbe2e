"""A finished dialogue, and the marks that name the speakers of its messages (docs/benchmarks/wild.md#state)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from agentgauge.core.errors import DataProblem
from agentgauge.core.text import parse_json

TaskType = Literal["ST", "MT", "CQ", "CC"]
TYPES: tuple[TaskType, ...] = get_args(TaskType)
"""Single tool, multi tool, clarify, chat."""

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

Group = Literal["first", "reply", "omission", "reference", "addition", "modification", "follow_up", "topic"]

Speaker = Literal["user", "planner", "tool", "agent", "checker_planner", "checker_tool"]

DIALOGUES = "dialogues.jsonl"
"""In the output folder: one finished dialogue a line."""

ROLES: Mapping[Language, Mapping[Speaker, str]] = {
    language: {
        "user": user,
        "planner": "Planner",
        "tool": "Tool",
        "agent": "Agent",
        "checker_planner": "Checker_Planner",
        "checker_tool": "Checker_Tool",
    }
    for language, user in zip(LANGUAGES, ("User", "用户"), strict=True)
}
"""The speakers' names in marks and switch messages."""

MARKS: Mapping[Language, Mapping[Speaker, str]] = {
    language: {
        who: name + (":" if language == "en" and not who.startswith("checker") else "：") for who, name in names.items()
    }
    for language, names in ROLES.items()
}
"""What a message of a speaker begins with. Either colon is understood everywhere."""

SWITCH: Mapping[Language, str] = {"en": "Switch to the role of ", "zh": "切换角色为"}
"""What a switch message begins with; the role's name follows. Readers of the original's files know such a message by
``Switch`` and ``切换角色为``."""

_SWITCHES = (*SWITCH.values(), "Now switch the role to ", "现在切换角色为")
"""Those of dialogues that earlier versions wrote, too."""


_CHECKERS = ("Checker_Planner", "Checker_Tool")
"""Their names in switch messages."""


class DialogueError(Exception):
    """The dialogue cannot be finished: models wrote what the protocol does not allow."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause  # short and stable


@dataclass(frozen=True)
class GeneratedTurn:
    """One task of a dialogue."""

    type: TaskType
    kind: str  # the first task: "first"; else the name of one of the 22 follow-up variants
    group: Group
    start: int  # half-open range of the messages that belong to the task
    end: int


@dataclass(frozen=True)
class GeneratedDialogue:
    """One finished dialogue. ``messages`` is the raw transcript, with switch and checker messages."""

    sequence: tuple[TaskType, ...]
    language: Language
    seed: int
    tools: list[dict[str, Any]]  # with the two pseudo tools at the end, as stored
    env_info: str
    messages: list[dict[str, str]]
    turns: tuple[GeneratedTurn, ...]

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "turns": [vars(turn) for turn in self.turns]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> GeneratedDialogue:
        """A dialogue from JSON. Raises KeyError or TypeError for any other value; unknown keys are ignored."""
        given = {field.name: value[field.name] for field in fields(cls)}
        turns = tuple(GeneratedTurn(**turn) for turn in value["turns"])
        return cls(**{**given, "sequence": tuple(value["sequence"]), "turns": turns})


_SPEAKERS: Mapping[str, Speaker] = {
    **{name: who for names in ROLES.values() for who, name in names.items()},
    **dict.fromkeys(("Agent Assistant", "Agent助手"), "agent"),  # as the original's prompts call it
}
_MARK = re.compile(r"(\w+(?: Assistant)?)[:：]")


def speaker(content: str) -> Speaker | None:
    """The speaker, by the beginning of a message; None for switch messages and all other texts."""
    mark = _MARK.match(content)
    return _SPEAKERS.get(mark[1]) if mark else None


def without_mark(content: str) -> str:
    """A message without its speaker's mark."""
    return _MARK.sub("", content, count=1).strip() if speaker(content) else content.strip()


def is_switch(content: str) -> bool:
    return content.startswith(_SWITCHES)


def kept_messages(dialogue: GeneratedDialogue) -> tuple[list[dict[str, str]], list[tuple[int, int]]]:
    """The messages that ``_train.jsonl`` keeps, and the half-open range of each task in them
    (docs/benchmarks/wild.md#output-files).

    Switch and checker messages are removed; a checker's "no" also removes the message before it, which it rejected. The
    switch message identifies a checker, because a model may write any speaker's mark; and what follows a switch message
    is none, whatever a model writes.
    """
    kept: list[dict[str, str]] = []
    ranges: list[tuple[int, int]] = []
    for turn in dialogue.turns:
        start, switched = len(kept), ""
        for message in dialogue.messages[turn.start : turn.end]:
            content = message["content"]
            if not switched and is_switch(content):
                switched = content
                continue
            if not switched.endswith(_CHECKERS):
                kept.append(message)
            elif not is_accepted(content):
                kept.pop()
            switched = ""
        ranges.append((start, len(kept)))
    return kept, ranges


def is_accepted(content: str) -> bool:
    """Whether a checker's message says yes."""
    found = fenced_json(without_mark(content))
    return isinstance(found, dict) and found.get("correct") == "yes"


def strict_json(text: str) -> Any:
    """The JSON value of the first fence that is labelled ``json``; None for anything else. The checkers read plans and
    results so, as the original's do."""
    found = _FENCED.search(text)
    with suppress(ValueError, RecursionError):
        return _JSON.decode(found[1]) if found else None
    return None


def fenced_json(text: str) -> Any:
    """The whole text where it is JSON, else the JSON value at the beginning of the first fence, one that is labelled
    ``json`` before others; None for neither."""
    with suppress(ValueError, RecursionError):
        return _JSON.decode(text)
    _, fence, rest = text.partition("```json" if "```json" in text else "```")
    with suppress(ValueError, RecursionError):
        return _JSON.raw_decode(_LABEL.sub("", rest, count=1))[0] if fence else None
    return None


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")  # NaN and the like, which Python reads


_JSON = json.JSONDecoder(parse_constant=_refuse)
_LABEL = re.compile(r"(?:json)?\s*", re.IGNORECASE)
_FENCED = re.compile(r"```json(.+?)```", re.DOTALL)


def fence(value: Any) -> str:
    """A value as a fenced JSON block."""
    return "```json\n" + json.dumps(value, ensure_ascii=False, indent=4) + "\n```"


def read_dialogues(path: Path) -> Iterator[GeneratedDialogue]:
    """The dialogues of a file, in its order. A last line that a killed process left incomplete is passed over.

    Raises DataProblem for a line that is no dialogue; a missing file holds none.
    """
    if not path.exists():
        return
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                yield GeneratedDialogue.from_json(parse_json(line))
            except (ValueError, KeyError, TypeError) as error:
                if not line.endswith(b"\n"):
                    return
                problem = f"{path}, line {number}: this is no finished dialogue ({error}); take the line out"
                raise DataProblem(problem) from None
