"""Answers with the gold in any role: as tested model, planner, solver, judge or QA model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import UsageProblem
from bench_mmau.mathematics import MARKER
from bench_mmau.replies import format_target
from bench_mmau.run import JUDGE

_HUGE = re.compile(r"e[+-]?\d{4}")
"""A power of ten that would take long to write out, as a model may answer."""

_FRAMED = re.compile(r"^\[begin (\w+)\]\n(.*?)\n\[end \1\]$", re.DOTALL | re.MULTILINE)

_ANSWER = re.compile(re.escape(MARKER) + r":?\s*(.*?)(?=\\n|\\t|['\"]|\n|$)")


def tool_call(record: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    """The target's calls. If a rule lists choices, the argument is the first choice, because the target need not be
    among them.
    """
    target = format_target(record["target_message"])
    if not target.calls:
        return ChatReply(target.content or "")
    rules = record.get("target_message_match_rules") or [{}] * len(target.calls)
    calls = []
    for place, (call, rule) in enumerate(zip(target.calls, rules, strict=True)):
        arguments = json.loads(call.arguments)
        for name, wanted in rule.get("arguments", {}).items():
            if "multi_choices" in wanted and "regex_match" not in wanted:
                arguments[name] = wanted["multi_choices"][0]
        calls.append(ToolCall(call.name, json.dumps(arguments, ensure_ascii=False), f"call_{place}"))
    return ChatReply(target.content or "", tuple(calls), finish_reason="tool_calls")


def plan_choice(record: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    return ChatReply(f"That plan respects every dependency.\nChosen Plan: {record['target_plan_number']}")


def mathematics(record: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    if request.case and request.case.role == JUDGE:
        return ChatReply(
            "correct" if _agrees(str(request.messages[-1]["content"]), str(record["gt_answer"])) else "wrong"
        )
    return ChatReply(f"#THOUGHTS#: The answer follows from the problem.\n{MARKER}: {record['gt_answer']}")


def _agrees(asked: str, truth: str) -> bool:
    """Whether the answer that a judge is asked about is the true one, as text or as a number."""
    if framed := _FRAMED.search(asked):
        text = "\n".join(line.removeprefix("> ") for line in framed[2].split("\n"))
    else:  # the answer stands before the truth, whose label comes last
        text = asked.rpartition("#Ground Truth#")[0].rpartition("#Answer#:")[2]
    found = _ANSWER.findall(text)
    return _plain(found[-1] if found else text) == _plain(truth)


def _plain(text: str) -> Fraction | str:
    plain = "".join(text.lower().split()).rstrip(".")
    if _HUGE.search(plain):
        return plain
    try:
        return Fraction(plain)
    except (ValueError, ZeroDivisionError):
        return plain


def program(record: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    return ChatReply(f"```python\n{_gold(record, 'solution')}\n```")


def plan_then_program(record: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    """The tested model's plan, and the solver's programs for it."""
    return program(record, request) if request.case and request.case.turn else ChatReply(_gold(record, "plan"))


def parsed_output(record: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    return ChatReply(f"{MARKER}: {record['target_output']}")


def cells_then_answers(record: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    if request.case and request.case.turn:
        return answers(record, request)
    return ChatReply(f"```json\n{json.dumps(record['oracle_response'], ensure_ascii=False)}\n```")


def answers(record: Mapping[str, Any], request: ChatRequest) -> ChatReply:
    return ChatReply(json.dumps(record["gt_answers"]))


def _gold(record: Mapping[str, Any], field: str) -> str:
    if not isinstance(record.get(field), str):
        raise UsageProblem(
            f"record {record.get('id')!r} has no {field!r}: official contest data has no gold, so oracle cannot answer"
        )
    return str(record[field])
