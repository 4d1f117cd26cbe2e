"""The original's prediction files: which files a path stands for, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench_gta.files import prediction_files
from bench_gta.tasks import EndToEnd, StepByStep
from harness.errors import DataProblem

Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("present", "given", "expected"),
    [
        (["gta_bench.json", "gta_bench_0.json"], "", ["gta_bench.json"]),
        (["gta_bench_0.json", "gta_bench_1.json", "gta_bench_3.json"], "", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench_0.json", "gta_bench_1.json"], "gta_bench_1.json", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench_0.json", "gta_bench_1.json"], "gta_bench.json", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench.json", "gta_bench_0.json"], "gta_bench.json", ["gta_bench.json"]),
        (["other.json"], "other.json", ["other.json"]),
        (["gpt_4.json"], "gpt_4.json", ["gpt_4.json"]),
    ],
)
def test_files_behind_a_path(present: list[str], given: str, expected: list[str], tmp_path: Path) -> None:
    for name in present:
        (tmp_path / name).write_text("{}")
    assert [file.name for file in prediction_files(tmp_path / given)] == expected


@pytest.mark.parametrize("given", ["", "gta_bench.json", "x_4.json"])
def test_no_predictions(given: str, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="holds no predictions"):
        prediction_files(tmp_path / given)


def entry(dialogs: list[Any]) -> dict[str, Any]:
    turns = [turn for turn in dialogs if turn["role"] == "assistant"]
    return {"gold": turns, "prediction": turns, "origin_prompt": [], "steps": []}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "one JSON object"),
        ("{", "cannot be read as JSON"),
        ({"0": {}}, "entry 0 must be an object with the lists"),
        ({"0": {"gold": [], "prediction": []}}, "holds 1 predictions and .* 3 samples"),
        (
            {str(n): {"gold": [{"tool_calls": []}], "prediction": [{"tool_calls": []}]} for n in range(3)},
            "entry 0: its records have an unknown shape",
        ),
    ],
)
def test_what_is_refused(content: Any, told: str, write: Write, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DataProblem, match=told):
        StepByStep().score_files(write(), file, scoring="parity", similarity="trigram")


def test_the_result_names_the_evaluators_keys_and_the_columns(write: Write, samples: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(json.dumps({str(number): entry(sample["dialogs"]) for number, sample in enumerate(samples.values())}))
    result = StepByStep().score_files(write(), file, scoring="parity", similarity="trigram")
    assert list(result) == ["metrics", "columns", "samples"]
    assert list(result["metrics"]) == ["inst_align", "tool_acc", "arg_acc", "answer_acc", "tool_call", "tool_call_error"]
    assert (result["columns"]["ToolAcc"], result["columns"]["ToolCalls"]) == (100, 5)
    # the gold text "It is $42." does not satisfy its own white list: "$" is no word character
    assert [(sample["id"], sample["passed"]) for sample in result["samples"]] == [("3", False), ("5", True), ("9", True)]
    assert json.dumps(result)


def test_published_rows_carry_the_columns_of_their_task() -> None:
    step, e2e = StepByStep().reference_rows(), EndToEnd().reference_rows()
    assert len(step) == len(e2e) == 42
    best = next(row for row in e2e if row["model"] == "gpt-4-1106-preview")
    assert (best["AnsAcc"], best["AnsAcc+I"]) == (46.59, 44.9)
    assert set(step[0]) == {"edition", "model", *StepByStep.published}
    assert set(e2e[0]) == {"edition", "model", *EndToEnd.published}
