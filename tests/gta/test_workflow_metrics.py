"""Table rows from judged tasks; the figures themselves are tested by the golden cases."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from agentgauge.core.estimate import estimate
from agentgauge.core.types import Metric, Score
from bench_gta.workflow.metrics import (
    COLUMNS,
    FORMULA,
    PUBLISHED,
    SENSITIVITY,
    calls_of,
    harness_rows,
    sensitivity,
    values_of,
)
from bench_gta.workflow.trace import compress


def task(
    root: float, leaves: list[float], *categories: str, status: Literal["ok", "error"] = "ok", **calls: int
) -> Score:
    counts = {"tool_calls": 2, "tool_errors": 1, "modules": 2, "modules_ok": 1, **calls}
    return Score(False, values_of(root, leaves, categories, status=status, **counts))


def table(scores: list[Score]) -> dict[str, Metric]:
    return estimate(scores, FORMULA)


RUN = [
    task(9, [9, 9], "operation"),
    task(3, [0, 0, 5, 7], "operation", "logic"),
    task(0, [10, 10], "logic", status="error"),
    task(8, [7.5], tool_calls=0, tool_errors=0, modules=0, modules_ok=0),
]


def test_the_row_has_every_column_in_order() -> None:
    row = table(RUN)
    assert tuple(row) == COLUMNS
    assert {column: metric.value for column, metric in row.items()} == {
        "Tool SR": 50,
        "P-SR": None,
        "O-SR": 50,
        "L-SR": 0,
        "C-SR": None,
        "Root Score": 5,
        "Leaf SR": pytest.approx(400 / 9),
        "Root SR": 50,
        "Root Score (scored)": pytest.approx(20 / 3),
        "Module SR": 50,
        "Tasks": 4,
        "Leaves": 9,
        "P tasks": 0,
        "O tasks": 2,
        "L tasks": 2,
        "C tasks": 0,
        "Tool calls": 6,
        "Tool errors": 3,
        "Fallbacks": 0,
    }


def test_a_metric_rests_on_the_tasks_that_take_part_in_it() -> None:
    row = table(RUN)
    assert {
        column: row[column].n for column in ("Root Score", "Root Score (scored)", "Leaf SR", "L-SR", "P-SR", "Tool SR")
    } == {
        "Root Score": 4,
        "Root Score (scored)": 3,
        "Leaf SR": 4,
        "L-SR": 2,
        "P-SR": 0,
        "Tool SR": 3,
    }


def test_root_scores_have_intervals_on_their_own_scale() -> None:
    for scores in (RUN, [task(7, [7])] * 5, [task(10, [10])] * 3, [task(0, [0])] * 3):
        metric = table(scores)["Root Score"]
        assert metric.value is not None and metric.low is not None and metric.high is not None
        assert 0 <= metric.low <= metric.value + 1e-9 and metric.value - 1e-9 <= metric.high <= 10
        assert metric.high - metric.low > 0.5


def test_leaves_of_a_task_count_together_in_the_interval() -> None:
    """Twenty leaves in two tasks that disagree tell far less than twenty tasks of a leaf each."""
    together = table([task(10, [10] * 10), task(0, [0] * 10)])["Leaf SR"]
    alone = table([task(10, [10])] * 10 + [task(0, [0])] * 10)["Leaf SR"]
    assert together.value == alone.value == 50
    assert (together.low, together.high) == (0, 100)
    assert alone.low is not None and alone.low > 25


def test_a_single_task_and_none_at_all_have_figures_without_intervals() -> None:
    assert (table(RUN[:1])["Root Score"].value, table(RUN[:1])["Root Score"].low) == (9, None)
    assert {table([])[column].value for column in PUBLISHED} == {None}


def test_success_at_other_thresholds_is_shown() -> None:
    assert sensitivity(RUN) == [
        {"threshold": 5, "Leaf SR": pytest.approx(500 / 9), "Root SR": 50},
        {"threshold": 6, "Leaf SR": pytest.approx(400 / 9), "Root SR": 50},
        {"threshold": 7, "Leaf SR": pytest.approx(400 / 9), "Root SR": 50},
        {"threshold": 8, "Leaf SR": pytest.approx(200 / 9), "Root SR": 50},
        {"threshold": 9, "Leaf SR": pytest.approx(200 / 9), "Root SR": 25},
    ]
    assert [row["threshold"] for row in sensitivity([])] == list(SENSITIVITY)


@pytest.mark.parametrize(
    ("thresholds", "leaf", "root"),
    [
        ({}, 1, 0),
        ({"leaf_threshold": 5.0}, 2, 0),
        ({"leaf_threshold": 7.01}, 0, 0),
        ({"root_threshold": 6.0}, 1, 1),
        ({"root_threshold": 0.0}, 1, 1),
    ],
)
def test_thresholds_are_inclusive(thresholds: dict[str, float], leaf: int, root: int) -> None:
    values = values_of(6.0, [7.0, 5.0, 2.0], [], 0, 0, 0, 0, "ok", **thresholds)
    assert (values["leaves_ok"], values["root_ok"], values["leaves"]) == (leaf, root, 3)


def test_a_failed_task_fails_at_every_threshold() -> None:
    values = values_of(9.0, [9.0, 9.0], ["logic"], 1, 0, 1, 1, "error", leaf_threshold=0.0, root_threshold=0.0)
    passed = {name: value for name, value in values.items() if "_ok" in name and not name.startswith("modules")}
    assert set(passed.values()) == {0.0}
    assert (values["leaves"], values["logic"], values["tasks"], values["scored"], values["root_sum"]) == (2, 1, 1, 0, 0)


def test_published_rows_of_agent_applications() -> None:
    rows = {row["harness"]: row for row in harness_rows()}
    assert list(rows) == ["Lagent", "OpenClaw", "Manus", "Kortix"]
    assert (rows["OpenClaw"]["Root SR"], rows["OpenClaw"]["minutes"], rows["OpenClaw"]["Tool SR"]) == (
        50.0,
        136.0,
        None,
    )


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": {}}}], **more}


def test_calls_are_counted_over_all_turns() -> None:
    wrong = {"error": {"type": "API_ERROR", "msg": "x"}}
    turns = [
        [
            call("Plot", **wrong),
            {"role": "tool", "content": None},
            call("Plot"),
            {"role": "tool", "content": "fine"},
            "text",
        ],
        [call("NoAction", **wrong), {"role": "tool", "content": None}, {"role": "assistant", "content": "sorry"}],
    ]
    outputs = [compress(turn) for turn in turns]
    assert calls_of(turns, outputs) == {"tool_calls": 3, "tool_errors": 2, "modules": 2, "modules_ok": 1}
    assert calls_of([], []) == {"tool_calls": 0, "tool_errors": 0, "modules": 0, "modules_ok": 0}
