"""What a score of GTA-Workflow holds and says, and how its page shows what models and judges wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentgauge.core.types import Scoring
from bench_gta.workflow.judge import scored
from bench_gta.workflow.score import Thresholds, failed, page, score_output
from bench_gta.workflow.task import Workflow

TREE = [
    {
        "id": "1",
        "weight": 3,
        "sub_tasks": [{"id": "1.1", "requirements": "A <b>PDF</b> exists."}, {"id": "1.2", "requirements": "r"}],
    },
    {"id": "2", "weight": 1, "requirements": "The day is named."},
]
TASK = {"tools": ["OCR", "Plot"], "sub_tasks": TREE}
ANSWER = [[{"role": "assistant", "content": "Thursday."}]]
CALLS = [
    [
        {"role": "assistant", "tool_calls": [{}], "error": {"type": "API_ERROR", "msg": "m"}},
        {"role": "assistant", "tool_calls": [{}]},
    ]
]


def reply(score: float, analysis: str = "seen") -> str:
    return json.dumps({"score": score, "analysis": analysis})


def output(*scores: float, **changes: Any) -> dict[str, Any]:
    leaves = [{"id": "x", "replies": [reply(score)], "cached": 0} for score in scores]
    judged = {"judge": "seer", "everything": False, "leaves": leaves}
    made = {
        "prediction": CALLS,
        "assistant_outputs": ANSWER,
        "full_tree": TREE,
        "delivered": ["a.pdf"],
        "judged": judged,
    }
    return {**made, **changes}


def test_a_score_has_what_every_figure_needs() -> None:
    values = score_output(TASK, output(10, 8, 5), Thresholds(), strict=False).values
    assert values["root_sum"] == pytest.approx((3 * 9 + 5) / 4)
    expected = {
        "leaves": 3,
        "leaves_ok": 2,
        "root_ok": 1,
        "tool_calls": 2,
        "tool_errors": 1,
        "perception": 1,
        "operation": 0,
        "logic": 1,
    }
    assert {name: values[name] for name in expected} == expected


@pytest.mark.parametrize(("root", "passed"), [(7.0, True), (7.01, False)])
def test_thresholds_are_inclusive(root: float, passed: bool) -> None:
    assert score_output(TASK, output(7, 7, 7), Thresholds(root=root), strict=False).passed is passed


@pytest.mark.parametrize(
    ("scores", "changes", "labels"),
    [
        ((10, 10, 10), {}, ()),
        ((0, 0, 9), {}, ("tool_errors", "partial")),
        ((0, 0, 0), {"prediction": [[]]}, ()),
        ((0, 0, 0), {"prediction": [[]], "delivered": []}, ("no_files",)),
        ((0, 0, 0), {"prediction": [[]], "assistant_outputs": [[]]}, ("no_answer",)),
    ],
)
def test_labels_say_what_may_be_behind_a_low_score(
    scores: Any, changes: dict[str, Any], labels: tuple[str, ...]
) -> None:
    assert score_output(TASK, output(*scores, **changes), Thresholds(), strict=False).labels == labels


def test_the_explanation_shows_every_checkpoint_with_the_judge_s_words() -> None:
    told = score_output(TASK, output(2, 4, 6), Thresholds(), strict=False).explanation.splitlines()
    assert told[0] == "root score 3.75 of 10, 7 are needed; 0 of 3 single requirements reach 7"
    assert [line.split()[:2] for line in told[1:] if "judge:" not in line] == [
        ["3.00", "1"],
        ["2.00", "1.1"],
        ["4.00", "1.2"],
        ["6.00", "2"],
    ]
    assert sum("judge: seen" in line for line in told) == 3


def test_a_failed_task_counts_all_its_leaves() -> None:
    score = failed(TASK)
    assert (
        score.passed,
        score.values["leaves"],
        score.values["leaves_ok"],
        score.values["root_sum"],
        score.values["tasks"],
    ) == (
        False,
        3,
        0,
        0,
        1,
    )


def test_the_page_escapes_what_models_and_judges_wrote() -> None:
    judged = [{"id": "x", "replies": [reply(5, "<script>alert(1)</script>")], "cached": 0} for _ in range(3)]
    shown = page(scored(TREE, judged, strict=False), "<seer>", Thresholds())
    assert (
        "<script>" not in shown
        and "&lt;script&gt;" in shown
        and "A &lt;b&gt;PDF&lt;/b&gt; exists." in shown
        and "&lt;seer&gt;" in shown
    )


def test_a_run_scored_by_the_other_rules_says_that_the_judge_saw_other_files() -> None:
    found = [
        score_output(TASK, output(10, 8, 5), Thresholds(), strict=strict).values["shown_otherwise"]
        for strict in (False, True)
    ]
    assert found == [0, 1]


@pytest.mark.parametrize(("scoring", "shown"), [("parity", "root score 2.00"), ("strict", "root score 9.00")])
def test_the_page_shows_the_scores_of_the_run(scoring: Scoring, shown: str) -> None:
    fenced = '```json\n{"analysis": "2 of 3 charts", "score": 9}\n```'
    judged = {
        "judge": "seer",
        "everything": scoring == "strict",
        "leaves": [{"id": "x", "replies": [fenced], "cached": 0} for _ in range(3)],
    }
    (tree, file) = Workflow().artifacts(output(0, 0, 0, judged=judged), None, scoring)
    assert shown in tree.html and file.name == "a.pdf"
