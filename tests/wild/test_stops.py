"""What the evaluator of April 2026 stops on: parity counts the task as wrong and names the exception."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench_wild.files import score_files, write_result_lines
from bench_wild.fixes import PARITY, STRICT
from bench_wild.score import judge
from tests.wild.scoring import ANSWER, call, perfect, record, run, session, tool


def null_arguments() -> Any:
    """A run of the first task whose call has ``null`` for arguments."""
    result = run(0, [call("read", bed="B1")], ANSWER)
    (made,) = result["inference_log"]["step_0"]["inference_output"]["tool_calls"]
    made["function"]["arguments"] = None
    return result


@pytest.mark.parametrize(
    ("result", "parity", "strict"),
    [
        pytest.param(run(0, None), "KeyError", "KeyError", id="a reply without text and calls"),
        pytest.param(run(0, [call("read", bed="B1")], ""), "KeyError", "KeyError", id="an empty text at the end"),
        pytest.param(run(0, [call("read", {"bed": "B1"})], ANSWER), "TypeError", "", id="arguments as an object"),
        pytest.param(null_arguments(), "TypeError", "", id="arguments null"),
        pytest.param(run(3, [call("prepare_to_answer")], [call("list_beds")]), "KeyError", "", id="pseudo action"),
    ],
)
def test_replies(result: Any, parity: str, strict: str) -> None:
    tools = session().tools
    found = judge(result, tools, PARITY)
    assert (found.correct, found.action, found.stops) == (False, "error", parity)
    assert judge(result, tools, STRICT).stops == strict


def test_what_strict_says_of_arguments() -> None:
    tools = session().tools
    assert judge(run(0, [call("read", {"bed": "B1"})], ANSWER), tools, STRICT).correct
    assert judge(null_arguments(), tools, STRICT).steps[0].outcomes == ("error: args invalid json format",)


def test_a_gold_tool_that_the_session_does_not_offer() -> None:
    one = session()
    tools = [tool for tool in one.tools if tool["function"]["name"] != "read"]
    for fixes in (PARITY, STRICT):
        verdict = judge(perfect()[0], tools, fixes)
        assert (verdict.correct, verdict.action, verdict.stops) == (False, "error", "KeyError")


def test_a_session_whose_id_is_no_line_of_the_data_is_scored_and_named(tmp_path: Path) -> None:
    """The original takes the number at the end of the id for the line of the data set."""
    one = session("wild_tool_bench_3")
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(record(one.id)), encoding="utf-8")
    out = tmp_path / "result.jsonl"
    write_result_lines(out, [(one, task, result) for task, result in zip(one.tasks, perfect(one.id), strict=True)], "m")
    found = score_files(tmp_path, out)
    reason = "IndexError: the id stands for line 3, and the data set has 1"
    assert found["stops"] == [{"session": one.id, "reason": reason}]
    assert found["metrics"]["Task"] == 100


@pytest.mark.parametrize("type", [["string", "null"], ["string"], {"string": 1}])
def test_a_list_of_types(type: Any) -> None:
    """The original looks it up in a table of types, and stops."""
    read = tool("read", ["bed"], bed={"type": type})
    verdict = judge(perfect()[0], [read], PARITY)
    assert (verdict.correct, verdict.action, verdict.stops) == (False, "error", "TypeError")
    assert judge(perfect()[0], [read], STRICT).correct
