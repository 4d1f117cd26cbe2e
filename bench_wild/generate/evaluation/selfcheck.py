"""Finds doubts about evaluation records, for the person who accepts them.

A record with ``run`` findings cannot be run with the gold; the other findings are hints for the reviewer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentgauge.core.types import Json
from bench_wild.check import check_record
from bench_wild.data import LANGUAGES, GoldNode, WildTask, build_session, has_language
from bench_wild.fixes import PARITY
from bench_wild.generate.evaluation.values import (
    FROM_CJK,
    Leaf,
    Result,
    is_date,
    joined,
    leaves,
    occurs,
    plain,
    telling,
    written,
)
from bench_wild.matching.arguments import check_schema, find_tool
from bench_wild.matching.strings import CORRECT
from bench_wild.oracle import unreachable
from bench_wild.prompts import as_json, convert_tools

Kind = Literal["run", "arguments", "order", "alone", "invented", "failed call", "duplicate"]

_OWN_WORDS = 0.5
"""An argument's text is taken for made of what was said where at least this share of its words was."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One doubt about a record."""

    kind: Kind
    text: str  # a sentence that begins with the place: "task 2, action 1 (planTrip): ..."


def check_one(record: Mapping[str, Any]) -> list[Finding]:
    """The findings of one record, in each of its languages."""
    found: list[Finding] = []
    for language in LANGUAGES:
        if has_language(record, language):
            found += _in_language(record, language)
    return list(dict.fromkeys(found)) or (
        [] if any(has_language(record, one) for one in LANGUAGES) else [_run("it has no tasks")]
    )


def duplicates(records: Sequence[Mapping[str, Any]]) -> list[list[Finding]]:
    """For each record the user texts that were said before, in it or in an earlier one."""
    seen: dict[str, str] = {}
    found: list[list[Finding]] = []
    for record in records:
        mine: list[Finding] = []
        for field in ("english_tasks", "tasks"):
            for place, text in enumerate(record.get(field, ()), 1):
                where = f"task {place} of {record['id']}"
                if (first := seen.setdefault(plain(text), where)) != where:
                    mine.append(Finding("duplicate", f"task {place}: the user's words are those of {first}"))
        found.append(mine)
    return found


def _run(text: str) -> Finding:
    return Finding("run", text)


def _in_language(record: Mapping[str, Any], language: str) -> Iterator[Finding]:
    if broken := check_record(record, language):
        yield _run(f"{broken.field} {broken.rule}")
        return
    session = build_session(record, language)
    for text in unreachable(session):
        yield _run(text.partition(", ")[2])
    tools = convert_tools(session.tools)
    known = plain(session.env_info)
    for task in session.tasks:
        known += "\n" + plain(task.text)
        yield from _alone(task)
        for node in task.answer_list:
            if node.is_tool:
                yield from (
                    Finding(kind, f"{_where(task, node)}: {text}") for kind, text in _of_call(tools, task, node, known)
                )
        known += "\n" + joined([part for node in task.answer_list for part in (node.observation, node.user_input)])


def _where(task: WildTask, node: GoldNode) -> str:
    return f"task {task.position + 1}, action {node.position} ({node.name})"


def _alone(task: WildTask) -> Iterator[Finding]:
    """A question or the final answer can be eligible beside each action that neither waits for it nor is awaited
    (wild spec 2.3)."""
    before = [_ancestors(task.answer_list, node) for node in task.answer_list]
    for node in task.answer_list:
        beside = [
            one for one in range(len(before)) if one not in before[node.position] and node.position not in before[one]
        ]
        others = [str(one) for one in beside if one != node.position]
        if others and not node.is_tool:
            yield Finding(
                "alone", f"{_where(task, node)}: may come beside action {', '.join(others)}; it must stand alone"
            )


def _of_call(
    tools: Sequence[Mapping[str, Any]], task: WildTask, node: GoldNode, known: str
) -> Iterator[tuple[Kind, str]]:
    tool = find_tool(tools, node.name)
    if tool is None:
        yield "arguments", "the session has no such tool"
        return
    schema = tool["function"].get("parameters") or {}
    yield from (("arguments", text) for text in _against_schema(tool, schema, node.arguments))
    status = node.observation.get("status_code") if isinstance(node.observation, Mapping) else None
    if isinstance(status, int) and status >= 400:
        yield "failed call", f"its result is an error (status {status}), so the gold holds a call that failed"
    before = _ancestors(task.answer_list, node)
    earlier_text = "\n".join(
        [known, *(plain(one.user_input or "") for one in task.answer_list if one.position in before)]
    )
    for leaf in leaves(dict(node.arguments)):
        yield from _of_value(task, node, leaf, earlier_text, before, schema)


def _against_schema(tool: Mapping[str, Any], schema: Mapping[str, Any], arguments: Mapping[str, Json]) -> Iterator[str]:
    """The evaluator's own check, argument by argument, so that each is named."""
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in arguments:
            yield f"lacks the required argument {name!r}"
    for name, value in arguments.items():
        if name not in properties:
            yield f"has the argument {name!r}, which the tool does not declare"
            continue
        parameters = {**schema, "required": [], "properties": {name: properties[name]}}
        alone = {"function": {"name": "", "parameters": parameters}}
        if (outcome := check_schema(alone, as_json({name: value}), PARITY)) != CORRECT:
            yield (
                f"{name} = {json.dumps(value, ensure_ascii=False)[:60]} does not fit the schema:"
                f" {outcome.removeprefix('error_schema: ')}"
            )


def _ancestors(nodes: Sequence[GoldNode], node: GoldNode) -> set[int]:
    """Everything that an action waits for."""
    found: set[int] = set()
    open_ = list(node.dependencies)
    while open_:
        one = open_.pop()
        if one not in found:
            found.add(one)
            open_ += nodes[one].dependencies
    return found


def _of_value(
    task: WildTask, node: GoldNode, leaf: Leaf, earlier_text: str, before: set[int], schema: Mapping[str, Any]
) -> Iterator[tuple[Kind, str]]:
    """Where a value comes from: from what is known then, or from a result that comes too late, or from nowhere."""
    shown = f"{leaf.name} = {written(leaf.value)[:60]!r}"
    results = {one.position: Result.of(one.observation) for one in task.answer_list if one.is_tool and one is not node}
    if any(results[one].gives(leaf, earlier_text) for one in before if one in results):
        return
    if _known(leaf, "\n".join([earlier_text, *(results[one].text for one in before if one in results)]), schema):
        return
    if telling(leaf.value):
        for late, result in results.items():
            echoes = any(
                written(one.value) == written(leaf.value) for one in leaves(dict(task.answer_list[late].arguments))
            )
            if not echoes and not is_date(leaf.value) and result.gives(leaf, earlier_text):
                yield "order", f"{shown} comes from the result of action {late}, for which it does not wait"
                return
    if telling(leaf.value) or not _small_number(leaf.value):
        date = " (it may follow from the current time)" if is_date(leaf.value) else ""
        yield "invented", f"{shown} is in nothing that was said or found before{date}"


def _known(leaf: Leaf, text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a value was said, is made of words that were, or is named by the tool's schema: a default, a choice,
    an example."""
    if occurs(leaf.value, text) or occurs(leaf.value, joined([schema])):
        return True
    words = _words(written(leaf.value)) if isinstance(leaf.value, str) else []
    return len(words) > 1 and sum(occurs(word, text) for word in words) >= _OWN_WORDS * len(words)


def _words(text: str) -> list[str]:
    """Words of letters and digits; pairs of neighbours for Chinese, which has no blanks."""
    found: list[str] = []
    for word in "".join(sign if sign.isalnum() else " " for sign in text).split():
        pairs = [word[place : place + 2] for place in range(len(word) - 1)]
        found += pairs if word[0] >= FROM_CJK and pairs else [word]
    return found


def _small_number(value: str | int | float) -> bool:
    """A count such as 2 or 10, which may be said in words."""
    return not isinstance(value, str) and abs(value) <= 12
