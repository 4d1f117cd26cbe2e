"""The earlier release's CSV: one row per task."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_wild.data import build_session
from bench_wild.files import COLUMNS, row, write_csv
from bench_wild.score import score_task
from tests.docs.pages import rows, text
from tests.wild.scoring import ANSWER, GOLD, TYPES, ask, call, final, node, record, run, session, tool

LABELS = ("predict_label", "param_predict_label", "predict_is_optimal")
BOTH = [call("read", bed="B1"), call("read", bed="B2")]


def rows_of(path: Path, position: int, result: Any, evaluator: Any = "2025") -> list[dict[str, str]]:
    one = session()
    score = score_task(one, one.tasks[position], result, evaluator=evaluator)
    write_csv(path / "rows.csv", [(one, one.tasks[position], result, score)])
    with (path / "rows.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def row_of(position: int, result: Any, evaluator: Any = "2025") -> dict[str, Any]:
    one = session()
    score = score_task(one, one.tasks[position], result, evaluator=evaluator)
    return row(one, one.tasks[position], result, score)


def test_columns_are_the_earlier_release_s_and_then_ours() -> None:
    assert ",".join(COLUMNS) == (
        "id,idx,type,single_type,turn_type,turn_subtype,messages_length,tools,messages,answer_list,answer_result,"
        "predict_result,complete_rate,error_type,param_predict_label,predict_is_optimal,predict_label,sample,labels"
    )


def test_the_documented_columns_are_those_of_the_file() -> None:
    table = rows(text("docs/reports.md"), "column", "content")
    assert [name.strip("` ") for line in table for name in line[0].split(",")] == list(COLUMNS)


def test_a_row_of_a_right_task() -> None:
    found = row_of(2, run(2, "Which bed?", [call("plant", bed="B4", rows=2.5)], ANSWER))
    assert (found["id"], found["idx"], found["sample"]) == ("wild_tool_bench_0", 2, "wild_tool_bench_0-t3")
    assert (found["type"], found["single_type"]) == (TYPES, "Clarify")
    assert (found["turn_type"], found["turn_subtype"]) == ("True", "Partial Information")
    roles = [message["role"] for message in found["messages"]]
    assert roles[-5:] == ["assistant", "user", "assistant", "tool", "assistant"]
    assert found["messages"][-1] == {"role": "assistant", "content": ANSWER}
    assert found["messages"][-6] == {"role": "user", "content": "Plant something."}
    # as upstream, whose history has the results of one reply in one message; here the second task's are two
    assert (found["messages_length"], len(found["messages"])) == (11, 12 + 5)
    assert "system" not in roles
    assert found["answer_list"] == [{"idx": place, **node} for place, node in enumerate(GOLD[2])]
    assert [one["step"] for one in found["answer_result"]] == [0, 1, 2]
    plant = {"name": "plant", "arguments": {"bed": "B4", "rows": 2.5}}
    assert found["answer_result"][1]["answer_function_list"] == {"action": [plant]}
    assert found["answer_result"][0]["answer_function_list"]["user_input"] == "B4"
    said = [(one["step"], one["content"]) for one in found["predict_result"]]
    assert said == [(0, "Which bed?"), (1, None), (2, ANSWER)]
    assert (found["complete_rate"], found["error_type"], found["labels"]) == (None, None, [])
    assert [found[name] for name in LABELS] == ["correct", "correct", "True"]


@pytest.mark.parametrize(
    ("position", "replies", "evaluator", "expected"),
    [
        # steps that are done, of a task with calls in a row, and not their share
        (1, [BOTH, "done"], "2025", (2, "call the wrong function", "error", "error")),
        (0, [[call("read", bed=1)], ANSWER], "2025", (None, "type error", "error", "correct")),
        (0, ["I will not."], "2025", (None, "reject tool calling", "error", "error")),
        (0, [[call("read", bed="B9")], ANSWER], "2026", (None, None, "error", "correct")),
    ],
)
def test_a_row_of_a_wrong_task(position: int, replies: list[Any], evaluator: str, expected: tuple[Any, ...]) -> None:
    found = row_of(position, run(position, *replies), evaluator)
    names = ("complete_rate", "error_type", "param_predict_label", "predict_label")
    assert tuple(found[name] for name in names) == expected
    assert found["labels"]


def test_first_tasks_are_pseudo_multi_turn() -> None:
    found = row_of(0, run(0, [call("read", bed="B1")], ANSWER))
    assert (found["turn_type"], found["turn_subtype"], found["messages_length"]) == ("False", None, 1)


def test_a_failed_session_has_a_row_without_replies() -> None:
    found = row_of(0, "Error during inference: the session failed")
    assert (found["messages"], found["messages_length"], found["predict_result"]) == (None, None, [])
    assert [found[name] for name in LABELS] == ["error", "error", "False"]


@pytest.mark.parametrize("reply", ["=1+1", "+1", "-1", "@SUM(A1)", 'a "b", c\nd', "\ud800", "", None])
def test_what_a_model_wrote_is_json_in_its_cell(reply: str | None, tmp_path: Path) -> None:
    (found,) = rows_of(tmp_path, 3, run(3, reply))
    assert json.loads(found["predict_result"]) == [{"step": 0, "content": reply, "tool_calls": None}]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in found.values())
    assert found["turn_subtype"] == "Long-Range Dependency"
    assert (found["complete_rate"], found["idx"]) == ("null", "3")


def test_finished_steps_are_a_whole_number(tmp_path: Path) -> None:
    (found,) = rows_of(tmp_path, 1, run(1, BOTH, "done"))
    assert found["complete_rate"] == "2"


def test_arguments_are_as_the_earlier_evaluator_leaves_them() -> None:
    """It decodes those that it scores, in place. Of a task with a wrong action it scores none."""
    made = row_of(0, run(0, [call("read", bed="B1")], ANSWER))["predict_result"]
    assert [one["tool_calls"] and one["tool_calls"][0]["function"] for one in made] == [
        {"name": "read", "arguments": {"bed": "B1"}},
        None,
    ]
    wrong = row_of(0, run(0, [call("list_beds")]))["predict_result"]
    assert wrong[0]["tool_calls"][0]["function"] == {"name": "list_beds", "arguments": "{}"}


def test_arguments_before_those_that_cannot_be_scored_are_decoded() -> None:
    """As upstream, which finds only then that the calls are not those of the gold. Their numbers of names are equal."""
    nodes = [node("read", bed="B1"), ask(0), node("list_beds", [0]), final(1, 2)]
    one = build_session({**record(), "english_answer_list": [nodes, *GOLD[1:]]})
    result = run(0, [call("read", bed="B1")], ANSWER)
    result["inference_log"]["step_1"]["inference_output"]["tool_calls"] = [
        {"id": "c", "function": {"name": "plant", "arguments": "{}"}}
    ]
    score = score_task(one, one.tasks[0], result, evaluator="2025")
    made = row(one, one.tasks[0], result, score)["predict_result"]
    assert [step["tool_calls"][0]["function"]["arguments"] for step in made] == [{"bed": "B1"}, "{}"]
    assert not score.passed


def test_of_a_type_that_names_several_the_first_is_scored() -> None:
    """As upstream, where a request changes the tools of the data; of a run that was asked as in 2026 none does."""
    types = {"type": "string|null"}
    offered = [tool("read", bed=types, deep={"type": "array", "items": {"type": "object", "properties": {"a": types}}})]
    one = build_session({**record(), "english_tools": offered})
    earlier = {**run(0, [call("read", bed="B2 B3")], ANSWER), "release": "2025"}
    found = {}
    for release, result in (("2025", earlier), ("2026", run(0, [call("read", bed="B2 B3")], ANSWER))):
        score = score_task(one, one.tasks[0], result, evaluator="2025")
        cells = row(one, one.tasks[0], result, score)
        properties = cells["tools"][0]["function"]["parameters"]["properties"]
        kinds = (properties["bed"]["type"], properties["deep"]["items"]["properties"]["a"]["type"])
        found[release] = (cells["error_type"], cells["predict_label"], *kinds)
    assert found == {
        "2025": ("param value error", "correct", "string", "string"),
        "2026": ("redundant tool calling", "error", "string|null", "string|null"),
    }
    assert one.tools == tuple(offered)


def test_a_pseudo_action_that_is_called_has_no_observation() -> None:
    found = row_of(3, run(3, [call("prepare_to_answer", answer_type="tool")], [call("list_beds")]))
    prepare = {"name": "prepare_to_answer", "arguments": {"answer_type": "tool"}}
    assert found["answer_result"] == [{"step": 0, "answer_function_list": {"action": [prepare]}}]
    (said,) = row_of(3, run(3, "Hi!"))["answer_result"]
    assert said["answer_function_list"] == {"action": [prepare], "observation": ANSWER}


def test_a_first_task_that_is_called_multi_turn() -> None:
    one = session()
    first = replace(one.tasks[0], subtype="Partial Information")
    result = run(0, [call("read", bed="B1")], ANSWER)
    found = row(one, first, result, score_task(one, first, result, evaluator="2025"))
    assert (found["turn_type"], found["turn_subtype"]) == ("True", "Partial Information")
