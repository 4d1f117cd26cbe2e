"""The tables that the earlier release prints, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from agentgauge.core.presentation import Breakdown
from agentgauge.core.types import Score
from bench_wild.evaluator2025 import CallsReply, judge_softly, signature, wrong_types
from bench_wild.labels import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    FIRST_TURN,
    LONG_RANGE,
    PARTIAL,
    SEQUENTIAL,
    SINGLE,
    UNKNOWN_SUBTYPE,
)
from bench_wild.metrics import ACTION, situation_values, task_values
from bench_wild.prompts import messages_of
from bench_wild.score import score_task
from bench_wild.steps import LoggedCall
from bench_wild.tables import breakdowns
from tests.wild.scoring import ANSWER, TOOLS, call, run, session

pytestmark = pytest.mark.slow

NONE = (None, 0)
MATRIX, ACTIONS_ONLY = "Accuracy by action type and position", "Accuracy by action type and position, actions only"


def task(type: str, position: int, correct: bool, **more: Any) -> Score:
    subtype = PARTIAL if position else FIRST_TURN
    done = {"subtype": subtype, "steps": (0, 0), "nodes": (0, 0), "optimal": correct, "structure": None, **more}
    values = task_values(type=type, position=position, correct=correct, **done)
    return Score(correct, values)


def tables(scores: list[Score], scoring: Any = "parity") -> dict[str, Breakdown]:
    return {one.title: one for one in breakdowns(scores, scoring)}


def figures(table: Breakdown) -> dict[str, list[tuple[float | None, int]]]:
    return {name: [(cell.value, cell.n) for cell in cells] for name, cells in table.rows.items()}


def test_the_matrix_of_action_type_and_position() -> None:
    scores = [
        task(SINGLE, 0, True, action=True),
        task(SINGLE, 0, False, action=True),  # only its arguments are wrong
        task(SEQUENTIAL, 1, True, action=True),  # any of the multi-tool types
        task(CLARIFY, 1, False, action=False),
        task(CHAT, 3, True, action=True),
    ]
    found = tables(scores)
    assert found[MATRIX].columns == ("Task 1", "Task 2", "Task 3", "Task 4", "all")
    assert figures(found[MATRIX]) == {
        "Single-Tool": [(50, 2), NONE, NONE, NONE, (50, 2)],
        "Multi-Tool": [NONE, (100, 1), NONE, NONE, (100, 1)],
        "Clarify": [NONE, (0, 1), NONE, NONE, (0, 1)],
        "Chat": [NONE, NONE, NONE, (100, 1), (100, 1)],
        "all": [(50, 2), (50, 2), NONE, (100, 1), (60, 5)],
    }
    assert figures(found[ACTIONS_ONLY])["Single-Tool"][0] == (100, 2)
    assert figures(found[ACTIONS_ONLY])["all"][-1] == (80, 5)
    assert [one.heat for one in found.values()] == [True, True, False, False]


def test_attempts_of_a_task_count_as_one() -> None:
    half = {name: 0.5 if name.endswith(" done") else value for name, value in task(CHAT, 0, True).values.items()}
    assert figures(tables([Score(False, half)])[MATRIX])["Chat"][0] == (50, 1)


def test_scores_of_earlier_versions_say_nothing_of_actions_alone() -> None:
    scores = [task(CHAT, 0, True)]
    assert ACTION not in scores[0].values
    assert ACTIONS_ONLY not in tables(scores)


def test_a_run_without_scores_has_no_tables() -> None:
    assert breakdowns([], "parity") == []


def test_results_of_multi_tool_calls() -> None:
    scores = [
        task("Parallel Multi-Tool", 0, True, structure="Parallel Multi-Tool"),
        task("Parallel Multi-Tool", 1, True, structure="Parallel Multi-Tool", optimal=False),
        task(SEQUENTIAL, 2, False, structure=SEQUENTIAL, steps=(3, 4), nodes=(1, 4)),
        # the earlier evaluator's structure is not the type
        task(CLARIFY, 3, True, structure="Mixed Multi-Tool", steps=(6, 6), nodes=(6, 6)),
    ]
    expected = {
        "Parallel Multi-Tool": [(100, 2), (None, 0), (50, 2)],
        "Sequential Multi-Tool": [(0, 1), (75, 4), (None, 0)],
        "Mixed Multi-Tool": [(100, 1), (100, 6), (100, 1)],
        "all": [(75, 4), (90, 10), (pytest.approx(200 / 3), 3)],
    }
    assert figures(tables(scores)["Multi-tool calls"]) == expected
    assert figures(tables(scores, "strict")["Multi-tool calls"])["Sequential Multi-Tool"][1] == (25, 4)


def test_true_and_pseudo_multi_turn_with_the_true_subtypes() -> None:
    scores = [
        task(CHAT, 0, True, subtype=FIRST_TURN),
        task(CHAT, 1, False, subtype=UNKNOWN_SUBTYPE),
        task(CHAT, 1, True, subtype=COREFERENTIAL),
        task(CHAT, 2, False, subtype=COREFERENTIAL),
        task(CHAT, 3, False, subtype=LONG_RANGE),
    ]
    assert figures(tables(scores)["True and pseudo multi-turn"]) == {
        "true multi-turn": [(pytest.approx(100 / 3), 3)],
        "Coreferential Reference": [(50, 2)],
        "Partial Information": [(None, 0)],
        "Long-Range Dependency": [(0, 1)],
        "pseudo multi-turn": [(50, 2)],
        "First Turn": [(100, 1)],
        "Independent": [(0, 1)],
    }


def earlier(*runs: tuple[int, Any]) -> dict[str, Breakdown]:
    """Tables of runs of the greenhouse's tasks, by the earlier evaluator."""
    one = session()
    return tables([score_task(one, one.tasks[position], result, evaluator="2025") for position, result in runs])


def test_error_and_parameter_types_of_the_earlier_evaluator() -> None:
    found = earlier(
        (0, run(0, [call("read", bed="B1")], ANSWER)),
        (0, run(0, "I will not.")),
        (0, run(0, [call("read", bed=1)], ANSWER)),
        (0, run(0, [call("read", bed=1, soil=1)], ANSWER)),
        (3, run(3, [call("list_beds")])),
        (0, None),  # a broken case is wrong and has no class
    )
    errors = figures(found["Error types"])
    assert {name: cells for name, cells in errors.items() if cells[0][0]} == {
        "reject tool calling": [(1, 4), (25, 4), (50, 2), NONE],
        "call function without reject": [(1, 4), (25, 4), (50, 2), NONE],
        "type error": [(1, 4), (25, 4), NONE, (50, 2)],
        "param hallucination": [(1, 4), (25, 4), NONE, (50, 2)],
        "all": [(4, 4), (100, 4), NONE, NONE],
    }
    parameters = figures(found["Parameter error types"])
    assert list(parameters.items()) == [
        ('["string"]', [(2, 3), (pytest.approx(200 / 3), 3)]),  # by frequency
        ("[]", [(1, 3), (pytest.approx(100 / 3), 3)]),
        ("all", [(3, 3), (100, 3)]),
    ]
    # the actions of the two with bad arguments are right
    assert figures(found[ACTIONS_ONLY])["Single-Tool"][0] == (60, 5)
    assert figures(found[MATRIX])["Single-Tool"][0] == (20, 5)


def test_arguments_that_cannot_be_scored_make_an_action_error() -> None:
    assert figures(earlier((0, run(0, [call("read", "{")], ANSWER)))[ACTIONS_ONLY])["Single-Tool"][0] == (0, 1)


def test_the_later_evaluator_has_no_error_types() -> None:
    one = session()
    found = tables([score_task(one, one.tasks[0], run(0, [call("read", bed="B9")], ANSWER))])
    assert list(found) == [MATRIX, ACTIONS_ONLY, "Multi-tool calls", "True and pseudo multi-turn"]
    assert figures(found[ACTIONS_ONLY])["Single-Tool"][0] == (100, 1)
    assert figures(found[MATRIX])["Single-Tool"][0] == (0, 1)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "enum": ["a"]}, '["string"]'),
        ({"type": "array", "items": {"type": "float"}}, '["array", ["float"]]'),
        (
            {"type": "object", "properties": {"type": {"type": "string"}, "b": {"type": "array", "items": {}}}},
            '["object", [["string"], ["array", []]]]',
        ),
        ({"description": "no type"}, "[]"),
        (None, "[]"),
        ("string", "[]"),
    ],
)
def test_signatures_of_parameters(schema: Any, text: str) -> None:
    assert signature(schema) == text


def test_parameters_are_those_that_are_wrong_against_the_counterpart_tried_last() -> None:
    """As upstream: the best counterpart of the first call is the first gold call, the last one tried is the second."""
    beds = [("plant", {"bed": "B1", "rows": 1.0}), ("plant", {"bed": "zzz", "rows": 9.0})]
    gold = session().tasks[1].answer_list
    nodes = [type(gold[0])(place, name, arguments, None, ()) for place, (name, arguments) in enumerate(beds)]
    calls = (LoggedCall("plant", '{"bed": "B1", "rows": 5}'), LoggedCall("plant", '{"bed": "zzz", "rows": 9}'))
    verdict = judge_softly([CallsReply(calls)], nodes, TOOLS, action_correct=True, optimal=True)
    assert [(one.parameters, one.tried_last) for one in verdict.bad] == [(("rows",), ("bed", "rows"))]
    assert wrong_types(verdict, TOOLS) == {'["string"]': 1, '["float"]': 1}


def test_an_early_stop_has_its_share_of_the_parameter_errors() -> None:
    """As upstream, whose denominator of action errors counts it all the same."""
    both = [call("read", bed="B1"), call("read", bed="B2")]
    found = earlier(
        (1, run(1, both, "That is all.")),
        (0, run(0, "I will not.")),
        (0, run(0, [call("read", bed=1)], ANSWER)),
        (0, run(0, [call("read", bed=1)], ANSWER)),
    )
    errors = figures(found["Error types"])
    assert found["Error types"].columns == ("tasks", "per cent", "action", "param")
    wrong = {name: cells[2:] for name, cells in errors.items() if cells[0][0]}
    assert wrong == {
        "call the wrong function": [(50, 2), NONE],
        "reject tool calling": [(50, 2), NONE],
        "type error": [NONE, (100, 2)],
        "all": [NONE, NONE],
    }
    values = {
        f"error {name}": 1.0 for name in ("early stop", "reject tool calling", "type error", "param hallucination")
    }
    shares = figures(tables([Score(False, {**task(CHAT, 0, False).values, **values, "errors": 4.0})])["Error types"])
    assert [shares[name][2:] for name in ("early stop", "reject tool calling", "type error")] == [
        [NONE, (50, 2)],
        [(50, 2), NONE],
        [NONE, (50, 2)],
    ]


def test_first_tasks_that_are_called_multi_turn() -> None:
    scores = [task(CHAT, 0, True, subtype=COREFERENTIAL), task(CHAT, 0, False), task(CHAT, 1, True, subtype=PARTIAL)]
    turns = figures(tables(scores)["True and pseudo multi-turn"])
    assert (turns["true multi-turn"], turns["Coreferential Reference"]) == ([(100, 2)], [(100, 1)])
    assert (turns["pseudo multi-turn"], turns["First Turn"]) == ([(0, 1)], [(0, 1)])


def at(types: list[str], messages: int, correct: bool) -> Score:
    score = task(types[-1], len(types) - 1, correct)
    return Score(correct, {**score.values, **situation_values(types, messages, float(correct))})


def test_accuracy_by_number_of_messages() -> None:
    scores = [at([CHAT], 1, place < 4) for place in range(10)] + [at([CHAT, CHAT], 12, True)] * 11
    scores += [at([CHAT, CHAT], 3, True)] * 9  # too few
    assert figures(tables(scores)["Accuracy by number of messages"]) == {"1": [(40, 10)], "12": [(100, 11)]}
    assert "Accuracy by number of messages" not in tables(scores[:9])


def test_accuracy_by_sequence_of_types_and_its_variance() -> None:
    scores = [
        at([SINGLE], 1, True),
        at([SINGLE, SEQUENTIAL], 5, True),
        at([SINGLE, CHAT], 5, False),
        at([CHAT, SINGLE], 3, False),
        at([SINGLE, SEQUENTIAL, CHAT], 9, True),
    ]
    found = tables(scores)
    triangle = found["Accuracy by sequence of action types"]
    assert triangle.columns == ("Single-Tool", "Multi-Tool", "Clarify", "Chat")
    assert figures(triangle) == {
        "none": [(100, 1), NONE, NONE, NONE],
        "Single-Tool": [NONE, (100, 1), NONE, (0, 1)],
        "Chat": [(0, 1), NONE, NONE, NONE],
        "Single-Tool, Multi-Tool": [NONE, NONE, NONE, (100, 1)],
    }
    # of 0.5 and 0 after one task; of a single sequence it is 0
    assert figures(found["Variance over layers"]) == {"2": [(0, 1)], "1": [(12.5, 2)]}


def test_the_messages_that_a_task_begins_with_are_counted_as_in_the_earlier_release() -> None:
    """Results of one reply are one message: a question and an answer are two, and so are calls and their results."""
    one = session()
    assert [messages_of(one, each) for each in one.tasks] == [1, 5, 11, 17]
    assert [messages_of(one, each, context=False) for each in one.tasks] == [1, 1, 1, 1]
