"""Rules of ``baseline`` for choosing among candidates that the prompt lists: the one with most words in common with
what is asked, else the first."""

from __future__ import annotations

import json
import re

from agentgauge.core.text import parse_json
from agentgauge.model.embedded.words import numbers, stems, stems_of_name

_PLAN = re.compile(r"^[^\w\n]*Plan (\d{1,9})\b(.*?)(?=^[^\w\n]*Plan \d|^\s*$|\Z)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"[A-Za-z]\w*")
_LINES = 1_000  # in front of the questions
_OPTION = re.compile(r"^\s*\(?([A-Z])[.):]\s*(.*)$", re.MULTILINE)


def plan_number(text: str) -> str:
    """The plan whose functions have most in common with the request, by name and description; each function without a
    common word counts against a plan."""
    plans = [(number, _NAME.findall(body)) for number, body in _PLAN.findall(text)]
    rest = _PLAN.sub("", text)
    asked = stems(rest.rpartition("# Request")[2])
    lines = {name: "" for _, names in plans for name in names}
    for line in rest.splitlines():
        if first := _NAME.search(line):
            lines[first[0]] = line if first[0] in lines else ""
    shared = {name: len((stems_of_name(name) | stems(line)) & asked) for name, line in lines.items()}
    ranked = [(sum(shared[name] for name in names) / (1 + len(names)), number) for number, names in plans]
    best = max(ranked, key=lambda item: item[0], default=(0.0, "1"))
    return f"Chosen Plan: {best[1]}"


def letters(text: str) -> str:
    """A letter for each question of a JSON list: the option that the text before the questions has in a line with words
    of the question, else anywhere, else the first."""
    start, questions = _questions(text)
    lines = [(line, set(_tokens(line))) for line in text[:start].replace("\\n", "\n").splitlines()[-_LINES:]]
    return json.dumps([_letter(question, lines) for question in questions] or ["A"])


def _questions(text: str) -> tuple[int, list[str]]:
    for found in reversed(list(re.finditer(r"^\[.*\]$", text, re.MULTILINE))):
        try:
            value = parse_json(found.group())
        except ValueError:
            continue
        if isinstance(value, list) and any(isinstance(one, str) and _OPTION.search(one) for one in value):
            return found.start(), [str(one) for one in value]
    return len(text), []


def _letter(question: str, lines: list[tuple[str, set[str]]]) -> str:
    options = _OPTION.findall(question)
    asked = stems(_OPTION.sub("", question))

    def points(option: str) -> int:
        wanted = set(_tokens(option))
        holding = [line for line, tokens in lines if wanted and wanted <= tokens]
        return 2 if any(stems(line) & asked for line in holding) else len(holding[:1])

    return max(options, key=lambda item: points(item[1]), default=("A", ""))[0]


def _tokens(text: str) -> list[str]:
    return [*numbers(text), *stems(text)]
