"""The evaluator of April 2026: verdicts, what strict does otherwise, labels and explanations."""

from __future__ import annotations

from typing import Any

import pytest

from bench_wild.fixes import PARITY, STRICT, Fix, fixes_of
from bench_wild.score import judge, score_task
from tests.wild.scoring import ANSWER, call, perfect, run, session


def test_a_perfect_run_passes_by_every_evaluator() -> None:
    one = session()
    for task, result in zip(one.tasks, perfect(), strict=True):
        for evaluator in ("2026", "2025"):
            for scoring in ("parity", "strict"):
                score = score_task(one, task, result, scoring, evaluator)  # type: ignore[arg-type]
                assert (score.passed, score.labels, score.explanation, score.group) == (True, (), "", one.id)


@pytest.mark.parametrize(
    ("position", "replies", "label"),
    [
        (0, ["I will not."], "no_call"),
        (0, [None], "empty_reply"),
        (0, [[call("list_beds")]], "wrong_tool"),
        (0, [[call("dig")]], "unknown_tool"),
        (0, [[call("read", bed="B1"), call("list_beds")]], "extra_call"),
        (0, [[call("read", bed="B1")], [call("list_beds")]], "needless_call"),
        (1, [[call("read", bed="B1"), call("read", bed="B2")], "done"], "stopped_early"),
        (2, [[call("plant", bed="B1", rows=1.5)]], "no_question"),
        (3, [[call("list_beds")]], "needless_call"),
        (0, [[call("read", "{")], ANSWER], "invalid_json"),
        (0, [[call("read")], ANSWER], "missing_argument"),
        (0, [[call("read", bed="B1", soil=1)], ANSWER], "unknown_argument"),
        (0, [[call("read", bed=1)], ANSWER], "wrong_type"),
        (0, [[call("read", bed="B1", depth=7)], ANSWER], "not_in_enum"),
        (0, [[call("read", bed="B1", depth=5)], ANSWER], "other_arguments"),
        (0, [[call("read", bed="B9")], ANSWER], "wrong_value"),
    ],
)
def test_labels(position: int, replies: list[Any], label: str) -> None:
    one = session()
    for scoring in ("parity", "strict"):
        score = score_task(one, one.tasks[position], run(position, *replies), scoring)  # type: ignore[arg-type]
        assert not score.passed
        assert score.labels == (label,)
        assert score.explanation


def test_the_explanation_sets_arguments_side_by_side() -> None:
    one = session()
    result = run(0, [call("read", bed="B9", depth=5)], ANSWER)
    assert score_task(one, one.tasks[0], result).explanation.splitlines() == [
        "step 1, read: the set of arguments is not the expected one",
        '  ! bed    "B1"   got "B9"',
        "  ! depth  nothing   got 5",
    ]


def test_the_explanation_lists_what_was_expected() -> None:
    one = session()
    assert score_task(one, one.tasks[1], run(1, [call("list_beds")])).explanation.splitlines() == [
        "step 1: the wrong tool was called",
        '  expected: read(bed="B1")',
        '  or:       read(bed="B1") + read(bed="B2")',
        "  got:      list_beds()",
    ]


def test_the_explanation_says_where_the_published_evaluator_stops() -> None:
    one = session()
    score = score_task(one, one.tasks[0], run(0, None))
    assert (
        score.explanation.splitlines()[-1]
        == "the published evaluator stops on this task (KeyError); it counts as wrong"
    )
    assert score.stops == "KeyError"


@pytest.mark.parametrize(
    ("output", "why"), [(None, "there is no result"), ("Error during inference: 1", "Error during inference: 1")]
)
@pytest.mark.parametrize("evaluator", ["2026", "2025"])
def test_what_has_no_result_is_wrong_and_counts(output: Any, why: str, evaluator: Any) -> None:
    one = session()
    score = score_task(one, one.tasks[1], output, "parity", evaluator)
    assert (score.passed, score.labels) == (False, ("broken",))
    assert score.values["task"] == 1
    assert not any(value for name, value in score.values.items() if name.endswith(" done"))
    if evaluator == "2026":
        assert score.explanation == why


# -- what strict does otherwise


def test_after_a_wrong_argument_the_next_step_leaves_the_log_and_later_actions_are_forgiven() -> None:
    result = run(
        1, [call("read", bed="B9"), call("read", bed="B2")], [call("plant", bed="B1", rows=3.0)], [call("dig")]
    )
    tools = session().tools
    parity, strict = judge(result, tools, PARITY), judge(result, tools, frozenset({Fix.EVERY_STEP}))
    assert (parity.action, parity.arguments, [step.place for step in parity.steps]) == ("correct", "error", [0, 2])
    assert (strict.action, strict.arguments, [step.place for step in strict.steps]) == ("error", "error", [0, 1, 2])


def test_calls_of_one_name_are_paired_by_text_or_so_that_most_are_right() -> None:
    # the blank sorts before the quote, so that texts pair crosswise
    crossed = [call("read", '{"bed": "B1"}'), call("read", '{ "bed": "B2"}')]
    result = run(1, crossed, [call("plant", bed="B1", rows=3.0)], ANSWER)
    tools = session().tools
    assert judge(result, tools, PARITY).arguments == "error"
    paired = judge(result, tools, frozenset({Fix.BEST_PAIRS}))
    assert paired.arguments == "correct"


def test_best_pairs_leave_only_what_is_wrong() -> None:
    result = run(
        1, [call("read", '{"bed": "B7"}'), call("read", '{ "bed": "B1"}')], [call("plant", bed="B1", rows=3.0)], ANSWER
    )
    step = judge(result, session().tools, STRICT).steps[0]
    assert [outcome == "correct" for outcome in step.outcomes] == [True, False]
    assert [one.arguments for one in step.calls] == ['{ "bed": "B1"}', '{"bed": "B7"}']


def test_a_pseudo_action_that_is_called_passes_only_under_parity() -> None:
    asked = [call("ask_user_for_required_parameters", tool_name="plant")]
    result = run(2, asked, [call("plant", bed="B4", rows=2.5)], ANSWER)
    tools = session().tools
    assert judge(result, tools, PARITY).correct
    strict = judge(result, tools, STRICT)
    assert (strict.action, strict.steps[0].reason) == ("error", "a pseudo action was emitted as a call")


def test_argument_objects_are_judged_under_strict() -> None:
    result = run(0, [call("read", {"bed": "B1"})], ANSWER)
    assert judge(result, session().tools, PARITY).stops == "TypeError"
    assert judge(result, session().tools, STRICT).correct


def test_arguments_are_held_against_the_schemas_that_were_sent() -> None:
    """An integer passes for the type ``float``, because ``number`` was sent; the gold's type still decides."""
    result = run(1, [call("read", bed="B1"), call("read", bed="B2")], [call("plant", bed="B1", rows=3)], ANSWER)
    (outcome,) = judge(result, session().tools, PARITY).steps[1].outcomes
    assert outcome == "error_match: value type inconsistent at 'rows'"
    assert judge(result, session().tools, frozenset({Fix.SAME_NUMBER})).correct


def test_a_log_is_not_changed() -> None:
    result = perfect()[1]
    before = repr(result)
    judge(result, session().tools, STRICT)
    assert repr(result) == before


def test_no_fix_under_parity_and_all_under_strict() -> None:
    assert fixes_of("parity") == frozenset()
    assert fixes_of("strict") == frozenset(Fix)
