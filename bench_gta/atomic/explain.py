"""Explains why a case is wrong: the expected answer, the actual one, and the step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgauge.agent.dialect import INVALID_ACTION, NO_ACTION
from agentgauge.core.text import compared, cut, shown_call, shown_text
from agentgauge.core.types import Json

SHOWN = 3  # texts of a reference that an explanation names

_SENTENCES = {
    "wrong_answer": "the answer is wrong",
    "no_answer": "there is no final answer",  # perhaps a call in its place, which is shown
    "missing_drawing": "a drawing is missing",
    "wrong_drawing": "a drawing is not as wanted",
    "wrong_tool": "the wrong tool was called",
    "missing_tool": "a tool that is needed was not called",
    "wrong_argument": "the arguments are wrong",
    "unreadable_call": "no call can be read from the reply, although it looks like one",
    "invalid_json": "the arguments of a call are not a JSON object",
    "argument_error": "a call was refused or failed",
    "stopped_early": "no tool was called",
    "no_action": "a reply was neither a call nor an answer",
    "invalid_action": "a reply named a tool that is not on offer",
}
"""Labels in words."""


@dataclass(frozen=True, slots=True)
class WrongStep:
    """One thing that is wrong."""

    labels: tuple[str, ...]
    where: str  # "step 2 of 3"
    expected: str
    got: str


def explain(findings: Sequence[WrongStep]) -> str:
    """The explanation; empty if nothing is wrong."""
    return "\n".join(compared(f"{one.where}: {_reasons(one.labels)}", one.expected, one.got) for one in findings)


def _reasons(labels: Sequence[str]) -> str:
    """The first label is the reason; others may have led to it."""
    first, *others = (_SENTENCES[label] for label in labels)
    return f"{first} (also: {'; '.join(others)})" if others else first


def calls_made(names: Sequence[str]) -> str:
    """``after 3 tool calls (2 × OCR, Calculator) and 1 reply without a usable call``."""
    tools = [name for name in names if name not in (NO_ACTION, INVALID_ACTION)]
    counted = (f"{count} × {name}" if count > 1 else name for name, count in Counter(tools).items())
    parts = [f"{len(tools)} tool call{'s' * (len(tools) != 1)} ({', '.join(counted)})"] if tools else []
    if failed := len(names) - len(tools):
        parts.append(f"{'1 reply' if failed == 1 else f'{failed} replies'} without a usable call")
    return f"after {' and '.join(parts)}" if parts else "at the end"


def shown_turn(turn: Mapping[str, Json]) -> str:
    """A call with its arguments and its error, which does not repeat the arguments, or a text."""
    if "tool_calls" not in turn:
        return shown_text(str(turn.get("content") or ""))
    function, error = turn["tool_calls"][0]["function"], turn.get("error")
    given = function["arguments"]
    call = shown_call(function["name"], given).replace("{ROOT}/", "")
    if not isinstance(error, Mapping):
        return call
    message = str(error.get("msg"))
    if isinstance(given, str) and given:
        message = message.replace(given, "").rstrip(": ")
    return f"{call} [{error.get('type')}: {cut(message)}]"


def expected_answer(reference: Json) -> str:
    """The answer that a reference asks for, in words."""
    if not isinstance(reference, Mapping):
        return "something like " + " or ".join(quoted(text) for text in reference[:SHOWN])
    groups = [" or ".join(map(repr, group)) for group in reference["whitelist"]]
    wanted = "an answer with " + " and with ".join(groups) if groups else "any answer"
    refused = [alias for group in reference.get("blacklist") or () for alias in group]
    return cut(wanted + (f", without {' or '.join(map(repr, refused))}" if refused else ""))


def quoted(text: str) -> str:
    return repr(cut(text.strip()))
