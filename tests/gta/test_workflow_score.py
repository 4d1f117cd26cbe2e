"""Scores, figures and explanations of GTA-Workflow, from replies and from prediction files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.config import Config
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.estimate import estimate
from agentgauge.core.types import Metric, Score, Scoring
from bench_gta.workflow.judge import scored
from bench_gta.workflow.metrics import (
    COLUMNS,
    SENSITIVITY,
    Thresholds,
    calls_of,
    sensitivity,
    values_of,
)
from bench_gta.workflow.prompts import LeafVerdict, Unreadable, median, read_reply
from bench_gta.workflow.score import failed, page, score_output
from bench_gta.workflow.score_files import make_judge, score_predictions
from bench_gta.workflow.task import WORKFLOW
from bench_gta.workflow.trace import compress
from bench_gta.workflow.tree import aggregate, parse
from tests.docs.pages import ROOT, rows, text

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


@pytest.mark.parametrize(("scoring", "shown"), [("parity", "root score 2.00"), ("strict", "root score 9.00")])
def test_the_page_shows_the_scores_of_the_run(scoring: Scoring, shown: str) -> None:
    fenced = '```json\n{"analysis": "2 of 3 charts", "score": 9}\n```'
    judged = {
        "judge": "seer",
        "everything": scoring == "strict",
        "leaves": [{"id": "x", "replies": [fenced], "cached": 0} for _ in range(3)],
    }
    (tree, file) = WORKFLOW.shown.artifacts(output(0, 0, 0, judged=judged), None, scoring)
    assert shown in tree.html and file.name == "a.pdf"


def task(
    root: float, leaves: list[float], *categories: str, status: Literal["ok", "error"] = "ok", **calls: int
) -> Score:
    counts = {"tool_calls": 2, "tool_errors": 1, "modules": 2, "modules_ok": 1, **calls}
    return Score(False, values_of(root, leaves, categories, status=status, **counts))


def table(scores: list[Score]) -> dict[str, Metric]:
    return estimate(scores, WORKFLOW.metrics("parity"))


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
def test_thresholds_of_figures_are_inclusive(thresholds: dict[str, float], leaf: int, root: int) -> None:
    values = values_of(6.0, [7.0, 5.0, 2.0], [], 0, 0, 0, 0, "ok", **thresholds)
    assert (values["leaves_ok"], values["root_ok"], values["leaves"]) == (leaf, root, 3)


def test_a_failed_task_fails_at_every_threshold() -> None:
    values = values_of(9.0, [9.0, 9.0], ["logic"], 1, 0, 1, 1, "error", leaf_threshold=0.0, root_threshold=0.0)
    passed = {name: value for name, value in values.items() if "_ok" in name and not name.startswith("modules")}
    assert set(passed.values()) == {0.0}
    assert (values["leaves"], values["logic"], values["tasks"], values["scored"], values["root_sum"]) == (2, 1, 1, 0, 0)


def test_the_page_has_the_published_figures_of_agent_applications() -> None:
    file = ROOT / "bench_gta" / "workflow" / "reference" / "gta_workflow.json"
    published = json.loads(file.read_text(encoding="utf-8"))["harness_results_30_task_subset"]
    figures = ["root_score", "leaf_sr", "root_sr", "total_time_min", "total_cost_usd", "score_per_cost"]
    shown = text("docs/benchmarks/gta_workflow.md")
    assert [[name, model, *map(float, cells)] for name, model, *cells in rows(shown, "harness", "model")] == [
        [row["harness"], row["model"] or "–", *(row[figure] for figure in figures)] for row in published
    ]


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


FILE_TREE = [{"id": "1", "requirements": "r", "check": {"answer": {"contains": ["Thursday"]}}}]


def entry(answer: str = "Thursday.", **changes: Any) -> dict[str, Any]:
    said = [{"role": "assistant", "content": answer}]
    made = {
        "gold": [[]],
        "prediction": [said],
        "origin_prompt": ["q"],
        "steps": [],
        "full_tree": FILE_TREE,
        "attached_files": [],
    }
    return {**made, "assistant_outputs": [said], **changes}


def scored_file(folder: Path, *entries: Any, samples: Path | None = None) -> dict[str, Any]:
    file = folder / "predictions.json"
    file.write_text(json.dumps({str(place): one for place, one in enumerate(entries)}))
    return dict(score_predictions(samples, file, make_judge("rules", config=Config()), Thresholds(), strict=False))


def test_a_file_is_scored_as_released(tmp_path: Path) -> None:
    told = scored_file(tmp_path, entry(), entry("Monday."))
    assert (told["metrics"]["gpt_score"], told["metrics"]["Root SR"], [one["score"] for one in told["samples"]]) == (
        5.0,
        50.0,
        [10, 0],
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"full_tree": "x"}, "must be a list of nodes"),
        ({"full_tree": [{"id": "1", "requirements": "r"}]}, "has no 'check'"),
    ],
)
def test_a_record_that_cannot_be_judged_fails_alone(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    told = scored_file(tmp_path, entry(), entry(**change))
    assert [one["score"] for one in told["samples"]] == [10, 0] and reason in told["samples"][1]["error"]
    assert (told["metrics"]["Root Score"], told["metrics"]["Root Score (scored)"]) == (5.0, 10.0)
    assert any(note.startswith("record 1 could not be judged and counts as failed") for note in told["notes"])


@pytest.mark.parametrize("path", ["a long search result " * 20 + "/page.html", "a/\0.png", "files/report.pdf"])
def test_files_that_are_missing_are_named(path: str, tmp_path: Path) -> None:
    told = scored_file(tmp_path, entry(delivered=[path]))
    assert told["samples"][0]["score"] == 10 and any(
        note.startswith("record 0 names files that are missing") for note in told["notes"]
    )


@pytest.mark.parametrize(
    "change",
    [{"attached_files": "a/report.pdf"}, {"delivered": "a/report.pdf", "attached_files": []}],
)
def test_one_file_may_be_given_as_a_text(change: dict[str, Any], tmp_path: Path) -> None:
    assert "record 0 names files that are missing: report.pdf" in scored_file(tmp_path, entry(**change))["notes"]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "report.pdf").write_bytes(b"%PDF-")
    assert not any("missing" in note for note in scored_file(tmp_path, entry(**change))["notes"])


@pytest.mark.parametrize("path", ["/etc/hostname", "../other.pdf", "/dev/zero"])
def test_files_elsewhere_are_refused(path: str, tmp_path: Path) -> None:
    (tmp_path / "other.pdf").write_text("x")
    (tmp_path / "here").mkdir()
    with pytest.raises(UsageProblem, match="is not a plain file below"):
        scored_file(tmp_path / "here", entry(delivered=[path]))


@pytest.mark.parametrize("change", [{"assistant_outputs": [None]}, {"delivered": [1]}, {"prediction": ["x"]}])
def test_a_damaged_record_is_told(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match=r"record '1', .*: must be a list"):
        scored_file(tmp_path, entry(), entry(**change))


WORDS = st.sampled_from(
    [
        "role",
        "content",
        "assistant",
        "tool",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "error",
        "o/a.png",
        "sub_tasks",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
REPLY = (
    st.text()
    | JSON.map(json.dumps)
    | st.builds('{{"score": {}, "analysis": {}}}'.format, JSON.map(json.dumps), JSON.map(json.dumps))
)


@given(REPLY)
def test_a_score_is_always_from_0_to_10(reply: str) -> None:
    assert 0 <= read_reply(reply).score <= 10
    try:
        strict = read_reply(reply, strict=True)
    except Unreadable:
        return
    assert 0 <= strict.score <= 10


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6), st.lists(st.floats(0.01, 100), min_size=6, max_size=6))
def test_a_mean_lies_between_its_leaves(scores: list[float], weights: list[float]) -> None:
    root = parse([{"weight": weight} for weight in weights[: len(scores)]])
    assert min(scores) - 1e-9 <= aggregate(root, scores).value <= max(scores) + 1e-9


@pytest.mark.parametrize(
    ("reply", "score", "analysis"),
    [
        ('{"score": 7, "analysis": "fine"}', 7.0, "fine"),
        ('```json\n{"analysis": "2 of 3 files", "score": 9}\n```', 9.0, "2 of 3 files"),
        ('My grade:\n{"score": 6.5, "analysis": "a {brace} in it"} - done.', 6.5, "a {brace} in it"),
        ('{not json} {"score": 0, "analysis": ""}', 0.0, ""),
        ('{"result": {"score": 10, "analysis": "inside"}}', 10.0, "inside"),
        ('{"score": 7, "analysis": "whole", "parts": [{"score": 2}]}', 7.0, "whole"),
        ('{"score": "8.5", "analysis": "text"}', 8.5, "text"),
        ('{"score": 4}', 4.0, ""),
        ('{"score": 5, "analysis": "two\nlines",}', 5.0, "two\nlines"),
        ("{'score': 5, 'analysis': 'single'}", 5.0, "single"),
        (
            '<think>{"score": 2}, or more?</think>{"score": 8, "analysis": "no </think> in it"}',
            8.0,
            "no </think> in it",
        ),
        ('perhaps {"score": 2}</think>{"score": 8}', 8.0, ""),
        ('{"score": 4, "analysis": "draft"} {"score": 4.0, "analysis": "last"}', 4.0, "last"),
        ('﻿{"score": 3, "analysis": "mark"}', 3.0, "mark"),
    ],
)
def test_the_strict_reader_finds_the_object(reply: str, score: float, analysis: str) -> None:
    assert read_reply(reply, strict=True) == LeafVerdict(score, analysis, "")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("", "no JSON object with a 'score'"),
        ("9/10", "no JSON object with a 'score'"),
        ('[{"points": 6}]', "no JSON object with a 'score'"),
        ('{"analysis": "no grade"}', "no JSON object with a 'score'"),
        ('{"score": 7, "analysis": "cut off', "no JSON object with a 'score'"),
        ('{"score": 3} {"score": 9}', "holds the scores 3.0, 9.0"),
        ('{"score": true}', "is 'True'; accepted is a number from 0 to 10"),
        ('{"score": null}', "is 'None'"),
        ('{"score": NaN}', "is 'nan'"),
        ('{"score": "nan"}', "is 'nan'"),
        ('{"score": -1}', "is '-1'"),
        ('{"score": 11}', "is '11'"),
        ('{"score": "7/10"}', "is '7/10'"),
        ('{"score": [8]}', r"is '\[8\]'"),
        ('{"score": Infinity}', "is 'inf'"),
    ],
)
def test_the_strict_reader_refuses_what_it_would_have_to_guess(reply: str, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        read_reply(reply, strict=True)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("[" * 100_000 + "5", LeafVerdict(5.0, "regex fallback", "regex fallback")),
        ('{"score": 1' + "0" * 5000 + "}", LeafVerdict(10.0, "regex fallback", "regex fallback")),
        ('{"score": 1' + "0" * 400 + "}", LeafVerdict(10.0, "regex fallback", "regex fallback")),
        ("nothing", LeafVerdict(0.0, "parse failed", "parse failed")),
    ],
)
def test_upstreams_rules_read_something_from_every_text(reply: str, expected: LeafVerdict) -> None:
    assert read_reply(reply) == expected


def votes(*scores: float) -> list[LeafVerdict]:
    return [LeafVerdict(score, f"because {score:g}", "") for score in scores]


@pytest.mark.parametrize(
    ("scores", "score", "analysis"),
    [
        ([4], 4, "because 4"),
        ([9, 2, 5], 5, "because 5"),
        ([8, 4], 6, "because 4"),
        ([1, 10, 7, 6], 6.5, "because 6"),
        ([0, 0, 10, 10], 5, "because 0"),
    ],
)
def test_votes_come_to_their_median(scores: list[float], score: float, analysis: str) -> None:
    assert median(votes(*scores)) == LeafVerdict(score, analysis, "")
