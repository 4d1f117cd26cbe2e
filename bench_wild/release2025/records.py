"""Records of the earlier release, read as records of the later one (wild spec 2.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bench_wild.labels import CHAT, CLARIFY, FIRST_TURN, SINGLE, UNKNOWN_SUBTYPE
from bench_wild.matching.structure import TYPE_OF, structure_of

_TYPES = {"单": SINGLE, "反": CLARIFY, "拒": CHAT, "single": SINGLE, "clarify": CLARIFY, "chat": CHAT}
_MULTI = ("多", "multi")
_TRUE = (True, "真")
_WEEKDAYS_EN = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WEEKDAYS_ZH = "一二三四五六日"
_SEPARATOR = "====="


def is_earlier(record: Mapping[str, Any]) -> bool:
    """Whether a record has the earlier release's fields."""
    return "type" in record and "task_types" not in record and "english_task_types" not in record


def check_earlier(record: Mapping[str, Any], language: str) -> tuple[str, str] | None:
    """Field and rule that a record breaks so that ``modern`` could not read it."""
    twin = "english_" if language == "en" else ""
    for field in ("type", f"{twin}answer_list"):
        if not isinstance(record.get(field), list):
            return field, f"must be a list, not {record.get(field)!r:.40}"
    for place, label in enumerate(record["type"]):
        if label not in (*_TYPES, *_MULTI):
            return f"type[{place}]", f"is {label!r}; accepted are {', '.join((*_TYPES, *_MULTI))}"
    env = record.get("env_info")
    if not isinstance(env, str) and not (isinstance(env, list) and env and all(isinstance(one, str) for one in env)):
        return "env_info", f"must be a text or one for each task, not {env!r:.40}"
    if isinstance(env, list) and len(env) != len(record["type"]):
        return "env_info", f"must have an entry for each task; it has {len(env)}"
    for field in ("turn_type", "turn_subtypes", "task_ids"):
        if not isinstance(record.get(field, []), list):
            return field, f"must be a list, not {record[field]!r:.40}"
    return None


def modern(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the later release's fields. Fields that are missing or no lists stay away, for the check to
    find.

    What only this release has for each task is in ``env_infos``, ``before`` (the messages of a task before its text)
    and ``first_subtype``.
    """
    result: dict[str, Any] = {"id": record.get("id")}
    given, count = record["env_info"], len(record["type"])
    envs = [given] * max(count, 1) if isinstance(given, str) else given
    first, *others = _subtypes(record) or [UNKNOWN_SUBTYPE]
    for twin, weekdays in (("english_", _WEEKDAYS_EN), ("", tuple(f"星期{day}" for day in _WEEKDAYS_ZH))):
        answers = record.get(f"{twin}answer_list")
        if f"{twin}tools" in record:
            result[f"{twin}tools"] = record[f"{twin}tools"]
        if answers is not None:
            result[f"{twin}answer_list"] = answers
        tasks, messages = record.get(f"{twin}task"), record.get(f"{twin}messages")
        if isinstance(messages, list):
            tasks, result[f"{twin}before"] = _tasks(messages, record.get("task_ids", []), tasks)
        if isinstance(tasks, list):
            result[f"{twin}tasks"] = tasks
        result[f"{twin}env_infos"] = [_date(env, weekdays) for env in envs]
        result[f"{twin}env_info"] = result[f"{twin}env_infos"][0]
        result[f"{twin}task_types"] = [_type(label, answers, place) for place, label in enumerate(record["type"])]
        result[f"{twin}turn_subtypes"] = others
    return {**result, "first_subtype": FIRST_TURN if first == UNKNOWN_SUBTYPE else first}


def _date(env: str, weekdays: Sequence[str]) -> str:
    """Date and time without prefix, with the weekday in the language of the run."""
    text = re.sub(r"当前时间：|环境：", "", env).split("星期")[0].strip()
    try:
        return f"{text} {weekdays[datetime.fromisoformat(text).weekday()]}"
    except ValueError:
        return text


def _type(label: str, answers: Any, place: int) -> str:
    if label in _TYPES:
        return _TYPES[label]
    nodes = answers[place] if isinstance(answers, list) and place < len(answers) else []
    return TYPE_OF[_structure(nodes) or "combine"]


def _structure(nodes: Any) -> str | None:
    """Of raw nodes that may be damaged."""
    actions: list[tuple[str, list[int]]] = []
    for node in nodes if isinstance(nodes, list) else []:
        action = node.get("action") if isinstance(node, Mapping) else None
        depends = node.get("dependency_list") if isinstance(node, Mapping) else None
        name = action.get("name") if isinstance(action, Mapping) else None
        actions.append((name if isinstance(name, str) else "", depends if isinstance(depends, list) else []))
    return structure_of(actions)


def _subtypes(record: Mapping[str, Any]) -> list[Any]:
    """The subtypes of all tasks: of those that ``turn_type`` calls multi-turn. They are given for every task, or only
    for these."""
    count = len(record["type"])
    given = list(record.get("turn_subtypes", []))
    multi = [value in _TRUE for value in record.get("turn_type", [])]
    multi += [False] * (count - len(multi))
    if len(given) == count - 1 and sum(multi) != len(given):
        given = [None, *given]
    elif len(given) != count:
        rest = iter(given)
        given = [next(rest, None) if is_multi else None for is_multi in multi]
    return [(is_multi and subtype) or UNKNOWN_SUBTYPE for subtype, is_multi in zip(given, multi, strict=False)]


def _tasks(messages: Sequence[Any], task_ids: Sequence[Any], tasks: Any) -> tuple[Any, list[list[Mapping[str, Any]]]]:
    """What the user says in each task, and the messages of the task before that.

    The flat list of messages is divided by texts with a row of equal signs; ``task_ids`` says where the task stands in
    its part. ``tasks`` are the texts without the speaker, which hold where the messages do not fit them.
    """
    parts: list[list[Mapping[str, Any]]] = [[]]
    for message in messages:
        if isinstance(message, str) and _SEPARATOR in message:
            parts.append([])
        elif isinstance(message, Mapping):
            parts[-1].append(message)
    parts = [one for one in parts if one]
    if isinstance(tasks, list) and len(tasks) != len(parts):
        return tasks, []
    texts: list[str] = []
    before: list[list[Mapping[str, Any]]] = []
    for place, part in enumerate(parts):
        text = str(tasks[place]) if isinstance(tasks, list) else ""
        number = task_ids[place] if place < len(task_ids) and isinstance(task_ids[place], int) else 0
        fits = [at for at, one in enumerate(part) if one.get("role") == "user" and text in str(one.get("content", ""))]
        at = number if number in fits else next(iter(fits), None)
        texts.append(text if at is None else str(part[at].get("content", "")))
        earlier = part[:at] if at else []
        before.append([{"role": one.get("role"), "content": str(one.get("content", ""))} for one in earlier])
    return texts, before
