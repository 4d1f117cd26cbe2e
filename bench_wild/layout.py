"""Layouts of WildToolBench's sessions that differ from the official one and can be understood (wild spec 2).

A session in the official layout is returned unchanged. A session in a known other layout is converted to the official
one, with a sentence for each difference. The check refuses a session that cannot be understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.index import Entry, first_line, list_entries
from agentgauge.core.text import parse_json
from agentgauge.data.differences import Differences, from_text, mapped, replaced
from bench_wild.labels import FIRST_TURN, SUBTYPES, TYPES, UNKNOWN_SUBTYPE

TWINS = ("english_", "")

UNVERIFIED, GENERATED = "unverified", "generated"
"""Fields of generated sessions: true where no person has accepted the session; where it comes from."""

NOT_VERIFIED, ACCEPTED = "generated, and not verified by a person", "generated, and accepted by a person"
"""The remark on such sessions."""

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
    start = 0
    with file.open("rb") as stream:
        for number, line in enumerate(stream):
            if line.strip():
                try:
                    value = parse_json(line.decode("utf-8-sig" if number == 0 else "utf-8"))
                except ValueError as error:
                    value = error
                yield Entry(str(number), value, start, start + len(line.removesuffix(b"\n")))
            start += len(line)


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
