"""Layouts of WildToolBench's sessions that differ from the official one and can be understood
(docs/benchmarks/wild.md#data), and the records of the earlier release, read as records of the later one
(docs/benchmarks/wild.md#data-of-2025).

A session in the official layout is returned unchanged. A session in a known other layout is converted to the official
one, with a sentence for each difference. The check refuses a session that cannot be understood.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.index import Entry, first_line, list_entries
from agentgauge.core.text import parse_json
from agentgauge.data.differences import Differences, from_text, mapped, replaced
from bench_wild.labels import CHAT, CLARIFY, FIRST_TURN, SINGLE, SUBTYPES, TYPE_OF, TYPES, UNKNOWN_SUBTYPE, structure_of

TWINS = ("english_", "")

UNVERIFIED, GENERATED = "unverified", "generated"
"""Fields of generated sessions: true where no person has accepted the session; where it comes from."""

NOT_VERIFIED, ACCEPTED = "generated, and not verified by a person", "generated, and accepted by a person"
"""The remark on such sessions."""


def not_official(differences: Sequence[str]) -> Sequence[str]:
    """The differences that are remarks on generated sessions, whether a person has accepted them or not."""
    return [one for one in differences if one.endswith((NOT_VERIFIED, ACCEPTED))]


FIELDS = frozenset(
    {
        "id",
        UNVERIFIED,
        GENERATED,
        *(
            f"{twin}{field}"
            for twin in TWINS
            for field in ("env_info", "tools", "tasks", "answer_list", "task_types", "turn_subtypes", "messages")
        ),
    }
)
EARLIER_FIELDS = frozenset({"task", "english_task", "task_ids", "type", "turn_type"})

Ways = list[str]

_PREFIX = re.compile(r"\s*(当前时间|环境|current time|environment)\s*[:：]", re.IGNORECASE)


def sessions(file: Path, differences: Differences | None = None) -> Iterator[Entry]:
    """The lines of a file in the official layout; the differences are added to ``differences``. Raises DataProblem.

    A line that is no JSON has the exception as its value, and the rest goes on. A file may hold one list instead.
    """
    if not file.is_file():
        raise DataProblem(f"{file} does not exist; give a folder with the data set in its official layout (--data)")
    is_list = first_line(file).startswith("[")
    if is_list and differences:
        differences.of_file(f"{file.name} holds a list instead of JSON Lines; its entries count as lines")
    for entry in list_entries(file) if is_list else _lines(file):
        value, ways = official(entry.value)
        if differences and isinstance(value, dict):
            if value.get("id") != f"wild_tool_bench_{entry.key}":
                ways.append(
                    "the id does not match its line; the published evaluator finds sessions by line, AgentGauge by id"
                )
            differences.of_record(str(value.get("id") or f"line {int(entry.key) + 1}"), ways)
        yield replace(entry, value=value)


def _lines(file: Path) -> Iterator[Entry]:
    with file.open("rb") as stream:
        for number, line in enumerate(stream):
            if number == 0:
                line = line.removeprefix(BOM_UTF8)
            if line.strip():
                try:
                    value = parse_json(line.decode())
                except ValueError as error:
                    value = error
                yield Entry(str(number), value, line.strip())


def official(record: Any) -> tuple[Any, Ways]:
    """A session of either release in its release's layout, and the ways in which it differed."""
    ways: Ways = []
    if not isinstance(record, dict):
        return record, ways
    if record.keys() - FIELDS - EARLIER_FIELDS:
        ways += [
            f"the field {name!r} is unknown and not read" for name in record if name not in FIELDS | EARLIER_FIELDS
        ]
    if UNVERIFIED in record or GENERATED in record:
        ways.append(NOT_VERIFIED if record.get(UNVERIFIED) else ACCEPTED)
    changed: dict[str, Any] = record
    for twin in TWINS:
        types, subtypes, env = f"{twin}task_types", f"{twin}turn_subtypes", f"{twin}env_info"
        changed = _each(changed, f"{twin}tools", partial(_tool, ways=ways))
        changed = _each(changed, types, partial(_label, field=types, known=tuple(TYPES), ways=ways))
        if "type" not in record:  # of the earlier release the subtypes are aligned where it is read
            changed = replaced(changed, subtypes, partial(_three, field=subtypes, ways=ways))
            changed = _each(
                changed, subtypes, partial(_label, field=subtypes, known=(*SUBTYPES, UNKNOWN_SUBTYPE), ways=ways)
            )
            if isinstance(changed.get(env), str) and _PREFIX.match(changed[env]):
                ways.append(f"{env!r} begins with a prefix, which is sent to the model as it is")
        changed = _each(changed, f"{twin}answer_list", partial(_graph, ways=ways))
    return changed, ways


def _each(record: dict[str, Any], field: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    """With every entry of a list changed; what is no list is left to the check."""
    return replaced(record, field, lambda value: mapped(value, change) if isinstance(value, list) else value)


def _tool(tool: Any, ways: Ways) -> Any:
    if not isinstance(tool, dict) or "function" in tool or not isinstance(tool.get("name"), str):
        return tool
    ways.append("tools have no 'function' around them, read as if they had")
    return {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}


def _label(label: Any, field: str, known: tuple[str, ...], ways: Ways) -> Any:
    """Capitals, hyphens, underscores and blanks make no difference between labels."""
    if not isinstance(label, str) or label in known:
        return label
    plain = _plain(label)
    found = next((one for one in known if _plain(one) == plain), None)
    if found is None:
        return label
    ways.append(f"{field!r} has {label!r}, read as {found!r}")
    return found


def _plain(label: str) -> str:
    return re.sub(r"[-_\s]+", "", label).casefold()


def _three(subtypes: Any, field: str, ways: Ways) -> Any:
    """The first task has no subtype: an entry for it that says just that is left out."""
    if not isinstance(subtypes, list) or len(subtypes) != 4:
        return subtypes
    first = subtypes[0]
    if first is not None and not (isinstance(first, str) and _plain(first) in ("", _plain(FIRST_TURN))):
        return subtypes
    ways.append(f"{field!r} has an entry for the first task, {first!r}, which is left out")
    return subtypes[1:]


def _graph(nodes: Any, ways: Ways) -> Any:
    if not isinstance(nodes, list):
        return nodes
    if any(
        isinstance(node, dict) and node.get("idx", place) not in (place, str(place)) for place, node in enumerate(nodes)
    ):
        ways.append("'idx' of actions differs from their place in the list, which counts")
    return mapped(nodes, partial(_node, ways=ways))


def _node(node: Any, ways: Ways) -> Any:
    if not isinstance(node, dict):
        return node
    node = replaced(node, "action", partial(_action, ways=ways))
    return replaced(node, "dependency_list", partial(_dependencies, ways=ways))


def _action(action: Any, ways: Ways) -> Any:
    if not isinstance(action, dict) or not isinstance(action.get("arguments"), str):
        return action
    changed = replaced(action, "arguments", lambda value: from_text(value, dict))
    if changed is not action:
        ways.append("arguments of actions are JSON texts, read as objects")
    return changed


def _dependencies(depends: Any, ways: Ways) -> Any:
    if depends is None:
        ways.append("'dependency_list' is null, read as an empty list")
        return []
    if not isinstance(depends, list):
        return depends
    changed = mapped(
        depends, lambda one: int(one) if isinstance(one, str) and re.fullmatch(r"\d{1,6}", one, re.ASCII) else one
    )
    if changed is not depends:
        ways.append("'dependency_list' has texts, read as numbers")
    return changed


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
        return "env_info", f"must be a string or a list with one for each task, not {env!r:.40}"
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
    """The structure of raw nodes, which may be damaged."""
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
