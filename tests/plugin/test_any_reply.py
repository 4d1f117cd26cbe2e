"""A model's reply never breaks a case and never ends a run, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from glob import escape
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.task_registry import known_tasks
from agentgauge.run.limit import limited
from tests.plugin.project import records, run_bundled, summary


def call(**fields: Any) -> dict[str, Any]:
    return {"message": {"content": None, "tool_calls": [fields]}}


FUNCTION = {"name": "Calculator", "arguments": '{"expression": "1"}'}
REPLIES: Mapping[str, Any] = {
    "a number": "42",
    "empty": "",
    "null content": {"message": {"content": None}},
    "nested brackets": "[" * 5000 + "]" * 5000,
    "a long number": "1" * 10_000,
    "a call without id": call(type="function", function=FUNCTION),
    "a call without arguments": call(id="c", type="function", function={"name": "Calculator"}),
    "nested arguments": call(
        id="c", type="function", function={**FUNCTION, "arguments": '{"expression": ' + "[" * 600 + "]" * 600 + "}"}
    ),
    "a long number in arguments": call(
        id="c", type="function", function={**FUNCTION, "arguments": '{"expression": ' + "1" * 10_000 + "}"}
    ),
    "a long number of a plan": f"Chosen Plan: {'1' * 10_000} #ANSWER#: {'1' * 10_000}",
    "a call without function": call(id="c", type="function"),
    "half a character": {"message": {"content": "\ud800"}},
}
"""Each answers every request of one sample of every task; tasks with fewer samples leave the last ones out."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any")
    replies = {
        f"{task.name}/{escape(row.id)}": [reply]
        for task in known_tasks().values()
        for row, reply in zip(
            limited(task.data.index(task.data.bundled).rows, len(REPLIES), task.data), REPLIES.values(), strict=False
        )
    }
    (folder / "script.json").write_text(json.dumps({"replies": replies}))
    run_bundled("--model=scripted:script.json", f"--limit={len(REPLIES)}", "--run-dir=run", cwd=folder)
    return folder / "run"


def test_no_case_is_broken_or_missing_and_the_report_is_written(run: Path) -> None:
    tasks = summary(run)["tasks"]
    assert set(tasks) == {name for name, task in known_tasks().items() if not task.data.in_run_folder}
    assert {name: (one["broken"], one["missing"]) for name, one in tasks.items()} == dict.fromkeys(tasks, (0, 0))
    assert all(one["planned"] >= 7 for one in tasks.values())
    assert (run / "report.html").stat().st_size > 100_000


def test_replies_on_which_the_published_evaluator_stops_are_counted(run: Path) -> None:
    stopped = {record["task"] for record in records(run) if record["score"]["stops"]}
    assert {"mmau.dag_planning", "mmau.contest_standard", "mmau.ds_e2e", "mmau.math_standard"} <= stopped
    counted = {name: one["stops"] for name, one in summary(run)["tasks"].items() if one["stops"]}
    assert set(counted) == stopped
