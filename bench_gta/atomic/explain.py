"""Explains why a case is wrong: the expected answer, the actual one, and the step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgauge.core.types import Json

SHOWN = 3  # findings that an explanation spells out; the rest is counted

_LONGEST = 200  # characters of one value


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    labels: tuple[str, ...]
    where: str  # "step 2 of 3"
    expected: str
    got: str


def explain(findings: Sequence[Finding]) -> str:
    """The explanation; empty if nothing is wrong."""
    lines = [
        f"{one.where}: {', '.join(one.labels)}\n  expected: {one.expected}\n  got:      {one.got}"
        for one in findings[:SHOWN]
    ]
    if len(findings) > SHOWN:
        lines.append(f"and {len(findings) - SHOWN} more")
    return "\n".join(lines)


def shown_turn(turn: Mapping[str, Json]) -> str:
    """A call with its arguments and its error, or a text."""
    if "tool_calls" not in turn:
        return f"the text {quoted(str(turn.get('content') or ''))}"
    function = turn["tool_calls"][0]["function"]
    arguments = function["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    shown = f"{function['name']} {_cut(text)}"
    error = turn.get("error")
    return f"{shown} [{error.get('type')}: {_cut(str(error.get('msg')))}]" if isinstance(error, Mapping) else shown


def expected_answer(reference: Json) -> str:
    """The answer that a reference asks for, in words."""
    if not isinstance(reference, Mapping):
        return "something like " + " or ".join(quoted(text) for text in reference[:SHOWN])
    groups = [" or ".join(map(repr, group)) for group in reference["whitelist"]]
    wanted = "an answer with " + " and with ".join(groups) if groups else "any answer"
    refused = [alias for group in reference.get("blacklist") or () for alias in group]
    return _cut(wanted + (f", without {' or '.join(map(repr, refused))}" if refused else ""))


def quoted(text: str) -> str:
    return repr(_cut(text.strip()))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
