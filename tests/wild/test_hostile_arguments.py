"""Whatever a model gives as arguments, the task gets a score: wrong, and where the original would stop, counted as
such."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentgauge.core.types import Score
from bench_wild.evaluator2025 import CallsReply
from bench_wild.prompts import RELEASES
from bench_wild.score import score_soft, score_task
from bench_wild.steps import LoggedCall
from tests.wild.scoring import ANSWER, call, run, session

LONG = "1" * 10_000


@pytest.mark.parametrize("evaluator", RELEASES)
@pytest.mark.parametrize("scoring", ["parity", "strict"])
@pytest.mark.parametrize(
    ("arguments", "stops", "label"),
    [
        ("", "", "invalid_json"),
        ("42", "", "wrong_type"),
        (LONG, "ValueError", "invalid_json"),
        (f'{{"bed": {LONG}}}', "ValueError", "invalid_json"),
        ("[" * 100_000, "RecursionError", "invalid_json"),
        (f'{{"bed": {"[" * 100_000}', "RecursionError", "invalid_json"),
        ('{"bed": NaN}', "", "wrong_type"),
        ('{"bed": -Infinity}', "", "wrong_type"),
        ('{"bed": 1e999}', "", "wrong_type"),
        (f'{{"bed": 1{"0" * 400}}}', "", "wrong_type"),  # no float
        ('{"bed": "\\ud800"}', "", "wrong_value"),
        ('{"bed": "\ud800"}', "", "wrong_value"),
        ('["bed"]', "", "wrong_type"),
        ('"bed"', "", "wrong_type"),
        ("null", "", "wrong_type"),
        (None, "TypeError", "invalid_json"),
        (["bed"], "TypeError", "invalid_json"),
        (42, "TypeError", "invalid_json"),
        ({"bed": {"B1": []}}, "TypeError", "wrong_type"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_hostile_arguments_are_scored(arguments: Any, stops: str, label: str, scoring: Any, evaluator: Any) -> None:
    """``stops`` and ``label`` are those of 2026, under parity and under strict; the earlier evaluator stops on none."""
    one = session()
    result = run(0, [("read", "{}")], ANSWER)
    result["inference_log"]["step_0"]["inference_output"]["tool_calls"][0]["function"]["arguments"] = arguments
    score = score_task(one, one.tasks[0], result, scoring, evaluator)
    assert not score.passed
    assert score.labels
    if evaluator == "2026":
        assert score.stops == (stops if scoring == "parity" else "")
        assert stops if score.labels == ("unscorable",) else score.labels == (label,)
    else:
        assert score.stops == ""


@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_five_thousand_brackets_are_wrong(scoring: Any) -> None:
    one = session()
    for arguments in ("[" * 5_000, "[" * 5_000 + "]" * 5_000, '{"bed": ' + '{"a": ' * 5_000 + "1" + "}" * 5_001):
        result = run(1, [call("read", arguments), call("read", bed="B2")], [call("plant", arguments)], ANSWER)
        for evaluator in RELEASES:
            assert not score_task(one, one.tasks[1], result, scoring, evaluator).passed


@pytest.mark.parametrize("name", ["", "no such tool", "\ud800", 7, None, ["read"], {"read": 1}], ids=repr)
@pytest.mark.parametrize("correct", [True, False])
def test_the_earlier_evaluator_scores_calls_of_any_name(name: Any, correct: bool) -> None:
    one = session()
    score = score_soft(
        one,
        one.tasks[0],
        [CallsReply((LoggedCall(name, "{}"),)), CallsReply()],
        action_correct=correct,
        optimal=correct,
    )
    assert isinstance(score, Score)
    assert (score.passed, score.labels) == (False, ("function_name_hallucination",))
    json.dumps([score.values, score.explanation])
