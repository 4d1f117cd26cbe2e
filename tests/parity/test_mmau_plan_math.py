"""Apple MMAU's DAG QA and mathematics metrics on their golden vectors; the grader's replies are canned."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from bench_mmau import math_task, plan
from bench_mmau.errors import NotScorable
from bench_mmau.replies import Message, contents, read, read_record
from tests.parity.golden import golden_folder, load

pytestmark = pytest.mark.skipif(golden_folder("mmau") is None, reason="no golden data for mmau")


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in (load("mmau", name) or {}).get("cases", [])]


def test_every_vector_is_here() -> None:
    assert [len(cases(name)) for name in ("tool_use_plan.json", "math.json", "math_parts.json")] == [25, 22, 14]


def client(case: Mapping[str, Any], part: str = "response_generator") -> Any:
    return case["input"].get(part, {}).get("client", "openai")


# -- DAG QA


def plan_metric(case: Mapping[str, Any]) -> dict[str, float]:
    return plan.metric([plan.judge(record, read_record(record, client(case))) for record in case["input"]["responses"]])


@pytest.mark.parametrize(
    ("text", "parity", "strict"),
    [
        ("Chosen Plan: 3", 3, 3),
        ("Chosen Plan: **3**", None, 3),
        ("**Chosen Plan**: 3", None, 3),
        ("Chosen Plan:3", None, 3),
        ("chosen plan: 3", None, 3),
        ("Chosen Plan: Plan 3", None, 3),
        ("Chosen Plan: 2? No.\n**Chosen Plan:** 3", 2, 3),
        ("Chosen Plan: -1", None, None),
        ("the chosen plan 2 steps ahead", None, None),
        ("", None, None),
    ],
)
def test_spellings_of_the_choice(text: str, parity: int | None, strict: int | None) -> None:
    assert plan.chosen_plan(text) == parity
    assert plan.chosen_plan(text, fixes=plan.STRICT) == strict


def test_plan_under_strict() -> None:
    assert plan.judge({"target_plan_number": "3"}, [Message("Chosen Plan: 3")], fixes=plan.STRICT).passed
    assert plan.judge({"target_plan_number": 3}, [Message(None)], fixes=plan.STRICT).labels == ("format_error",)
    for record in ({}, {"target_plan_number": "three"}):
        with pytest.raises(NotScorable, match="whole number"):
            plan.judge(record, [Message("Chosen Plan: 3")], fixes=plan.STRICT)
    with pytest.raises(NotScorable, match="digits"):
        plan.judge({"target_plan_number": 3}, [Message("Chosen Plan: " + "3" * 5000)])


@pytest.mark.parametrize("case", cases("tool_use_plan.json"))
def test_plan(case: Mapping[str, Any]) -> None:
    assert case["metric"] == "tool_use_plan"
    if "expected_error" in case:
        with pytest.raises(NotScorable):
            plan_metric(case)
        return
    assert plan_metric(case) == pytest.approx(case["expected"], abs=1e-9, rel=0)


# -- mathematics


class Grader:
    """Canned replies, one per request, and what was asked."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self.client = client(case, "grader")
        self.replies = list(case["input"].get("grader", {}).get("replies", []))
        self.asked: list[list[dict[str, Any]]] = []

    async def ask(self, messages: list[dict[str, Any]]) -> str:
        self.asked.append(messages)
        return contents(read(self.replies.pop(0), self.client))[0] or ""


async def math_metric(case: Mapping[str, Any], grader: Grader) -> dict[str, float]:
    records = case["input"]["responses"]
    verdicts = [await math_task.judge(record, read_record(record, client(case)), grader.ask) for record in records]
    return math_task.metric(verdicts)


@pytest.mark.parametrize("case", cases("math.json"))
def test_math(case: Mapping[str, Any]) -> None:
    assert case["metric"] == "math"
    grader = Grader(case)
    if "expected_error" in case:
        with pytest.raises(NotScorable):
            asyncio.run(math_metric(case, grader))
        return
    assert asyncio.run(math_metric(case, grader)) == pytest.approx(case["expected"], abs=1e-9, rel=0)
    assert grader.replies == []
    records = case["input"]["responses"]
    requests = [math_task.grader_request(record, read_record(record, client(case))) for record in records]
    assert [one["messages"] for one in requests if one] == grader.asked
    assert [described(one) for one in requests if one] == case["expected_requests"]["grader"]
    assert all("response" not in one for one in requests if one)
    for messages, pieces in zip(grader.asked, case.get("grader_contains", []), strict=False):
        assert all(piece in messages[-1]["content"] for piece in pieces)
    assert len(case.get("grader_contains", [])) <= len(grader.asked)


def described(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request in the words of ``expected_requests``."""
    messages = request["messages"]
    content = messages[-1]["content"]
    shape = "text" if isinstance(content, str) else {"parts": [part["type"] for part in content]}
    named = {"id": request["id"]} if "id" in request else {}
    return {"roles": [message["role"] for message in messages], **named, "last_content": shape}


@pytest.mark.parametrize("case", cases("math_parts.json"))
def test_judgement(case: Mapping[str, Any]) -> None:
    assert case["op"] == "math.judgement"
    assert math_task.judgement(case["args"]["text"]) == case["expected"]


CALL = {"id": "c", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{}", "strict": True}}


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        ({"content": "it's\n2"}, """content="it's\\n2", role='assistant', function_call=None, tool_calls=None"""),
        ({"content": "x", "tool_calls": []}, "content='x', role='assistant', function_call=None, tool_calls=[]"),
        (
            {"reasoning": "r", "content": "x", "tool_calls": [CALL]},
            "content='x', role='assistant', function_call=None, tool_calls=[ChatCompletionMessageToolCall(id='c', "
            "function=Function(arguments='{}', name='f', strict=True), type='function', index=0)], reasoning='r'",
        ),
        (
            {"content": "x", "function_call": {"name": "f", "arguments": "{}", "more": 1}},
            "content='x', role='assistant', function_call=FunctionCall(arguments='{}', name='f', more=1), tool_calls=None",
        ),
    ],
)
def test_the_grader_sees_the_printed_messages(message: Mapping[str, Any], printed: str) -> None:
    """Q10: as openai 1.35.14 prints such messages."""
    stored = json.dumps({"choices": [{"message": {"role": "assistant", **message}}] * 2})
    one = f"ChatCompletionMessage({printed})"
    assert math_task.shown(read(stored)) == f"[{one}, {one}]"


RECORD: dict[str, Any] = {"id": "m", "raw_problem": "1+1? {answer}", "gt_answer": 2, "response": "..."}


@pytest.mark.parametrize(
    ("text", "answer"),
    [("#THOUGHTS#: so\n#ANSWER#: {2}", "{2}"), ("#ANSWER# 1, no\n#ANSWER#: 2\n", "2"), ("so it is 2 #ANSWER#:", "so it is 2 #ANSWER#:")],
)
def test_the_grader_sees_the_plain_answer_under_strict(text: str, answer: str) -> None:
    request = math_task.grader_request(RECORD, [Message(text)], fixes=math_task.STRICT, template="{question}|{answer}|{ground_truth}")
    assert request == {
        "id": "m",
        "raw_problem": "1+1? {answer}",
        "gt_answer": 2,
        "messages": [{"role": "user", "content": f"1+1? {{answer}}|{answer}|2"}],
    }


@pytest.mark.parametrize(
    ("reply", "parity", "strict"),
    [
        ("correct", True, True),
        ("WRONG", False, False),
        ("correct.", None, True),
        ("**Correct**", None, True),
        ("#Response#: wrong", None, False),
        ("They agree.\ncorrect", None, True),
        ("```\ncorrect\n```", None, True),
        ("incorrect", None, False),
        ("not correct", None, None),
        ("", None, None),
    ],
)
def test_verdicts(reply: str, parity: bool | None, strict: bool | None) -> None:
    assert math_task.graded(RECORD, reply).passed is parity
    assert math_task.graded(RECORD, reply, fixes=math_task.STRICT).passed is strict


def test_an_unanswered_problem_is_wrong_under_strict_and_an_ungradable_one_leaves_the_denominator() -> None:
    replies = iter(["correct", "hm"])

    async def ask(messages: list[dict[str, Any]]) -> str:
        return next(replies)

    async def verdicts() -> list[Any]:
        texts = ("#ANSWER#: 2", "#ANSWER#: 3", "no answer", None)
        return [await math_task.judge(RECORD, [Message(text)], ask, fixes=math_task.STRICT) for text in texts]

    found = asyncio.run(verdicts())
    assert [one.passed for one in found] == [True, None, False, False]
    assert math_task.metric(found)["accuracy"] == 1
    assert math_task.metric(found, fixes=math_task.STRICT)["accuracy"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("field", ["raw_problem", "gt_answer"])
def test_a_record_without_problem_or_answer_is_refused(field: str) -> None:
    record = {name: value for name, value in RECORD.items() if name != field}
    with pytest.raises(NotScorable, match=field):
        math_task.grader_request(record, [Message("#ANSWER#: 2")])
