"""Leaderboard rows in the shapes of the published tables."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from agentgauge_reports.figures import leaderboards_of, our_figures, published_table
from agentgauge_reports.tables import rows, tables_of

from agentgauge.core.published import Published
from tests.plugin.toy import toy
from tests.reports.runs import INSTALLED, TASKS, combined_run

OURS = {
    title: [task for task in INSTALLED if task.shown.benchmark == title]
    for title in ("GTA-Atomic", "GTA-Workflow", "WildToolBench", "Apple MMAU")
}
BOARDS = [(benchmark, board) for benchmark, tasks in OURS.items() for board in leaderboards_of(tasks)]

SUMMARY = {
    "run": {
        "model": "m|1",
        "dialect": "react",
        "scoring": "parity",
        "options": {"--wild-evaluator": "2026", "--wild-language": "en"},
        "tools": {},
        "data": {
            task: {"official": False, "samples": 2, "left_out": []}
            for task in ("gta_atomic.step", "mmau.dag_reasoning")
        },
    },
    "tasks": {
        "gta_atomic.step": {
            "planned": 2,
            "missing": 0,
            "similarity": "mpnet",
            "broken": 0,
            "comparable": True,
            "metrics": {
                "InstAcc": {"value": 66.666666, "low": 60.0, "high": 70.25, "n": 2},
                "ToolAcc": {"value": None, "low": None, "high": None, "n": 0},
                "ArgAcc": {"value": 1.0, "low": None, "high": None, "n": 1},
            },
        }
    },
    "capabilities": {},
}


@pytest.fixture
def run(tmp_path) -> Path:
    for name, content in (("summary", SUMMARY), ("run", {}), ("planned", [])):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "records.jsonl").touch()
    return tmp_path


def test_csv_has_the_published_columns_in_their_order_and_our_row_first(run):
    first = rows(run, "csv", tasks=TASKS).split("\n\n")[0]
    head, ours, published, *_ = csv.reader(io.StringIO(first))
    assert ",".join(head) == "benchmark,table,source,date,this_run,model,Inst,Tool,Arg,Summ,P,O,L,C,Ans,Ans+I,footnotes"
    assert ours[4:] == ["1", "m|1", "66.67", "", "1.00", "", "", "", "", "", "", "", ""]
    assert published[1:6] == [
        "GTA-Atomic, February 2026",
        "README of the benchmark, later edition",
        "2026-02",
        "0",
        "deepseek-v3.2",
    ]
    assert published[6:] == [
        "54.60",
        "32.32",
        "23.88",
        "68.04",
        "80.89",
        "77.37",
        "65.70",
        "78.12",
        "42.68",
        "40.85",
        "",
    ]


def test_every_block_of_csv_has_rows_of_one_length(run):
    for block in rows(run, "csv", tasks=TASKS).split("\n\n"):
        assert len({len(row) for row in csv.reader(io.StringIO(block))}) == 1


def test_markdown_tells_source_date_interval_and_why_rows_are_not_comparable(run):
    text = rows(run, "md", tasks=TASKS)
    assert "## GTA-Atomic, February 2026\n\nPublished rows: README of the benchmark, later edition, 2026-02.\n" in text
    assert "Our row is not comparable: bundled samples instead of the official data.\n" in text
    assert "| **m\\|1 (this run)** | 66.67 (60.0–70.2) | – | 1.00 | – |" in text


def test_json_keeps_intervals_and_says_which_row_is_ours(run):
    first = json.loads(rows(run, "json", tasks=TASKS))[0]
    assert first["columns"][:4] == ["Inst", "Tool", "Arg", "Summ"]
    assert [row["this_run"] for row in first["rows"][:3]] == [True, False, False]
    assert first["rows"][0]["intervals"] == {"Inst": [60.0, 70.25]}
    assert first["rows"][0]["values"]["Tool"] is None


def test_only_tables_that_the_run_has_a_figure_of_are_written():
    assert {table["benchmark"] for table in tables_of(SUMMARY, TASKS)} == {"GTA-Atomic"}
    assert tables_of({**SUMMARY, "tasks": {}}, TASKS) == []


def test_combined_figures_have_their_intervals(tmp_path):
    written = rows(combined_run(tmp_path / "run"), "json", tasks=TASKS)
    found = {table["table"]: table["rows"][0] for table in json.loads(written)}
    assert found["MMAU, domains"]["intervals"] == {"Math": [30.0, 50.0]}
    assert found["MMAU, capabilities"]["values"]["Reasoning"] == 41.0
    assert found["MMAU, capabilities"]["intervals"] == {}


@pytest.mark.parametrize(("title", "board"), BOARDS, ids=lambda value: getattr(value, "title", ""))
def test_published_tables_have_rows_a_source_and_columns_of_tasks(title, board):
    tasks = {task.name: task for task in OURS[title]}
    combined = next(iter(tasks.values())).combined.combine({}) if "mmau.ds_e2e" in tasks else {}
    assert len(board.rows) > 3 and board.source and board.date[:2] == "20"
    shown = published_table(board)["rows"]
    for row, published in zip(shown, board.rows, strict=True):
        assert row["model"] == published["model"]
        for column in board.columns:
            value = published.get(column.key)
            assert row["values"][column.title] == (None if value is None else pytest.approx(value * board.factor))
    for column in board.columns:
        assert any(row["values"][column.title] is not None for row in shown)
        if column.part:
            assert column.name in (tasks[column.part].shown.columns if column.part in tasks else combined[column.part])


def test_every_published_column_of_every_task_is_in_a_table():
    shown = {(column.part, column.name) for _, board in BOARDS for column in board.columns}
    unpublished = {"mmau.tool_self_correct", "mmau.dag_planning"}  # the paper has no figures of these two tasks
    for task in (task for tasks in OURS.values() for task in tasks):
        if task.name not in unpublished:
            assert {(task.name, column) for column in task.shown.published} <= shown, task.name


def test_tasks_without_tables_have_one_for_each_edition_of_their_published_rows():
    best = [{"edition": year, "model": f"best of {year}", "Accuracy": 90.0} for year in ("2024", "2025")]
    told = toy(shown={"leaderboard_columns": {"Acc": "Accuracy"}}, published=Published(dialects=("native",), rows=best))
    (first, second) = leaderboards_of([told])
    assert (first.title, second.title, first.columns[0].title) == ("2024", "2025", "Accuracy")
    assert published_table(second)["rows"] == [
        {"model": "best of 2025", "this_run": False, "values": {"Accuracy": 90.0}, "marks": {}}
    ]
    part = {"planned": 2, "missing": 0, "broken": 0}
    summary = {"tasks": {"toy.say": {**part, "metrics": {"Acc": {"value": 50.0, "low": 1.0, "high": 99.0, "n": 2}}}}}
    assert our_figures(second, "Toy", {**summary, "capabilities": {}})["Accuracy"]["value"] == 50.0
