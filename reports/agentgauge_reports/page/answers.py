"""What was expected in a case and what came, in a line each: for the list of cases and the examples of failures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.text import clipped, one_line, shown_call
from agentgauge.core.types import Record
from agentgauge_reports.text import WORDS

_EXPECTED, _GOT = (re.compile(rf"(?m)^\s*{name}:\s*(.+)$") for name in ("expected", "got"))


def expected_and_got(record: Record, shown: Mapping[str, Any]) -> tuple[str, str]:
    """From the verdict, where it has both (see ``agentgauge.core.text.compared``), else from the gold in the record,
    also if only a later finding of the verdict has them. Without any, nothing is expected, and what came is the tested
    model's last reply. ``shown``: the transcript."""
    explanation = record.score.explanation if record.score else ""
    expected = _EXPECTED.search(explanation)
    if expected and shown["gold"] and "\n  " in explanation[: expected.start()]:
        expected = None
    if record.status == "wrong" and expected:
        got = _GOT.search(explanation)
        return _line(expected[1]), _line(got[1]) if got else _last_reply(shown)
    if record.status != "broken" and not shown["artifacts"]:  # of these, a judge's page says what is lacking
        is_telling = _are_alike if record.status == "passed" else _differ
        rows = [row for row in shown["gold"] if is_telling(row["expected"], row["got"])]
        if rows:
            row = rows[-1] if record.status == "passed" else rows[0]
            return _acts(row["expected"]), _acts(row["got"])
    return "", _last_reply(shown)


def _differ(expected: Sequence[Mapping[str, Any]], got: Sequence[Mapping[str, Any]]) -> bool:
    return expected != got


def _are_alike(expected: Sequence[Mapping[str, Any]], got: Sequence[Mapping[str, Any]]) -> bool:
    """Whether both are texts, or calls of the same tools. A gold may write a text as a call."""
    return [act.get("name") for act in expected] == [act.get("name") for act in got]


def _acts(acts: Sequence[Mapping[str, Any]]) -> str:
    words = (act["text"] if "text" in act else shown_call(act["name"], act["arguments"]) for act in acts)
    return _line(" + ".join(words) or "nothing")


def _last_reply(shown: Mapping[str, Any]) -> str:
    for step in reversed(shown["steps"]):
        if step["is"] == "model" and not step.get("role"):
            calls = [shown_call(str(call.get("name")), call.get("arguments")) for call in step["calls"]]
            return _line(" + ".join(calls) or str(step["reply"] or step.get("refusal") or ""))
    return ""


def _line(text: str) -> str:
    return clipped(one_line(text[: 4 * WORDS]), WORDS)
