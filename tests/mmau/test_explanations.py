"""Every task names the true reason of a reply that is cut, empty, unparsable, or has no calls or text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.types import Scoring
from tests.mmau.test_stops import BY_NAME, FUNCTION, ID, Fixed, called, data, judged, run, sample_of

__all__ = ["data"]
pytestmark = pytest.mark.slow


def call(name: str, arguments: str) -> dict[str, Any]:
    return called(**ID, function={"name": name, "arguments": arguments})


REPLIES: Mapping[str, dict[str, Any]] = {
    "empty": {"content": ""},
    "blank": {"content": " \n"},
    "null": {"content": None},
    "no calls": {"content": "", "tool_calls": []},
    "call": called(**ID, function=FUNCTION),
    "cut arguments": call("book", '{"place": "Lu'),
    "no arguments": call("book", ""),
    "list for arguments": call("book", "[1]"),
    "wrong arguments": call("book", '{"place": "Lumen"}'),
    "other tool, cut": call("cook", '{"pl'),
    "call as text, cut": {"content": '<tool_call>\n{"name": "book", "argum'},
    "prose": {"content": "I think that plan 1 is best."},
    "marker, cut": {"content": "#ANSWER#:"},
    "long number": {"content": f"Chosen Plan: {'9' * 5000}"},
    "fence, cut": {"content": "So:\n```python\nprint(int(input("},
    "other fence": {"content": "```js\nlet a\n```"},
    "plain code": {"content": "print(1)"},
    "JSON, cut": {"content": '```json\n[{"cell_type": "code", "meta'},
    "object": {"content": '{"a": 1}'},
    "two answers": {"content": '["A", "B"]'},
    "silent cells": {"content": json.dumps([{"cell_type": "code", "metadata": {}, "source": ["a = 1\n"]}])},
}
NO_TEXT = dict.fromkeys(("empty", "blank", "null", "no calls", "call", "cut arguments"), "has no text")
CELLS = {
    **NO_TEXT,
    "prose": "the reply is no JSON",
    "JSON, cut": "the reply is no JSON (Unterminated string",
    "silent cells": "no question is answered: there is no output to ask about",
}
PROGRAMS = {
    **NO_TEXT,
    "prose": "is no program: the reply has no code fence",
    "fence, cut": "is no program: the reply's code fence is not closed",
    "other fence": "is no program: no code fence of the reply",
    "plain code": "printed '1\\n' where '4\\n' was expected (the reply has no code fence",
}
MATH = {**NO_TEXT, "prose": "the reply has no #ANSWER# part", "JSON, cut": "the reply has no #ANSWER# part"}
REASONS: Mapping[str, Mapping[str, str]] = {
    "tool": {
        **dict.fromkeys(("empty", "blank", "null", "no calls"), "the reply is empty"),
        "cut arguments": "the arguments of book are no JSON: Unterminated string",
        "no arguments": "the arguments of book are an empty text",
        "list for arguments": "the arguments of book are JSON, but no object",
        "wrong arguments": "the arguments are wrong",
        "other tool, cut": "the wrong tool was called; the arguments of cook are no JSON: Unterminated string",
        "call as text, cut": "no call can be read from the reply, although it looks like one",
        "prose": "a text came where a call was expected",
        "JSON, cut": "a text came where a call was expected",
    },
    "dag": {
        **NO_TEXT,
        "prose": "the reply has no line of the form Chosen Plan: NUMBER",
        "long number": "the number of the chosen plan has too many digits",
    },
    "contest": PROGRAMS,
    "contest_planner": {**PROGRAMS, "empty": "the plan has no text; 0 of 5 programs"},
    "contest_parsing": {
        **NO_TEXT,
        "prose": "the reply has no #ANSWER# part",
        "marker, cut": "nothing follows #ANSWER#",
    },
    "math": MATH,
    "math_planner": {**NO_TEXT, "prose": "the solver's reply has no #ANSWER# part"},
    "ds": {**CELLS, "object": "cell 1 is no notebook cell: it is no object"},
    "ds_oracle": {
        **NO_TEXT,
        "prose": "no question is answered: the reply is no JSON",
        "JSON, cut": "no question is answered: the reply is no JSON (Unterminated string",
        "object": "the answers are an object where a list of letters is needed",
        "two answers": "because the reply is no list of one answer for each",
    },
}
"""By a task's name or its first word: reply → part of the explanation under parity."""
STRICT: Mapping[str, Mapping[str, str]] = {
    "tool": {"no arguments": "the arguments are wrong"},  # an empty object
    "ds": {"object": "the reply is JSON, but not a list of notebook cells"},
    "ds_oracle": {"object": "because the reply is no list of one answer for each"},
}
"""What differs under strict."""


def found(where: Mapping[str, Mapping[str, str]], name: str) -> Mapping[str, str]:
    return where.get(name, where.get(name.split("_")[0], {}))


@pytest.mark.parametrize("scoring", ["parity", "strict"])
@pytest.mark.parametrize("name", BY_NAME)
def test_an_explanation_names_the_true_reason(name: str, scoring: Scoring, data: Path) -> None:
    task = BY_NAME[name]
    sample = sample_of(task, data)
    reasons = {**found(REASONS, name), **(found(STRICT, name) if scoring == "strict" else {})}
    for reply, reason in reasons.items():
        score = judged(task, sample, run(task, sample, Fixed(REPLIES[reply]), scoring=scoring), scoring)
        assert not score.passed
        assert reason in score.explanation, reply
        assert "invalid syntax" not in score.explanation, reply


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([FUNCTION, FUNCTION], "the number of calls is wrong\n"),
        ([{"name": "book", "arguments": '{"place": "Lumen", "seats": 4}'}], "the arguments are wrong"),
    ],
)
def test_readable_calls_keep_their_reasons(calls: list[dict[str, Any]], reason: str, data: Path) -> None:
    task = BY_NAME["tool_single"]
    sample = sample_of(task, data)
    reply = {"content": None, "tool_calls": [{**ID, "function": one} for one in calls]}
    assert reason in judged(task, sample, run(task, sample, Fixed(reply))).explanation


def test_a_second_try_without_cells_is_named(data: Path) -> None:
    task = BY_NAME["ds_retry"]
    sample = sample_of(task, data)
    fails = json.dumps([{"cell_type": "code", "metadata": {}, "source": ["1/0\n"]}])

    class Twice(Fixed):
        async def complete(self, request: Any) -> Any:
            self._message = {"content": fails if self.asked == 0 else "I cannot."}
            return await super().complete(request)

    explanation = judged(task, sample, run(task, sample, Twice({}))).explanation
    assert "the cells failed; ZeroDivisionError" in explanation
    assert "the second reply has no cells: the reply is no JSON" in explanation
