"""Result files of the original in both releases, and the earlier release's table of details."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from agentgauge.core.errors import DataProblem
from bench_wild.data import RecordProblem, build_session
from bench_wild.files import COLUMNS, RESULTS, row, score_files, write_csv, write_result_lines
from bench_wild.options import WildOptions
from bench_wild.score import score_task
from tests.docs.pages import rows, text
from tests.wild.scoring import ANSWER, GOLD, TYPES, ask, call, final, node, perfect, record, run, session, tool

EARLIER = WildOptions(evaluator="2025")
IDS = ("wild_tool_bench_0", "wild_tool_bench_1")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return lines(tmp_path / "Wild-Tool-Bench.jsonl", *map(record, IDS))


def lines(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), encoding="utf-8")
    return path


def results(*ids: str) -> list[Any]:
    return [
        (session(id), task, result) for id in ids for task, result in zip(session(id).tasks, perfect(id), strict=True)
    ]


def test_what_is_written_can_be_scored(data: Path, tmp_path: Path) -> None:
    out = tmp_path / RESULTS
    assert write_result_lines(out, results(*reversed(IDS)), "greenhouse-1") == []
    written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(line["id"], line["model_name"], len(line["result"])) for line in written] == [
        (id, "greenhouse-1", 4) for id in IDS
    ]
    sent = written[0]["result"][1]["inference_log"]["step_0"]["inference_input"]
    assert sent["messages"][0] == {"role": "system", "content": "Current Date: 2024-05-01 09:12:44 Wednesday"}
    assert sent["tools"][1]["function"]["parameters"]["properties"]["rows"] == {"type": "number"}
    for predictions in (out, tmp_path):
        for evaluator in ("2026", "2025"):
            found = score_files(data, predictions, options=WildOptions(evaluator=evaluator))  # type: ignore[arg-type]
            assert (found["metrics"]["Task"], found["metrics"]["Session"], found["stops"], found["left_out"]) == (
                100,
                100,
                [],
                [],
            )
            assert [one["id"] for one in found["samples"]][:2] == ["wild_tool_bench_0-t1", "wild_tool_bench_0-t2"]
            assert ("official" in found) == (evaluator == "2026")
    assert score_files(tmp_path, out)["official"]["model_name"] == "greenhouse-1"


def test_failures_lose_their_session_and_gaps_are_left_out(data: Path, tmp_path: Path) -> None:
    given = results(*IDS)
    out = tmp_path / "result.jsonl"
    failed = [(one, task, "http 500" if place == 2 else result) for place, (one, task, result) in enumerate(given)]
    assert write_result_lines(out, failed, "m") == []
    assert json.loads(out.read_text().splitlines()[0]) == {"id": IDS[0], "result": "Error during inference: http 500"}
    found = score_files(data, out)
    assert found["stops"] == [
        {"session": IDS[0], "reason": "TypeError: the session failed (Error during inference: http 500)"}
    ]
    assert (found["metrics"]["Task"], found["metrics"]["Session"]) == (50, 50)
    assert write_result_lines(out, [*given[:1], *given[2:]], "m") == [IDS[0]]
    assert write_result_lines(out, given[:3], "m") == []
    assert score_files(data, out)["official"]["total_info"]["task"]["total_count"] == 3


def test_repeated_sessions_count_twice_and_empty_ones_as_correct(data: Path, tmp_path: Path) -> None:
    out = lines(
        tmp_path / "r.jsonl",
        {"id": IDS[0], "result": []},
        {"id": IDS[1], "result": [run(0, "no")]},
        {"id": IDS[1], "result": []},
    )
    official = score_files(data, out)["official"]
    assert official["total_info"]["session"] == {"accuracy": 2 / 3, "correct_count": 2, "total_count": 3}
    assert score_files(data, out, scoring="strict")["official"]["total_info"]["session"]["total_count"] == 0


def test_where_the_published_evaluator_stops_is_reported(data: Path, tmp_path: Path) -> None:
    out = lines(tmp_path / "r.jsonl", {"id": IDS[0], "result": [run(0, None)]})
    (stop,) = score_files(data, out)["stops"]
    assert stop["session"] == IDS[0]
    assert "stops on this task (KeyError)" in stop["reason"]
    other = lines(tmp_path / "Wild-Tool-Bench.jsonl", record(IDS[1]), record(IDS[0]))
    assert "another session's gold" in score_files(other, out)["stops"][0]["reason"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"id": "wild_tool_bench_7", "result": []}, "no session 'wild_tool_bench_7'"),
        ({"id": IDS[0]}, "'result' must be a list of at most 4"),
        ({"id": IDS[0], "result": [{}] * 5}, "'result' must be a list of at most 4"),
        (
            {"id": IDS[0], "result": [{"action_name_label": "correct"}]},
            "task 1: the result has an unknown shape (KeyError: 'inference_log')",
        ),
        (
            {"id": IDS[0], "result": [{"action_name_label": "correct", "inference_log": {"step_x": {}}}]},
            "unknown shape",
        ),
        ({"id": 3}, "must be an object with the string 'id'"),
        ([], "must be an object with the string 'id'"),
        ({"id": IDS[0], "predict_result": []}, "give --wild-evaluator 2025"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(data: Path, tmp_path: Path, entry: Any, message: str) -> None:
    out = lines(tmp_path / "r.jsonl", entry)
    with pytest.raises(DataProblem) as found:
        score_files(data, out)
    assert message in str(found.value)
    assert str(out) in str(found.value)


def test_files_that_are_none_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="holds no sessions"):
        score_files(tmp_path / "nowhere", data)
    with pytest.raises(DataProblem, match="cannot be read"):
        score_files(data, tmp_path / "nowhere.jsonl")
    (tmp_path / "r.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(DataProblem, match="line 1 is not JSON"):
        score_files(data, tmp_path / "r.jsonl")


def test_invalid_sessions_can_be_left_out(tmp_path: Path) -> None:
    bad = {**record(IDS[0]), "english_tasks": ["one"]}
    file = lines(tmp_path / "Wild-Tool-Bench.jsonl", bad, record(IDS[1]))
    out = tmp_path / RESULTS
    write_result_lines(out, results(*IDS), "m")
    with pytest.raises(RecordProblem):
        score_files(file, out)
    found = score_files(file, out, options=WildOptions(skip_invalid=True))
    assert (found["left_out"], len(found["samples"]), found["stops"]) == ([IDS[0]], 4, [])


# -- the earlier release


def prediction(position: int, replies: list[Any], **more: Any) -> dict[str, Any]:
    """A line of the earlier release: one task."""
    steps = [
        {
            "step": place,
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": n, "arguments": a}} for n, a in reply],
        }
        if isinstance(reply, list)
        else {"step": place, "content": reply, "tool_calls": None}
        for place, reply in enumerate(replies)
    ]
    return {
        "id": IDS[0],
        "idx": position,
        "predict_result": steps,
        "predict_label": "correct",
        "predict_is_optimal": "True",
        **more,
    }


READ = [call("read", bed="B1")]


def test_predictions_of_the_earlier_release(data: Path, tmp_path: Path) -> None:
    out = lines(
        tmp_path / "predict.jsonl",
        prediction(0, [READ, ANSWER]),
        prediction(0, ["no"], predict_label="error"),  # a line of a task that is known is left out
        prediction(3, [[call("list_beds")]], predict_label="error", predict_is_optimal="False"),
    )
    found = score_files(data, out, options=EARLIER)
    assert [(one["id"], one["passed"], one["labels"]) for one in found["samples"]] == [
        ("wild_tool_bench_0-t1", True, []),
        ("wild_tool_bench_0-t4", False, ["call_function_without_reject"]),
    ]
    assert (found["metrics"]["Task"], found["metrics"]["Session"], found["metrics"]["Wrong Refusal"]) == (50, 0, 100)


def test_gold_and_tools_of_a_line_go_before_the_data_s(data: Path, tmp_path: Path) -> None:
    answers = [
        {"action": {"name": "dig", "arguments": {}}, "dependency_list": []},
        {"action": {"name": "prepare_to_answer", "arguments": {}}, "dependency_list": [0]},
    ]
    line = prediction(
        0, [[("dig", "{}")], ANSWER], answer_list=answers, tools=[{"function": {"name": "dig", "parameters": {}}}]
    )
    assert score_files(data, lines(tmp_path / "p.jsonl", line), options=EARLIER)["metrics"]["Task"] == 100


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("2025-02-11_ab12cd_xlam_en.jsonl", True),
        ("xlam-2-8b.jsonl", True),
        ("xlam2-8b.jsonl", False),
        ("xlam/predict.jsonl", True),
        ("xlam/xlam2.jsonl", False),
        ("xLAM-7b-r.jsonl", False),
        ("qwen.jsonl", False),
    ],
)
def test_xlam_1_needs_no_final_answer(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, passes: bool
) -> None:
    """As upstream, by the path as it is given: ``xlam`` is in it, and ``xlam2`` is not."""
    monkeypatch.chdir(tmp_path)
    Path("xlam").mkdir()
    out = lines(Path(name), prediction(0, [READ], predict_label="error"))
    assert score_files(data, out, options=EARLIER)["samples"][0]["passed"] == passes


NO_REPLY = {"step": 0, "content": None, "tool_calls": None}


@pytest.mark.parametrize(
    ("name", "task", "session"),
    [
        ("2025-02-11-10:28:34_61612c_deepseekr1_en_remove_role_contain_context.jsonl", 50, 50),
        ("2025-02-11-11:49:57_b6a245_deepseekv3_en_remove_role_contain_context.jsonl", 50, 50),
        ("2025-02-12-10:28:34_61612c_deepseekr1_en_remove_role_contain_context.jsonl", 20, 0),
    ],
)
def test_two_published_files_leave_out_what_was_not_answered(
    data: Path, tmp_path: Path, name: str, task: float, session: float
) -> None:
    out = lines(
        tmp_path / name,
        prediction(0, [READ, ANSWER]),
        prediction(1, [], predict_label="error") | {"predict_result": [NO_REPLY]},
        prediction(1, ["no"], predict_label="error"),  # a second line of a task is left out all the same
        prediction(2, [], predict_label="error") | {"predict_result": [{"error": "time out"}]},  # without fields
        prediction(3, [[("filter_by_prompt", "{}")]], predict_label="error"),
        prediction(0, ["I will not."], predict_label="error", id=IDS[1]),
    )
    found = score_files(data, out, options=EARLIER)["metrics"]
    assert (found["Task"], found["Session"]) == (task, session)


@pytest.mark.parametrize(
    "call", [{}, {"function": None}, {"function": {}}, {"function": {"name": None}}, None, "read"], ids=repr
)
def test_calls_that_lack_something_are_wrong_and_not_damaged(data: Path, tmp_path: Path, call: Any) -> None:
    line = {**prediction(0, [READ], predict_label="error"), "predict_result": [{"content": None, "tool_calls": [call]}]}
    (sample,) = score_files(data, lines(tmp_path / "p.jsonl", line), options=EARLIER)["samples"]
    assert not sample["passed"]


@pytest.mark.parametrize(("optimal", "share"), [("True", 100), ("False", 0), (True, 0), (None, 0)])
def test_whether_a_path_is_optimal_is_a_text(data: Path, tmp_path: Path, optimal: Any, share: float) -> None:
    """As upstream, whose files say so in a text."""
    replies: list[Any] = [[call("read", bed="B1"), call("read", bed="B2")], [call("plant", bed="B1", rows=3.0)], ANSWER]
    line = prediction(1, replies, predict_is_optimal=optimal)
    assert score_files(data, lines(tmp_path / "p.jsonl", line), options=EARLIER)["metrics"]["Optimal"] == share


def test_damaged_predictions_are_refused(data: Path, tmp_path: Path) -> None:
    out = lines(tmp_path / "p.jsonl", prediction(0, [READ]), {"id": IDS[0], "idx": 9, "predict_result": []})
    with pytest.raises(DataProblem, match=r"line 2: the prediction has an unknown shape"):
        score_files(data, out, options=EARLIER)


HALF = "\ud83d"  # of a surrogate pair: JSON can hold it, and UTF-8 cannot


def test_half_a_surrogate_pair_is_written_and_scored(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = session(IDS[0])
    made = [run(0, [call("read", bed=HALF)], HALF), *perfect(IDS[0])[1:]]
    out = tmp_path / RESULTS
    assert write_result_lines(out, list(zip([one] * 4, one.tasks, made, strict=True)), "m") == []
    given = ["score", "wild", "--samples", str(data), "--predictions", str(out)]
    assert main([*given, "--json"]) == 0
    (wrong, *_) = json.loads(capsys.readouterr().out)["samples"]
    assert (wrong["passed"], HALF in wrong["explanation"]) == (False, True)
    assert main(given) == 0


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
    table = rows(text("docs/benchmarks/wild.md"), "column", "content")
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
