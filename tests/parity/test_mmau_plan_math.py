"""Apple MMAU's DAG QA and mathematics metrics on their golden vectors; the grader's replies are canned."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from bench_mmau import mathematics as math_task
from bench_mmau import plans as plan
from bench_mmau.tool_use.errors import NotScorable
from bench_mmau.tool_use.replies import Message, read, read_record
from tests.parity.golden import cases, met, needs
from tests.parity.mmau_vectors import EXACT, REFUSED, Canned, client, holds_pieces, same_requests

pytestmark = needs("mmau")


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


@pytest.mark.parametrize("fixes", [plan.PARITY, plan.STRICT])
def test_a_plan_number_of_too_many_digits_is_one_format_error(fixes: plan.Fixes) -> None:
    """Python converts no number of more than 4,300 digits."""
    found = plan.judge({"target_plan_number": 3}, [Message("Chosen Plan: " + "3" * 5000)], fixes=fixes)
    assert (found.values, found.labels) == ({"right": 0, "format_error": 1}, ("format_error",))


@pytest.mark.parametrize("case", cases("mmau", "tool_use_plan.json"))
def test_plan(case: Mapping[str, Any]) -> None:
    assert case["metric"] == "tool_use_plan"
    met(case, lambda: plan_metric(case), *REFUSED, within=EXACT)


# -- mathematics


async def math_metric(case: Mapping[str, Any], grader: Canned) -> dict[str, float]:
    async def ask(messages: list[dict[str, Any]]) -> str:
        return grader.text(messages) or ""

    records = case["input"]["responses"]
    verdicts = [await math_task.judge(record, read_record(record, client(case)), ask) for record in records]
    return math_task.metric(verdicts)


@pytest.mark.parametrize("case", cases("mmau", "math.json"))
def test_math(case: Mapping[str, Any]) -> None:
    assert case["metric"] == "math"
    grader = Canned(case, "grader")
    if not met(case, lambda: asyncio.run(math_metric(case, grader)), *REFUSED, within=EXACT):
        return
    assert grader.left() == []
    records = case["input"]["responses"]
    made = [math_task.grader_request(record, read_record(record, client(case))) for record in records]
    requests = [request for request in made if request]
    assert [request["messages"] for request in requests] == grader.asked
    assert all("response" not in request for request in requests)
    same_requests(case, "grader", requests)
    holds_pieces(case, grader.asked)


@pytest.mark.parametrize("case", cases("mmau", "math_parts.json"))
def test_judgement(case: Mapping[str, Any]) -> None:
    assert case["op"] == "math.judgement"
    met(case, lambda: math_task.judgement(case["args"]["text"]), *REFUSED)


CALL = {"id": "c", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{}", "strict": True}}


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        ({"content": "it's\n2"}, """content="it's\\n2", role='assistant', function_call=None, tool_calls=None"""),
        ({"content": "x", "tool_calls": []}, "content='x', role='assistant', function_call=None, tool_calls=[]"),
        (
            {"reasoning": "r", "content": "x", "tool_calls": [CALL]},
            (
                "content='x', role='assistant', function_call=None, tool_calls=[ChatCompletionMessageToolCall(id='c', "
                "function=Function(arguments='{}', name='f', strict=True), type='function', index=0)], reasoning='r'"
            ),
        ),
        (
            {"content": "x", "function_call": {"name": "f", "arguments": "{}", "more": 1}},
            (
                "content='x', role='assistant', function_call=FunctionCall(arguments='{}', name='f', more=1),"
                " tool_calls=None"
            ),
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
    [
        ("#THOUGHTS#: so\n#ANSWER#: {2}", "{2}"),
        ("#ANSWER# 1, no\n#ANSWER#: 2\n", "2"),
        ("so it is 2 #ANSWER#:", "so it is 2 #ANSWER#:"),
    ],
)
def test_the_grader_sees_the_plain_answer_under_strict(text: str, answer: str) -> None:
    request = math_task.grader_request(
        RECORD, [Message(text)], fixes=math_task.STRICT, template="{question}|{answer}|{ground_truth}"
    )
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
