"""The notation in which the sessions are written: every text in both languages at once, so that twins cannot drift
apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench_wild.labels import (
    ASK,
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    LONG_RANGE,
    MIXED,
    PARALLEL,
    PARTIAL,
    PREPARE,
    SEQUENTIAL,
    SINGLE,
)

__all__ = ["CHAT", "CLARIFY", "COREFERENTIAL", "LONG_RANGE", "MIXED", "PARALLEL", "PARTIAL", "SEQUENTIAL", "SINGLE"]


@dataclass(frozen=True, slots=True)
class Twin:
    """A value that differs between the languages."""

    en: Any
    zh: Any


@dataclass(frozen=True, slots=True)
class Action:
    """One node of a gold graph. ``after`` are the positions of the nodes before it."""

    name: str
    arguments: Mapping[str, Any]
    observation: Any
    after: tuple[int, ...] = ()
    reply: Any = None  # what the user says to a question


@dataclass(frozen=True, slots=True)
class Turn:
    """One task. The closing action is added by ``turn``."""

    kind: str
    subtype: str | None  # None for the first task
    says: Any
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """One session. ``domain`` is for the tests and the table in the docs; it is not written."""

    domain: str
    at: str  # YYYY-MM-DD HH:MM:SS; the weekday follows from it
    tools: tuple[Mapping[str, Any], ...]
    turns: tuple[Turn, ...] = field(default=())


def t(en: Any, zh: Any) -> Twin:
    return Twin(en, zh)


def in_language(value: Any, language: str) -> Any:
    """The value with every Twin in it replaced by its ``en`` or ``zh`` side, keys included."""
    if isinstance(value, Twin):
        return in_language(getattr(value, language), language)
    if isinstance(value, Mapping):
        return {in_language(key, language): in_language(member, language) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [in_language(item, language) for item in value]
    return value


# -- dialogue


def call(name: str, arguments: Mapping[str, Any], returns: Any, *after: int) -> Action:
    return Action(name, arguments, returns, after)


def ask(tool: str, missing: list[str], question: Any, reply: Any, *after: int) -> Action:
    return Action(ASK, {"tool_name": tool, "missing_required_parameters": missing}, question, after, reply)


def turn(kind: str, subtype: str | None, says: Any, *actions: Action, answer: Any) -> Turn:
    """A task; its closing text waits for every action that no other waits for."""
    awaited = {place for action in actions for place in action.after}
    leaves = tuple(place for place in range(len(actions)) if place not in awaited)
    closing = Action(PREPARE, {"answer_type": "tool" if actions else "chat"}, answer, leaves)
    return Turn(kind, subtype, says, (*actions, closing))


# -- tools


def tool(
    name: str, description: Any, needs: Mapping[str, Any], may: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """A tool in OpenAI form with the parameters that it ``needs`` and those it ``may`` get."""
    properties = {**needs, **(may or {})}
    parameters = {"type": "object", "properties": properties, "required": list(needs)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def text(description: Any, *enum: Any, **more: Any) -> Mapping[str, Any]:
    return {"type": "string", "description": description, **({"enum": list(enum)} if enum else {}), **more}


def whole(description: Any, *enum: int, **more: Any) -> Mapping[str, Any]:
    return {"type": "integer", "description": description, **({"enum": list(enum)} if enum else {}), **more}


def decimal(description: Any, **more: Any) -> Mapping[str, Any]:
    """``float`` is not a type of JSON schema, but the official lists have it."""
    return {"type": "float", "description": description, **more}


def number(description: Any, **more: Any) -> Mapping[str, Any]:
    return {"type": "number", "description": description, **more}


def flag(description: Any, **more: Any) -> Mapping[str, Any]:
    return {"type": "boolean", "description": description, **more}


def many(description: Any, items: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "array", "description": description, "items": items}


def record(description: Any, needs: Mapping[str, Any], may: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": {**needs, **(may or {})},
        "required": list(needs),
    }


def untyped(description: Any) -> Mapping[str, Any]:
    """A parameter without a type, which the published checker takes for a text."""
    return {"description": description}


def anything(description: Any) -> Mapping[str, Any]:
    """An object that may have any members."""
    return {"type": "object", "description": description, "additionalProperties": True}


def either(description: Any, *branches: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"description": description, "anyOf": list(branches)}
