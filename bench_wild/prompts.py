"""The messages that WildToolBench sends: the system message, the tools and the gold history (wild spec 3.2, 3.3).

Every text but one is the data set's, so there is nothing to replace. ``Sending`` holds the choices of the earlier
release (wild spec 12).
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentgauge.core.chat import MadeId, Message
from agentgauge.core.types import Json
from bench_wild.data import GoldNode, Session, WildTask
from bench_wild.identity_cache import recently
from bench_wild.matching.graph import Graph, Group
from bench_wild.release2025.azure import normalised

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
"""Tools as in the data (wild spec 3.2), or normalised as the earlier release does for OpenAI and Azure."""

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
