"""A dialogue as WildToolBench's first release has it, and what its families have in common in their requests.

There each family keeps the dialogue itself: the gold of the earlier tasks, and of the running task what the model
wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

from agentgauge.agent.dialects.format import ParsedCall, RenderedRequest, as_json, value_of
from agentgauge.core.chat import Message
from agentgauge.core.types import Json

Language = Literal["en", "zh"]

DATES = {"en": "Current Date:", "zh": "当前日期："}
"""What stands before the date; no blank follows."""

_SPEAKERS = {
    "en": (":", frozenset({"ai", "ai agent", "user", "ai agent assistant", "planner", "observation", "tool"})),
    "zh": ("：", frozenset({"用户", "AI Agent助手", "AI Agent", "Planner", "Observation", "Tool"})),
}
"""The colon behind a speaker's name, and the names: in any case in English, in this case in Chinese."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the user says, or what the assistant does, with the results of its calls."""

    role: Literal["user", "assistant"]
    text: str  # as the data has it, with the speaker's name; of the running task the text that was read
    calls: tuple[ParsedCall, ...] = ()
    results: tuple[Json, ...] = ()  # the recorded values; the j-th belongs to the j-th call
    written: str | None = None  # what the model wrote; None in the gold of earlier tasks


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One task of a session with the tasks before it."""

    history: tuple[Told, ...]  # the gold of the earlier tasks; empty in the first
    task: tuple[Told, ...]  # begins with what the user wants
    date: str  # 2024-05-20 09:12:44 Monday, the weekday in the language
    language: Language
    opened: tuple[int, str]  # the turn with the words that began the session, and the date of their task

    @property
    def dated(self) -> str:
        return DATES[self.language] + self.date

    @property
    def told(self) -> tuple[Told, ...]:
        return (*self.history, *self.task)

    @property
    def asked(self) -> int:
        """Requests of this task before this one."""
        return sum(one.role == "assistant" for one in self.task)


@runtime_checkable
class Published(Protocol):
    """A family whose requests in the first release differ from those of ``Format.request``."""

    def published(self, dialogue: Dialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The request under parity. ``tools`` are those of the data, where a type may be ``float``."""


def unnamed(text: str, language: Language) -> str:
    """The text without its speaker's name; a blank behind the colon stays."""
    colon, names = _SPEAKERS[language]
    name, found, rest = text.partition(colon)
    return rest if found and (name.lower() if language == "en" else name) in names else text


def spoken(dialogue: Dialogue, language: Language) -> list[Told]:
    """The turns of families that take one result a step: without speakers' names, those of ``language`` at the
    beginning of the task and those of users behind it."""
    begun = len(dialogue.history) + 1
    opening = [replace(one, text=unnamed(one.text, language)) for one in dialogue.told[:begun]]
    rest = [replace(one, text=replied(one.text)) if one.role == "user" else one for one in dialogue.told[begun:]]
    return [*opening, *rest]


def dated_once(dialogue: Dialogue, language: Language) -> list[Told]:
    """The turns of ToolACE and xLAM-2. The date of the session's first task stays behind its words, unless these have
    one."""
    told = spoken(dialogue, language)
    place, date = dialogue.opened
    if not any(mark in told[place].text for mark in DATES.values()):
        told[place] = replace(told[place], text=f"{told[place].text}\n\n{DATES[dialogue.language]}{date}")
    return told


def replied(text: str) -> str:
    """The user's reply in a running task, of the families that take one result a step: without any "User:"."""
    return text.replace("用户：", "").replace("User:", "").strip()


def calling(told: Told, content: str | None = "") -> Message:
    """Calls as a chat template takes them: arguments as values, and no ids, which the client adds for its endpoint.
    ``content`` None: the message has none."""
    calls = [{"type": "function", "function": _function(call)} for call in told.calls]
    return {"role": "assistant", **({} if content is None else {"content": content}), "tool_calls": calls}


def _function(call: ParsedCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": value_of(call.arguments)}


def listed(told: Told) -> Message:
    """The results of a step as one unnamed list."""
    return {"role": "tool", "content": as_json(list(told.results))}


def named(told: Told, *, reverse: bool = True) -> Iterator[Message]:
    """Each result of a running step in a message of its own, the last first."""
    pairs = list(zip(told.calls, told.results, strict=False))
    for call, result in reversed(pairs) if reverse else pairs:
        yield {"role": "tool", "name": call.name, "content": result if isinstance(result, str) else as_json(result)}


def named_list(told: Told) -> list[dict[str, Json]]:
    """The results of a step with the names of their functions."""
    return [{"name": call.name, "results": result} for call, result in zip(told.calls, told.results, strict=False)]
