"""Apple MMAU's bundled records: their shape, their variety, and that the gold gets full marks."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
import pytest

from agentgauge.core.chat import ChatRequest
from bench_mmau import oracle, replies
from bench_mmau.contests.score import extract_code, output_match, parse_answer, understand_match
from bench_mmau.task import TASKS
from bench_mmau.tool_use.calls import compare_calls
from bench_mmau.tool_use.score import judge_plan
from tests.every import every

MINI = Path(__file__).parents[2] / "bench_mmau" / "mini"
FILES = {
    path.name.removesuffix("_20240712.jsonl"): [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for path in MINI.glob("*.jsonl")
}
EARLIER_CALLS = {"single_step": 0, "parallel": 0, "multi_step_double": 1, "multi_step_triple": 2, "self_correct": 1}
TOOL_USE = [record for name in EARLIER_CALLS for file in FILES if file.endswith(name) for record in FILES[file]]
RULES = [rule for record in TOOL_USE for rule in record.get("target_message_match_rules", [])]
REQUEST = ChatRequest(())
tool_use = every("record", TOOL_USE, ids=lambda record: record["id"])


def calls(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    functions = [call["function"] for call in message.get("tool_calls", [])]
    decoded = [
        one["arguments"] if type(one["arguments"]) is dict else json.loads(one["arguments"]) for one in functions
    ]
    return list(zip((one["name"] for one in functions), decoded, strict=True))


@every("task", TASKS, ids=lambda task: task.name)
def test_every_task_has_at_least_twelve_sound_records(task: Any) -> None:
    assert len(task.data.index(MINI).rows) >= 12
    assert task.data.check(MINI) == ([], [])


def test_ids_are_different() -> None:
    assert len({record["id"] for records in FILES.values() for record in records}) == 291


@tool_use
def test_tool_use_has_the_official_shape(record: dict[str, Any]) -> None:
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in record["tools"]}
    assert max(map(len, schemas)) <= 32  # what the Gemini client of the original keeps of a name [Q25]
    waiting: list[str] = []
    for message in (*record["messages"], record["target_message"]):
        for name, arguments in calls(message):
            if message is record["target_message"] or not record["id"].startswith("retry-"):
                jsonschema.Draft202012Validator(schemas[name]).validate(arguments)
        if message["role"] == "tool":
            assert waiting.pop(0) == message["tool_call_id"]
        waiting += [call["id"] for call in message.get("tool_calls", [])]
    assert record["messages"][-1]["role"] in ("user", "tool")


@pytest.mark.parametrize("kind", EARLIER_CALLS)
def test_steps_and_numbers_of_calls(kind: str) -> None:
    (records,) = (records for name, records in FILES.items() if name.endswith(kind))
    earlier = {sum("tool_calls" in message for message in record["messages"]) for record in records}
    counts = {len(calls(record["target_message"])) for record in records}
    assert earlier == {EARLIER_CALLS[kind]} and (counts >= {2, 3} if kind == "parallel" else 1 in counts)


@tool_use
def test_the_oracle_is_right_and_a_changed_call_is_wrong(record: dict[str, Any]) -> None:
    target, said = replies.format_target(record["target_message"]), oracle.tool_call(record, REQUEST)
    if not target.calls:
        assert said.text == target.content and not said.tool_calls
        return
    rules = record.get("target_message_match_rules")
    predicted = [replies.ReplyCall(call.name, call.arguments, "x") for call in said.tool_calls]
    assert compare_calls(predicted, target.calls, rules)
    other = replies.ReplyCall(target.calls[0].name, json.dumps({"surely_unknown": 1}), "x")
    assert not compare_calls([other, *predicted[1:]], target.calls, rules)


def test_every_rule_and_every_type_of_argument_occurs() -> None:
    kinds = {kind for rule in RULES for wanted in rule.get("arguments", {}).values() for kind in wanted}
    assert kinds == {"regex_match", "multi_choices", "date_match"} and {} in RULES
    assert any("target_message_match_rules" not in record for record in TOOL_USE)
    values = [value for one in TOOL_USE for _, found in calls(one["target_message"]) for value in found.values()]
    assert {type(value) for value in values} == {str, int, float, bool, list, dict, type(None)}
    assert len({name for record in TOOL_USE for name, _ in calls(record["target_message"])}) >= 40


@every("name", ["with_reasoning", "no_reasoning"])
def test_one_plan_is_right(name: str) -> None:
    records = FILES[f"tool_use_plan_{name}_all"]
    assert len({record["target_plan_number"] for record in records}) >= 5
    for record in records:
        (message,) = record["messages"]
        numbers = [int(found) for found in re.findall(r"^Plan (\d+):", message["content"], re.MULTILINE)]
        assert numbers == list(range(1, len(numbers) + 1)) and 2 <= len(numbers) <= 8
        for number in numbers:
            reply = replies.ReplyMessage(f"Chosen Plan: {number}")
            assert judge_plan(record, [reply]).passed == (number == record["target_plan_number"])


def printed(program: str, given: str) -> str:
    output = io.StringIO()
    with patch("sys.stdin", io.StringIO(given)), contextlib.redirect_stdout(output):
        exec(program, {"__name__": "__main__"})
    return output.getvalue()


@every("name", ["regular", "plan", "solve"])
def test_solutions_print_what_the_tests_expect(name: str) -> None:
    records, groups = FILES[f"code_contests_{name}"], ("public_tests", "private_tests", "generated_tests")
    generated = [record.get("generated_tests") for record in records]
    assert None in generated and {"input": [], "output": []} in generated
    for record in records:
        program = extract_code(oracle.program(record, REQUEST).text)
        for tests in (record[group] for group in groups if group in record):
            for given, expected in zip(tests["input"], tests["output"], strict=True):
                assert output_match(printed(program, given), expected), record["id"]


def test_parsing_and_mathematics_are_answered_by_their_gold() -> None:
    for record in FILES["code_contests_understand"]:
        answer = parse_answer(oracle.parsed_output(record, REQUEST).text)
        assert understand_match(answer, record["target_output"])
    mathematics = FILES["math_standard"] + FILES["math_understand"]
    assert len({record["subject"] for record in mathematics}) >= 40
    for record in mathematics:
        assert record["raw_problem"] in record["messages"][0]["content"]
        assert parse_answer(oracle.mathematics(record, REQUEST).text).strip() == record["gt_answer"]


def test_notebooks_have_texts_and_pictures() -> None:
    records = FILES["code_kaggle"]
    assert Counter(record["image_expected"] for record in records) == {False: 11, True: 7}
    assert {letter for record in records for letter in record["gt_answers"]} == set("ABCDE")
    for record in records:
        outputs = [output.get("data", {}) for output in record["last_cell"]["outputs"]]
        drawn = [base64.b64decode(data["image/png"]) for data in outputs if "image/png" in data]
        assert bool(drawn) == record["image_expected"] and all(data.startswith(b"\x89PNG") for data in drawn)
        for text, letter in zip(record["questions"], record["gt_answers"], strict=True):
            assert f"\n{letter}. " in text
