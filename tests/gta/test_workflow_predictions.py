"""Prediction files: ours, the original's, and damaged ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import DataProblem
from bench_gta.workflow import run

DIALOGS = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "ref"},
    {"role": "user", "content": "two"},
]
TURNS = [[{"role": "tool", "content": "o/a.png"}], [{"role": "assistant", "content": "done"}]]
SOUND = {"full_tree": [], "origin_prompt": ["q"], "assistant_outputs": [[]]}


def test_a_record_of_ours_names_its_task() -> None:
    record = run.record(DIALOGS, TURNS, [{"id": "1"}], task_id="7")
    assert (record["task_id"], record["attached_files"], record["origin_prompt"]) == ("7", ["o/a.png"], ["one", "two"])
    assert record["gold"] == [[DIALOGS[1]], []]


def test_turns_that_were_not_run_are_not_in_the_record() -> None:
    record = run.record(DIALOGS, TURNS[:1], [])
    assert (record["origin_prompt"], record["attached_files"]) == (["one"], ["o/a.png"])


def test_records_are_read_in_the_order_of_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({str(place): {**SOUND, "origin_prompt": str(place)} for place in (10, 2, 0)}))
    assert [record["origin_prompt"] for record in run.read_predictions(path)] == ["0", "2", "10"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "must hold one JSON object"),
        ('{"0": {', "is damaged"),
        ({"x": SOUND}, "the key 'x' must be a position such as '0'"),
        ({"²": SOUND}, "the key '²' must be a position"),
        ({"9" * 5000: SOUND}, "must be a position"),
        ({"1": SOUND, "01": SOUND}, "the position 1 occurs twice"),
        ({"0": []}, "record '0': must be an object, not list"),
        ({"0": {"prediction": []}}, "record '0': has no 'full_tree'"),
        ({"0": {"full_tree": [], "origin_prompt": "q"}}, "record '0': has no 'assistant_outputs'"),
        ({"0": {**SOUND, "assistant_outputs": "x"}}, "record '0', assistant_outputs: must be a list"),
        ({"0": {**SOUND, "prediction": {}}}, "record '0', prediction: must be a list"),
        ({"0": {**SOUND, "origin_prompt": None}}, "record '0', origin_prompt: must be"),
        ({"0": {**SOUND, "attached_files": 3}}, "record '0', attached_files: must be a list of paths, or one path"),
        ({"0": {**SOUND, "delivered": None}}, "record '0', delivered: must be a list of paths, or one path"),
        ({"0": {**SOUND, "delivered": [3]}}, "record '0', delivered: must be a list of paths, or one path"),
    ],
)
def test_a_damaged_file_is_told(content: Any, told: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(DataProblem, match=told) as problem:
        run.read_predictions(path)
    assert str(path) in str(problem.value)
