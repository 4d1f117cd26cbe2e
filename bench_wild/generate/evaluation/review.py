"""A plain page on which a person goes through generated sessions before accepting them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_wild.data import GoldNode, Session, WildTask, build_session, has_language
from bench_wild.labels import FIRST_TURN
from bench_wild.layout import GENERATED, UNVERIFIED
from bench_wild.prompts import as_json, observed

_SHOWN = 600
"""Signs of a result that are shown."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The review notes on one record."""

    record: Mapping[str, Any]
    notes: Sequence[str]  # what the transcript did not determine
    doubts: Sequence[str]  # findings of the self-check and overlaps, one sentence each


def page(sheets: Sequence[Sheet], left_out: Sequence[str]) -> str:
    """The page, in Markdown. ``left_out``: dialogues that became no record, one sentence each."""
    open_ = sum(UNVERIFIED in sheet.record for sheet in sheets)
    lines = [
        "# Review of generated sessions",
        "",
        f"{len(sheets)} sessions, {open_} of them not accepted yet. Go through a session, correct its line in",
        "`wild/Wild-Tool-Bench.jsonl` where it is wrong, and accept it by its number:",
        "",
        "    agentgauge generate accept DIR --sessions 0,3-7",
        "",
        "An accepted session stays as it is. The others are made again whenever the command generates more.",
        "",
        "| session | task types | not determined | doubts | accepted |",
        "|---|---|---|---|---|",
    ]
    for number, sheet in enumerate(sheets):
        types = ", ".join(task.type for task in _session(sheet.record).tasks)
        accepted = "" if UNVERIFIED in sheet.record else "yes"
        lines.append(
            f"| [{number}](#session-{number}) | {types} | {len(sheet.notes) or ''} | {len(sheet.doubts) or ''} |"
            f" {accepted} |"
        )
    if left_out:
        lines += [
            "",
            "## Left out",
            "",
            "These dialogues became no record.",
            "",
            *(f"- {_text(reason)}" for reason in left_out),
        ]
    for number, sheet in enumerate(sheets):
        lines += ["", *_of_session(number, sheet)]
    return "\n".join(lines) + "\n"


def _session(record: Mapping[str, Any]) -> Session:
    return build_session(record, "en" if has_language(record, "en") else "zh")


def _of_session(number: int, sheet: Sheet) -> Iterator[str]:
    session = _session(sheet.record)
    origin = sheet.record[GENERATED]
    yield f"## Session {number}"
    yield ""
    yield (
        f"{_text(session.env_info)} · meant as {origin['sequence']} · seed {origin['seed']} · {len(session.tools)}"
        " tools: " + ", ".join(f"`{tool['function']['name']}`" for tool in session.tools)
    )
    for task, kind in zip(session.tasks, origin["kinds"], strict=True):
        yield ""
        yield from _of_task(task, kind)
    yield ""
    yield from _listed("Not determined by the transcript", sheet.notes)
    yield from _listed("Doubts", sheet.doubts)
    boxes = (
        "the user's words read like a person's",
        "the gold is right, and its order is needed",
        "types and subtypes fit",
        "accept",
    )
    yield from (f"- [ ] {box}" for box in boxes)


def _of_task(task: WildTask, kind: str) -> Iterator[str]:
    subtype = "" if task.subtype == FIRST_TURN else f" · {task.subtype} ({kind})"
    yield f"### Task {task.position + 1}: {task.type}{subtype}"
    yield ""
    yield "| dialogue | gold |"
    yield "|---|---|"
    yield f"| **User:** {_text(task.text)} | |"
    for node in task.answer_list:
        yield from _of_node(node)


def _of_node(node: GoldNode) -> Iterator[str]:
    after = f" after {', '.join(map(str, node.dependencies))}" if node.dependencies else ""
    gold = f"**{node.position}**{after}: `{node.name}`"
    if node.is_tool:
        result = observed(node.observation)
        cut = f" … ({len(result) - _SHOWN} more signs)" if len(result) > _SHOWN else ""
        yield f"| **Result:** {_code(result[:_SHOWN])}{cut} | {gold}<br>{_code(as_json(node.arguments))} |"
        return
    yield f"| **Assistant:** {_text(observed(node.observation))} | {gold}<br>{_code(as_json(node.arguments))} |"
    if node.user_input is not None:
        yield f"| **User:** {_text(node.user_input)} | |"


def _listed(title: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        yield f"**{title}**"
        yield ""
        yield from (f"- {_text(text)}" for text in texts)
        yield ""


def _code(text: str) -> str:
    """JSON as code, in one cell."""
    return _text(text) if "`" in text or "\n" in text else "`" + text.replace("|", "\\|") + "`"


def _text(text: str) -> str:
    """A model's words as they are, in one cell: nothing in them is mark-up of the page."""
    safe = html.escape(text, quote=False)
    safe = re.sub(r"[\\`*\[\]|#]|(?<!\w)_|_(?!\w)", r"\\\g<0>", safe)
    return "<br>".join(safe.splitlines())
