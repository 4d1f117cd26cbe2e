"""The earlier evaluator's rules (wild spec 7), one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench_wild.data import GoldNode
from bench_wild.evaluator2025 import Reply, SoftVerdict, action_class, judge_softly, parameter_kind, wrong_parameters
from bench_wild.labels import ASK, PREPARE
from bench_wild.steps import Call
from tests.wild.scoring import tool


def gold(*nodes: tuple[str, dict[str, Any]]) -> list[GoldNode]:
    """Actions in a row and the final answer."""
    return [GoldNode(place, name, arguments, None, ()) for place, (name, arguments) in enumerate([*nodes, (PREPARE, {})])]


def reply(*calls: tuple[str, Any]) -> Reply:
    return Reply(tuple(Call(name, arguments if isinstance(arguments, str) else json.dumps(arguments)) for name, arguments in calls))


TEXT = Reply()


def scored(schema: dict[str, Any], predicted: Any, wanted: Any, *, more: dict[str, Any] | None = None) -> SoftVerdict:
    """One call with the argument ``x``; ``more`` are further predicted arguments."""
    tools = [tool("f", x=schema, kind={"type": "string", "description": "high, low or null; low by default"})]
    return judge_softly(
        [reply(("f", {"x": predicted, **(more or {})})), TEXT], gold(("f", {"x": wanted})), tools, action_correct=True, optimal=True
    )


STRING, NUMBER = {"type": "string"}, {"type": "integer"}
LIST = {"type": "array", "items": {"type": "integer"}}
OBJECT = {"type": "object", "properties": {"a": NUMBER, "b": {"type": "string", "description": "north by default"}}}


@pytest.mark.parametrize(
    ("schema", "predicted", "wanted", "score", "kinds"),
    [
        (NUMBER, 3, 3.0, 1, ()),
        (NUMBER, "3", 3, 0, ("type error",)),
        (NUMBER, True, 1, 0, ("type error",)),
        (NUMBER, 3, 4, 0, ("param value error",)),
        (STRING, "North Bed", "northbed", 1, ()),
        (STRING, "12.5,3.25", "13.1,4.0", 1, ()),  # coordinates are all the same
        (STRING, "the north bed", "the south bed", 0.8, ()),  # blanks are words
        (STRING, "north", "south", 0, ("param value error",)),
        (LIST, [2, 1], [1, 2], 1, ()),
        (LIST, [1], [1, 2], 0, ("param value error",)),
        (LIST, [1, 3], [1, 2], 0.5, ("param value error",)),
        (OBJECT, {"a": 1}, {"a": 1, "b": "east"}, 1, ()),
        (OBJECT, {"a": 1, "c": 2}, {"a": 1}, 0, ("param hallucination",)),
        (OBJECT, {"a": 1, "b": "north"}, {"a": 1}, 1, ()),
        (OBJECT, {"a": 1, "b": "west"}, {"a": 1}, 0.5, ("param value hallucination",)),
        (OBJECT, {}, {"a": 1}, 0, ("param value error",)),
        ({"type": "date"}, "a", "b", 0, ("param value error",)),
    ],
)
def test_value_scores(schema: dict[str, Any], predicted: Any, wanted: Any, score: float, kinds: tuple[str, ...]) -> None:
    verdict = scored(schema, predicted, wanted)
    assert verdict.scores == (pytest.approx(score),)
    assert verdict.correct == (score >= 0.7)
    assert [one.kinds for one in verdict.bad] == ([kinds] if score < 0.7 else [])
    assert verdict.error == (kinds[0] if score < 0.7 else None)


@pytest.mark.parametrize(
    ("more", "score"),
    [
        ({"kind": "low"}, 1),  # the description names it
        ({"kind": None}, 1),
        ({"kind": "none at all"}, 0.5),
        ({"other": 1}, 0.5),
    ],
)
def test_arguments_that_the_gold_leaves_out(more: dict[str, Any], score: float) -> None:
    assert scored(NUMBER, 1, 1, more=more).scores == (score,)


def test_arguments_that_the_model_leaves_out_cost_nothing() -> None:
    tools = [tool("f", ["x"], x=NUMBER, y=NUMBER)]
    verdict = judge_softly([reply(("f", {"x": 1})), TEXT], gold(("f", {"x": 1, "y": 2})), tools, action_correct=True, optimal=True)
    assert (verdict.correct, verdict.scores) == (True, (1.0,))
    missing = judge_softly([reply(("f", {"y": 2})), TEXT], gold(("f", {"x": 1, "y": 2})), tools, action_correct=True, optimal=True)
    assert (missing.error, missing.scores) == ("miss required params", (0.0,))


def test_each_call_takes_the_best_of_the_gold_calls_that_are_left() -> None:
    tools = [tool("f", x=NUMBER)]
    wanted = gold(("f", {"x": 1}), ("f", {"x": 2}))
    crossed = judge_softly([reply(("f", {"x": 2}), ("f", {"x": 1})), TEXT], wanted, tools, action_correct=True, optimal=True)
    assert crossed.scores == (1.0, 1.0)
    (bad,) = judge_softly([reply(("f", {"x": 2}), ("f", {"x": 3})), TEXT], wanted, tools, action_correct=True, optimal=True).bad
    assert (bad.reply, bad.call.arguments, bad.gold.arguments) == (0, '{"x": 3}', '{"x": 1}')


def test_the_kinds_of_a_bad_call_are_those_of_the_counterpart_tried_last() -> None:
    tools = [tool("f", x=NUMBER, y=NUMBER)]
    wanted = gold(("f", {"x": 1, "y": 2}), ("f", {"x": "one", "y": 9}))
    replies = [reply(("f", {"x": 1, "y": 3}), ("f", {"x": "one", "y": 9})), TEXT]
    (bad,) = judge_softly(replies, wanted, tools, action_correct=True, optimal=True).bad
    assert (bad.score, bad.kinds, bad.parameters) == (0.5, ("type error", "param value error"), ("y",))


@pytest.mark.parametrize("arguments", ["{", "3", "null", {}])
def test_what_cannot_be_scored_becomes_an_action_error(arguments: Any) -> None:
    verdict = judge_softly([reply(("f", arguments)), TEXT], gold(("f", {"x": 1})), [tool("f", x=NUMBER)], action_correct=True, optimal=True)
    assert (verdict.unscorable, verdict.correct, verdict.scores) == (True, False, None)
    assert verdict.error == "redundant tool calling"


def test_calls_that_are_not_those_of_the_gold_cannot_be_scored() -> None:
    verdict = judge_softly([reply(("f", {}), ("f", {})), TEXT], gold(("f", {})), [tool("f")], action_correct=True, optimal=True)
    assert verdict.unscorable


ASKING = [GoldNode(0, ASK, {}, None, ()), GoldNode(1, "f", {}, None, (0,)), GoldNode(2, PREPARE, {}, None, (1,))]


@pytest.mark.parametrize(
    ("replies", "wanted", "expected"),
    [
        ([TEXT], gold(("f", {})), "reject tool calling"),
        ([reply(("f", {}))], gold(), "call function without reject"),
        ([reply(("filter_by_prompt", {}))], gold(("f", {})), "reject tool calling"),
        ([reply(("dig", {}))], gold(("f", {})), "function name hallucination"),
        ([reply(("f", {}))], ASKING, "missing information in tool calling"),
        ([reply(("f", {})), reply(("f", {}))], gold(("f", {})), "redundant tool calling"),
        ([reply(("g", {}))], gold(("f", {}), ("f", {})), "call the wrong function"),
        ([reply(("f", {}), ("f", {}))], gold(("f", {}), ("g", {})), "redundant tool calling"),
        ([reply(("f", {}))], gold(("f", {}), ("g", {})), "early stop"),
        ([reply(("f", {})), TEXT], gold(("f", {}), ("g", {})), "call the wrong function"),  # a text is a question
    ],
)
def test_classes_of_action_errors(replies: list[Reply], wanted: list[GoldNode], expected: str) -> None:
    tools = [tool("f"), tool("g")]
    assert action_class(replies, wanted, {"f", "g"}) == expected
    assert judge_softly(replies, wanted, tools, action_correct=False, optimal=False).error == expected


def test_progress() -> None:
    tools = [tool("f", x=NUMBER), tool("g")]
    wanted = gold(("f", {"x": 1}), ("f", {"x": 2}), ("g", {}))
    both = reply(("f", {"x": 1}), ("f", {"x": 2}))
    assert judge_softly([both, reply(("g", {})), TEXT], wanted, tools, action_correct=True, optimal=True).progress == 4
    assert judge_softly([both, TEXT], wanted, tools, action_correct=False, optimal=False).progress == 2
    wrong = reply(("f", {"x": 1}), ("f", {"x": 3}))
    assert judge_softly([wrong, reply(("g", {})), TEXT], wanted, tools, action_correct=True, optimal=True).progress == 4


def test_optimal_needs_right_arguments() -> None:
    assert scored(NUMBER, 1, 1).optimal
    assert not scored(NUMBER, 1, 2).optimal


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        (STRING, "string"),
        ({"type": "string", "enum": ["a"]}, "string enum"),
        ({"type": "integer", "enum": [1]}, "integer enum"),
        ({"type": "number"}, "float"),
        (LIST, "array"),
        (OBJECT, "object"),
        ({"type": "object", "properties": {"a": OBJECT}}, "nested object"),
        ({}, "string"),
        ({"type": "date"}, "other"),
        (None, "other"),
    ],
)
def test_kinds_of_parameters(schema: dict[str, Any] | None, kind: str) -> None:
    assert parameter_kind(schema) == kind


def test_wrong_parameters_are_counted_by_kind() -> None:
    verdict = scored(NUMBER, 1, 2, more={"other": 1})
    assert wrong_parameters(verdict, [tool("f", x=NUMBER)]) == {"integer": 1, "other": 1}
