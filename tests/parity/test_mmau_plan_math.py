"""Apple MMAU's DAG QA and mathematics metrics on their golden vectors; the grader's replies are canned."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from bench_mmau import mathematics as math_task
from bench_mmau.fixes import PARITY, STRICT, Fixes
from bench_mmau.metrics import RecordVerdict
from bench_mmau.replies import NotScorable, ReplyMessage, read
from bench_mmau.tool_use import score as plan
from tests.every import every
from tests.parity.golden import cases, met, needs
from tests.parity.mmau_metrics import math_metric, tool_use_plan
from tests.parity.mmau_vectors import EXACT, REFUSED, Canned, client, holds_pieces, same_requests

pytestmark = needs("mmau")


# -- DAG QA


def plan_metric(case: Mapping[str, Any]) -> dict[str, float]:
    return tool_use_plan(
        [plan.judge_plan(record, read(record["response"], client(case))) for record in case["input"]["responses"]]
    )


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
    assert plan.chosen_plan(text, fixes=STRICT) == strict


def test_plan_under_strict() -> None:
    assert plan.judge_plan({"target_plan_number": "3"}, [ReplyMessage("Chosen Plan: 3")], fixes=STRICT).passed
    assert plan.judge_plan({"target_plan_number": 3}, [ReplyMessage(None)], fixes=STRICT).labels == ("format_error",)
    for record in ({}, {"target_plan_number": "three"}):
        with pytest.raises(NotScorable, match="an integer is needed"):
            plan.judge_plan(record, [ReplyMessage("Chosen Plan: 3")], fixes=STRICT)


@pytest.mark.parametrize("fixes", [PARITY, STRICT])
def test_a_plan_number_of_too_many_digits_is_one_format_error(fixes: Fixes) -> None:
    """Python converts no number of more than 4,300 digits."""
    found = plan.judge_plan({"target_plan_number": 3}, [ReplyMessage("Chosen Plan: " + "3" * 5000)], fixes=fixes)
    assert (found.values, found.labels) == ({"right": 0, "format_error": 1}, ("format_error",))


@every("case", cases("mmau", "tool_use_plan.json"))
def test_plan(case: Mapping[str, Any]) -> None:
    assert case["metric"] == "tool_use_plan"
    met(case, lambda: plan_metric(case), *REFUSED, within=EXACT)


# -- mathematics


def graded(
    record: Mapping[str, Any], messages: Sequence[ReplyMessage], grader: Callable[[Any], str | None]
) -> RecordVerdict:
    request = math_task.grader_request(record, messages)
    return math_task.graded(record, grader(request["messages"]) or "") if request else math_task.unanswered()


def judged(case: Mapping[str, Any], grader: Canned) -> list[RecordVerdict]:
    records = case["input"]["responses"]
    return [graded(record, read(record["response"], client(case)), grader.text) for record in records]


@every("case", cases("mmau", "math.json"))
def test_math(case: Mapping[str, Any]) -> None:
    assert case["metric"] == "math"
    grader = Canned(case, "grader")
    if not met(case, lambda: math_metric(judged(case, grader)), *REFUSED, within=EXACT):
        return
    assert grader.left() == []
    records = case["input"]["responses"]
    made = [math_task.grader_request(record, read(record["response"], client(case))) for record in records]
    requests = [request for request in made if request]
    assert [request["messages"] for request in requests] == grader.asked
    assert all("response" not in request for request in requests)
    same_requests(case, "grader", requests)
    holds_pieces(case, grader.asked)


@every("case", cases("mmau", "math_parts.json"))
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
        RECORD, [ReplyMessage(text)], fixes=STRICT, template="{question}|{answer}|{ground_truth}"
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
    assert math_task.graded(RECORD, reply, fixes=STRICT).passed is strict


def test_an_unanswered_problem_is_wrong_under_strict_and_an_ungradable_one_leaves_the_denominator() -> None:
    found = {
        fixes: [
            math_task.graded(RECORD, "correct", fixes=fixes),
            math_task.graded(RECORD, "hm", fixes=fixes),
            math_task.unanswered(fixes),
            math_task.unanswered(fixes),
        ]
        for fixes in (PARITY, STRICT)
    }
    assert [one.passed for one in found[STRICT]] == [True, None, False, False]
    assert math_metric(found[PARITY])["accuracy"] == 1
    assert math_metric(found[STRICT])["accuracy"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("text", ["no answer", None])
def test_an_answer_without_the_marker_is_not_sent_to_the_grader(text: str | None) -> None:
    assert math_task.grader_request(RECORD, [ReplyMessage(text)], fixes=STRICT) is None


@pytest.mark.parametrize("field", ["raw_problem", "gt_answer"])
def test_a_record_without_problem_or_answer_is_refused(field: str) -> None:
    record = {name: value for name, value in RECORD.items() if name != field}
    with pytest.raises(NotScorable, match=field):
        math_task.grader_request(record, [ReplyMessage("#ANSWER#: 2")])
