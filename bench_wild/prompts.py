"""The messages that WildToolBench sends: the system message, the tools and the gold history
(docs/benchmarks/wild.md#inference); and a running task as a dialogue of the first release, for the requests of its
model families.

Every text but one is the data set's, so there is nothing to replace. ``Sending`` holds the choices of the earlier
release (docs/benchmarks/wild.md#release-of-2025).

Schemas are normalised as the earlier release does for OpenAI's and Azure's endpoints
(docs/benchmarks/wild.md#model-families). This follows ``functions_uniform`` in ``bench_test/utils/tools.py`` of
yupeijei1997/WildToolBench at e163970, with one difference: a type that is unknown there ends the request, and stays
what it is here.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agentgauge.agent.dialects.format import Language, ParsedCall, PublishedDialogue, PublishedTurn
from agentgauge.core.chat import MadeId, Message
from agentgauge.core.types import Json
from bench_wild.data import GoldNode, Session, WildTask, recently
from bench_wild.graph import Graph, Group

_KEPT = ("parameters", "properties", "description", "type", "example_value", "enum", "items")
"""Keywords that a property keeps. ``required``, ``default``, ``anyOf`` and ``additionalProperties`` are not among
them."""

_TYPES = {
    "float": "number",
    "int": "integer",
    "list of dictionaries": "object",
    "complex_string": "string",
    "String": "string",
    "UUID": "string",
}


def normalised(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools with normalised parameters. The result shares nothing with ``tools``."""
    return [{**_copy(tool), "function": _function(tool["function"])} for tool in tools]


def as_asked(session: Session, result: Mapping[str, Json]) -> Session:
    """The session with the tools that the earlier evaluator scores: as the requests of its release left them."""
    return replace(session, tools=tuple(narrowed(session.tools))) if result.get("release") == "2025" else session


def narrowed(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools as a request leaves them in the data, which is then scored: of a type that names several, such as
    ``string|null``, the first."""
    found: list[dict[str, Any]] = _copy(tools)
    for tool in found:
        schemas = list(tool["function"].get("parameters", {}).get("properties", {}).values())
        while schemas:
            if isinstance(schema := schemas.pop(), dict):
                if isinstance(schema.get("type"), str):
                    schema["type"] = schema["type"].split("|")[0]
                members = schema.get("properties")
                schemas += [*(members.values() if isinstance(members, dict) else ()), schema.get("items")]
    return found


def _function(function: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = _copy(function)
    if "parameters" in function:
        found["parameters"] = _parameters(function["parameters"])
    return found


def _parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the arguments as a whole keeps every keyword, ``required`` too."""
    if "properties" not in parameters:
        return {"type": "object", "properties": {}}
    return {**_copy(parameters), "properties": {name: _property(one) for name, one in parameters["properties"].items()}}


def _property(schema: Any) -> Any:
    """The schema of a property or of items. Names of members are no keywords, so that each may be called like one."""
    if not isinstance(schema, Mapping):
        return _copy(schema)
    found: dict[str, Any] = {}
    for key in (key for key in schema if key in _KEPT):
        value = schema[key]
        if key == "properties" and isinstance(value, Mapping):
            found[key] = {name: _property(one) for name, one in value.items()}
        elif key == "items":
            found[key] = _property(value)
        elif key == "type":
            found |= _type(value)
        else:
            found[key] = _copy(value)
    return found


def _type(name: Any) -> dict[str, Any]:
    """``type``, with ``enum`` where the type's text lists values: ``enum["low", "high"]``."""
    if isinstance(name, Mapping):
        return {"type": "object"}
    if not isinstance(name, str):
        return {"type": _copy(name)}
    first = name.split("|")[0]
    if first in _TYPES or "enum" not in first:
        return {"type": _TYPES.get(first, first)}
    try:
        return {"enum": json.loads(first.replace("enum", "")), "type": "string"}
    except ValueError:
        return {"type": "string"}


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


Release = Literal["2026", "2025"]

RELEASES: tuple[Release, ...] = ("2026", "2025")
"""The release of April 2026, and the earlier one that the published tables were made with."""

_DATE = "Current Date: "
_DATES_2025 = {"en": "Current Date:", "zh": "当前日期："}
"""The system message is this and the task's date."""

VERSIONS: Mapping[Release, str] = {"2026": "1", "2025": "2"}
"""To be raised when what is sent changes."""

Schemas = Literal["original", "azure"]

SCHEMAS: tuple[Schemas, ...] = ("original", "azure")
"""Tools as in the data (docs/benchmarks/wild.md#tools), or normalised as the earlier release does for OpenAI and
Azure."""

_ROLES: Mapping[str, tuple[str, frozenset[str]]] = {
    "en": (":", frozenset({"ai", "ai agent", "user", "ai agent assistant"})),  # in any case
    "zh": ("：", frozenset({"用户", "AI Agent助手", "AI Agent"})),
}
"""By language the colon after a speaker's name, and the names."""

_ID_SIGNS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Sending:
    """The parts of a session that are sent. The defaults are those of the release of April 2026."""

    context: bool = True  # the gold history of the earlier tasks: ``contain_context``
    roles: bool = True  # the speaker's name at the beginning of a text; without it: ``remove_role``
    schemas: Schemas = "original"
    release: Release = "2026"  # whose words for the date a model with calls of its own gets; 2025 normalises schemas


ORIGINAL = Sending()


class HistoryError(Exception):
    """A gold history cannot be built: its first shortest path groups a pseudo action with another."""


def convert_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools as they are offered: the type ``float``, which no endpoint knows, becomes ``number``; nothing else
    changes."""
    text = json.dumps(list(tools), ensure_ascii=False)
    converted: list[dict[str, Any]] = json.loads(text.replace('"type": "float"', '"type": "number"'))
    return converted


def offered_tools(session: Session, sending: Sending = ORIGINAL) -> list[dict[str, Any]]:
    """The tools of a session. All of its tasks share them, so they must not be changed."""
    normal = sending.schemas == "azure" or sending.release == "2025"
    return list((_normalised if normal else _converted)(session.tools))


_converted = recently(8)(convert_tools)
_normalised = recently(8)(normalised)


def opening(session: Session, task: WildTask, sending: Sending = ORIGINAL, *, tolerant: bool = False) -> list[Message]:
    """The messages that begin a task: the date, the gold history of the earlier tasks, the user's words.

    An earlier task begins with the first of its messages. Raises HistoryError for a history on which upstream fails;
    ``tolerant`` lets pseudo actions stand alone there.
    """
    messages: list[dict[str, Any]] = []
    ids = _ids(session, task)
    for earlier in session.tasks[: task.position] if sending.context else ():
        messages.append(dict(earlier.before[0]) if earlier.before else {"role": "user", "content": earlier.text})
        for group in _groups(earlier, tolerant):
            messages += _turns([earlier.answer_list[place] for place in group], ids)
    messages += map(dict, task.before)
    messages.append({"role": "user", "content": task.text})
    if not sending.roles:
        messages = [_without_role(message, session.language) for message in messages]
    date = _DATES_2025[session.language] if sending.release == "2025" else _DATE
    return [{"role": "system", "content": date + task.env_info}, *messages]


def messages_of(session: Session, task: WildTask, *, context: bool = True) -> int:
    """How many messages a task of the earlier release begins with: no system message, and the results of one reply are
    one message there."""
    count = len(task.before) + 1
    for earlier in session.tasks[: task.position] if context else ():
        groups = [[earlier.answer_list[place] for place in group] for group in Graph(earlier.answer_list).optimal()]
        count += 1 + sum(1 if nodes[0].is_prepare else 2 for nodes in groups)
    return count


def _without_role(message: dict[str, Any], language: str) -> dict[str, Any]:
    """The message without its speaker's name. Results of tools are left alone, and blanks after the colon stay: as
    upstream."""
    colon, names = _ROLES[language]
    content = message["content"]
    if message["role"] == "tool" or not isinstance(content, str) or colon not in content:
        return message
    name, _, rest = content.partition(colon)
    return {**message, "content": rest} if (name.lower() if language == "en" else name) in names else message


def _groups(task: WildTask, tolerant: bool) -> Iterator[Group]:
    """The first shortest path."""
    for group in Graph(task.answer_list).optimal():
        alone = [place for place in group if not task.answer_list[place].is_tool]
        if not alone or len(group) == 1:
            yield group
        elif not tolerant:
            raise HistoryError(f"task {task.position + 1} groups {task.answer_list[alone[0]].name} with another action")
        else:
            if tools := tuple(place for place in group if place not in alone):
                yield tools
            yield from ((place,) for place in alone)


def _turns(nodes: Sequence[GoldNode], ids: Iterator[str]) -> list[dict[str, Any]]:
    """A group of the gold as messages. Results are JSON, texts in quotes too: as upstream, other than in a running
    task."""
    first = nodes[0]
    if not first.is_tool:
        messages = [{"role": "assistant", "content": first.observation}]
        return [*messages, {"role": "user", "content": first.user_input}] if first.is_ask else messages
    calls = [
        {"type": "function", "function": {"name": node.name, "arguments": as_json(node.arguments)}, "id": next(ids)}
        for node in nodes
    ]
    results = [
        {"role": "tool", "content": as_json(node.observation), "tool_call_id": call["id"]}
        for node, call in zip(nodes, calls, strict=True)
    ]
    return [{"role": "assistant", "content": "", "tool_calls": calls}, *results]


def _ids(session: Session, task: WildTask) -> Iterator[str]:
    """Call ids in upstream's form. There they are drawn anew in each run; here a task has the same in every run."""
    draw = random.Random(f"{session.id} {task.position}")
    while True:
        yield MadeId("toolu_bdrk_" + "".join(draw.choices(_ID_SIGNS, k=24)))


def as_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def observed(value: Json) -> str:
    """A result as a running task has it: texts as they are, everything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def dialogue_of(
    session: Session, running: WildTask, messages: Sequence[Message], begun: int, written: Sequence[str]
) -> PublishedDialogue:
    """``messages``: those of the running task with every result as JSON. The first ``begun`` of them began it;
    ``written`` is what the model wrote since."""
    language: Language = "zh" if session.language == "zh" else "en"
    texts = iter(written)
    others = messages[1:]  # without the system message, which is the date
    history = tuple(_published_turns(others[: begun - 2]))
    task = tuple(_published_turns(others[begun - 2 :], texts))
    has_context = len(history) > len(running.before)
    return PublishedDialogue(
        history, task, running.env_info, language, _opened(session, running, len(history), has_context)
    )


def _opened(session: Session, running: WildTask, told: int, has_context: bool) -> tuple[int, str]:
    """The turn with the first words that are those of a task, and its date. Of an earlier task with messages before
    its words the history has only the first of these messages."""
    for task in session.tasks[: running.position] if has_context else ():
        if not task.before:
            return sum(one["role"] != "tool" for one in opening(session, task)) - 2, task.env_info
    return told, running.env_info


def _published_turns(messages: Sequence[Message], written: Iterator[str] | None = None) -> Iterator[PublishedTurn]:
    for place, message in enumerate(messages):
        role: Literal["user", "assistant"] = "user" if message["role"] == "user" else "assistant"
        functions = [call["function"] for call in message.get("tool_calls") or ()]
        if message["role"] != "tool":
            yield PublishedTurn(
                role,
                message["content"] or "",
                tuple(ParsedCall(one["name"], one["arguments"]) for one in functions),
                tuple(json.loads(one["content"]) for one in messages[place + 1 : place + 1 + len(functions)]),
                next(written) if written and role == "assistant" else None,
            )
