"""From logs to scores and tables, and what the published evaluator stops on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.estimate import estimate
from agentgauge.core.types import Metric, Score, Scoring
from bench_wild.files import score_files, write_result_lines
from bench_wild.fixes import PARITY, STRICT, Fix, fixes_of
from bench_wild.metrics import (
    COLUMNS,
    ERROR_COLUMNS,
    PARAMETER_KINDS,
    PUBLISHED_AS,
    formula,
    official,
    session_values,
)
from bench_wild.score import judge, score_task
from tests.wild.scoring import ANSWER, call, perfect, record, run, session, tool


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


@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_the_explanation_names_calls_that_cannot_be_read_and_every_wrong_step(scoring: Scoring) -> None:
    one = session()
    result = run(1, [call("read", '{"bed": "B'), call("read", bed="B2")], [call("dig")])
    assert score_task(one, one.tasks[1], result, scoring).explanation.splitlines() == [
        "step 1, read: the arguments are not valid JSON",
        '  expected: read(bed="B1")',
        '  got:      read({"bed": "B (ends here))',
        "step 2: the reply calls a tool that is not offered",
        '  expected: plant(bed="B1", rows=3.0)',
        "  got:      dig()",
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


def null_arguments() -> Any:
    """A run of the first task whose call has ``null`` for arguments."""
    result = run(0, [call("read", bed="B1")], ANSWER)
    (made,) = result["inference_log"]["step_0"]["inference_output"]["tool_calls"]
    made["function"]["arguments"] = None
    return result


@pytest.mark.parametrize(
    ("result", "parity", "strict"),
    [
        pytest.param(run(0, None), "KeyError", "KeyError", id="a reply without text and calls"),
        pytest.param(run(0, [call("read", bed="B1")], ""), "KeyError", "KeyError", id="an empty text at the end"),
        pytest.param(run(0, [call("read", {"bed": "B1"})], ANSWER), "TypeError", "", id="arguments as an object"),
        pytest.param(null_arguments(), "TypeError", "", id="arguments null"),
        pytest.param(run(3, [call("prepare_to_answer")], [call("list_beds")]), "KeyError", "", id="pseudo action"),
    ],
)
def test_replies(result: Any, parity: str, strict: str) -> None:
    tools = session().tools
    found = judge(result, tools, PARITY)
    assert (found.correct, found.action, found.stops) == (False, "error", parity)
    assert judge(result, tools, STRICT).stops == strict


def test_what_strict_says_of_arguments() -> None:
    tools = session().tools
    assert judge(run(0, [call("read", {"bed": "B1"})], ANSWER), tools, STRICT).correct
    assert judge(null_arguments(), tools, STRICT).steps[0].outcomes == ("error: args invalid json format",)


def test_a_gold_tool_that_the_session_does_not_offer() -> None:
    one = session()
    tools = [tool for tool in one.tools if tool["function"]["name"] != "read"]
    for fixes in (PARITY, STRICT):
        verdict = judge(perfect()[0], tools, fixes)
        assert (verdict.correct, verdict.action, verdict.stops) == (False, "error", "KeyError")


def test_a_session_whose_id_is_no_line_of_the_data_is_scored_and_named(tmp_path: Path) -> None:
    """The original takes the number at the end of the id for the line of the data set."""
    one = session("wild_tool_bench_3")
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(record(one.id)), encoding="utf-8")
    out = tmp_path / "result.jsonl"
    write_result_lines(out, [(one, task, result) for task, result in zip(one.tasks, perfect(one.id), strict=True)], "m")
    found = score_files(tmp_path, out)
    reason = "IndexError: the id stands for line 3, and the data set has 1"
    assert found["stops"] == [{"session": one.id, "reason": reason}]
    assert found["metrics"]["Task"] == 100


@pytest.mark.parametrize("type", [["string", "null"], ["string"], {"string": 1}])
def test_a_list_of_types(type: Any) -> None:
    """The original looks it up in a table of types, and stops."""
    read = tool("read", ["bed"], bed={"type": type})
    verdict = judge(perfect()[0], [read], PARITY)
    assert (verdict.correct, verdict.action, verdict.stops) == (False, "error", "TypeError")
    assert judge(perfect()[0], [read], STRICT).correct


def scores(*ids: str, evaluator: str = "2026", scoring: str = "parity") -> list[Score]:
    found = []
    for id in ids:
        one = session(id)
        found += [
            score_task(one, task, result, scoring, evaluator)  # type: ignore[arg-type]
            for task, result in zip(one.tasks, perfect(id), strict=True)
        ]
    return found


def table(scores: list[Score], scoring: Scoring) -> dict[str, Metric]:
    return estimate(scores, formula(scoring))


def failed(score: Score) -> Score:
    return replace(
        score,
        passed=False,
        values={name: 0.0 if name.endswith(" done") else value for name, value in score.values.items()},
    )


@pytest.mark.parametrize(("evaluator", "scoring"), [("2026", "strict"), ("2025", "parity")])
def test_a_perfect_run_has_100_everywhere(evaluator: str, scoring: str) -> None:
    found = table(scores("a_0", "a_1", evaluator=evaluator, scoring=scoring), scoring)  # type: ignore[arg-type]
    assert {found[name].value for name in COLUMNS} <= {100, None}
    assert {name for name in COLUMNS if found[name].value is None} >= {
        "Parallel",
        "Sequential",
        "Optimal Parallel",
        "Progress Sequential",
    }


def test_parity_s_progress_counts_messages_over_nodes() -> None:
    found = table(scores("a_0"), "parity")
    assert found["Progress"].value == 75  # three messages, four nodes
    assert found["Completed Nodes"].value == 100


def test_columns_and_counts() -> None:
    one, two = scores("a_0", "a_1")[:4], scores("a_0", "a_1")[4:]
    found = table([*one, *two[:3], failed(two[3])], "parity")
    assert found["Task"].value == pytest.approx(100 * 7 / 8)
    assert found["Session"].value == 50
    assert found["Chat"].value == 50
    assert found["Task 4"].value == 50
    assert found["First Turn"].value == 100
    assert found["Subsequent Turn"].value == pytest.approx(100 * 5 / 6)
    assert (found["Task"].n, found["Session"].n, found["Chat"].n, found["Multi-Tool"].n) == (8, 2, 2, 2)
    assert tuple(found) == COLUMNS


def test_the_order_of_tasks_and_sessions_does_not_matter() -> None:
    given = scores("a_0", "a_1", "a_2")
    given[5] = failed(given[5])
    one, other = table(given, "parity"), table(given[::-1], "parity")
    assert {name: metric.value for name, metric in one.items()} == {
        name: metric.value for name, metric in other.items()
    }


def test_intervals_are_wider_where_faults_come_together() -> None:
    """Four wrong tasks in one session say less than one in each of four: tasks of a session hang together."""
    ids = [f"a_{number}" for number in range(8)]
    together, apart = scores(*ids), scores(*ids)
    for place in range(4):
        together[place] = failed(together[place])
        apart[4 * place] = failed(apart[4 * place])
    one, other = table(together, "parity")["Task"], table(apart, "parity")["Task"]
    assert one.value == other.value
    assert one.low is not None and other.low is not None and one.low < other.low


def test_attempts_of_a_task_are_means_and_a_session_s_is_their_product() -> None:
    given = scores("a_0")
    halves = [replace(score, values={**score.values, "task done": 0.5}) for score in given[:2]]
    assert table([*halves, *given[2:]], "parity")["Session"].value == 25


def test_a_session_without_all_its_results_counts_in_a_file_only_under_parity() -> None:
    values = [score.values for score in scores("a_0")[:2]]
    assert session_values(values, PARITY)["session done"] == 1
    assert "session" not in session_values(values, STRICT)
    assert session_values([], PARITY) == {"session": 1.0, "session done": 1.0}


@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_a_session_that_is_not_whole_counts_in_no_run(scoring: Scoring) -> None:
    given = [*scores("a_0", scoring=scoring)[:2], *scores("a_1", scoring=scoring)]
    found = estimate(given, formula(scoring), incomplete={"a_0"})
    assert (found["Session"].value, found["Session"].n, found["Task"].n) == (100, 1, 6)
    none = estimate(given, formula(scoring), incomplete={"a_0", "a_1"})
    assert (none["Session"].value, none["Session"].n, none["Task"].value) == (None, 0, 100)


def test_nothing_at_all() -> None:
    assert {metric.value for metric in table([], "parity").values()} == {None}
    assert official([], "m")["total_info"]["task"] == {"accuracy": 0.0, "correct_count": 0, "total_count": 0}


def test_errors_of_the_earlier_evaluator() -> None:
    one = session("a_0")
    given = [
        score_task(one, one.tasks[0], run(0, "no", id="a_0"), "parity", "2025"),
        score_task(
            one, one.tasks[2], run(2, "Which?", [call("plant", bed="B4", rows=9.5)], ANSWER, id="a_0"), "parity", "2025"
        ),
    ]
    found = table(given, "parity")
    assert found["Refusal"].value == found["Param Value Error"].value == 50
    assert sum(found[name].value or 0 for name in ERROR_COLUMNS) == 100
    assert found["Wrong Values, float"].value == 1
    assert {f"Wrong Values, {kind}" for kind in PARAMETER_KINDS} <= found.keys()
    assert not set(ERROR_COLUMNS) & table(scores("a_0"), "parity").keys()


def test_published_columns_are_ours() -> None:
    assert set(PUBLISHED_AS.values()) <= set(COLUMNS)
