"""Several finished runs in one table and on one leaderboard."""

from __future__ import annotations

from typing import Any

import pytest
from agentgauge_reports.several import joint_leaderboard, overview_of_runs, ranked

from agentgauge.core.published import Published
from agentgauge.core.registry import Registry
from tests.plugin.toy import TOY, toy

PUBLISHED = Published(dialects=("native",), rows=[{"edition": "first", "model": "theirs", "Acc": 60.0}])
TASKS = Registry([toy(published=PUBLISHED), toy(name="other.say", shown={"benchmark": "Other"})])


def summary(
    acc: float | None, *, official: bool = True, usd: float = 0.0, broken: int = 0, missing: int = 0
) -> dict[str, Any]:
    metric = {"value": acc, "low": None if acc is None else acc - 5, "high": None if acc is None else acc + 5, "n": 10}
    data = {"official": official, "left_out": [], "differences": [], "samples": 10}
    counts = {"planned": 10, "passed": 10 - broken - missing, "wrong": 0, "broken": broken, "missing": missing}
    return {
        "run": {"data": {"toy.say": data}, "dialect": "native", "scoring": "parity", "tools": {}, "options": {}},
        "tasks": {"toy.say": {**counts, "metrics": {"Acc": metric}}},
        "capabilities": {},
        "usage": {"prompt_tokens": 900, "completion_tokens": 100, "usd": usd},
    }


def test_the_table_has_a_row_for_each_run_the_best_first():
    lines = overview_of_runs({"b": summary(50.0, usd=0.5), "a": summary(70.0), "none": summary(50.0, broken=9)}, TASKS)
    assert [line.split() for line in lines] == [
        ["run", "Toy", "95", "%", "broken", "tokens", "cost"],
        ["a", "70.00", "65.0–75.0", "0", "1.0k", "$0.0000"],
        ["b", "50.00", "45.0–55.0", "0", "1.0k", "$0.5000"],
        ["none", "–", "9", "1.0k", "$0.0000"],
    ]


def test_missing_cases_are_no_broken_ones():
    lines = overview_of_runs({"a": summary(70.0), "b": summary(50.0, broken=1, missing=8)}, TASKS)
    assert lines[0].split() == ["run", "Toy", "95", "%", "broken", "missing", "tokens"]
    assert [line.split()[-3:] for line in lines[1:]] == [["0", "0", "1.0k"], ["1", "8", "1.0k"]]


def test_intervals_are_left_out_where_they_do_not_fit():
    runs = {"a-model-with-a-long-name": summary(70.0), "b": summary(50.0)}
    assert "65.0–75.0" in overview_of_runs(runs, TASKS, 60)[1]
    assert [line.split() for line in overview_of_runs(runs, TASKS, 50)][1] == [
        "a-model-with-a-long-name",
        "70.00",
        "0",
        "1.0k",
    ]


def test_comparable_runs_stand_beside_published_rows_and_others_apart():
    page = joint_leaderboard({"mini": summary(90.0, official=False), "b": summary(50.0), "a": summary(70.0)}, TASKS)
    before, apart = page.split("### Runs that are not comparable with the published rows")
    rows = [line for line in before.splitlines() if line.startswith("| ")]
    assert rows == ["| model | Acc |", "| **a** | 70.00 |", "| **b** | 50.00 |", "| theirs | 60.00 |"]
    assert "| **mini** | 90.00 |" in apart and "**a**" not in apart
    assert "- `mini`: 10 cases, 0 broken, 0 missing; **not comparable:** bundled samples instead of" in before


@pytest.mark.parametrize(("every", "words"), [(True, "answered by"), (False, "partly answered by")])
def test_a_run_that_another_model_has_answered_says_how_far(every, words):
    run = summary(70.0)
    run["run"]["answered_by"] = {"models": ["other"], "all": every}
    assert overview_of_runs({"a": run}, TASKS)[1].startswith(f"a ({words} other)  ")
    assert f"| **a ({words} other)** | 70.00 |" in joint_leaderboard({"a": run}, TASKS)


def test_what_holds_for_a_whole_run_is_said_once():
    run = summary(70.0)
    for part in (run["tasks"], run["run"]["data"]):
        part["other.say"] = part["toy.say"]
    run |= {"observed": {"--model": {"reported": {"gemma3": 2, "qwen3": 1}, "estimated": 3, "said": "", "instead": ""}}}
    run["run"]["model"] = "alias"
    page = joint_leaderboard({"a": run, "b": summary(50.0)}, TASKS)
    head = page[: page.index("\n## ")]
    assert head.startswith(
        "# a, b\n\n- `a`: the endpoint of --model alias reports that different models have answered: "
    )
    assert "- `b`" not in head and page.count("## ") >= 2
    assert page.count("reports that different models") == page.count("gave no usable token counts") == 1


def test_without_published_rows_all_runs_are_in_one_table():
    page = joint_leaderboard({"mini": summary(90.0, official=False), "b": summary(50.0)}, Registry([TOY]))
    assert page.index("| **mini** | 90.00 |") < page.index("| **b** | 50.00 |")


def test_runs_without_a_figure_are_last():
    assert ranked({"x": None, "y": None}) == ["x", "y"]
