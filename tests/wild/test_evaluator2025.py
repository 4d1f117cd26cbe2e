"""The earlier evaluator's rules (docs/benchmarks/wild.md#evaluator-of-2025), one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench_wild.data import GoldNode
from bench_wild.evaluator2025 import (
    CallsReply,
    SoftVerdict,
    action_class,
    judge_softly,
    parameter_kind,
    wrong_parameters,
)
from bench_wild.labels import ASK, PREPARE
from bench_wild.steps import LoggedCall, read_calls
from tests.wild.scoring import tool


def gold(*nodes: tuple[str, dict[str, Any]]) -> list[GoldNode]:
    """Actions in a row and the final answer."""
    return [
        GoldNode(place, name, arguments, None, ()) for place, (name, arguments) in enumerate([*nodes, (PREPARE, {})])
    ]


def reply(*calls: tuple[str, Any]) -> CallsReply:
    return CallsReply(
        tuple(
            LoggedCall(name, arguments if isinstance(arguments, str) else json.dumps(arguments))
            for name, arguments in calls
        )
    )


TEXT = CallsReply()


def scored(schema: dict[str, Any], predicted: Any, wanted: Any, *, more: dict[str, Any] | None = None) -> SoftVerdict:
    """One call with the argument ``x``; ``more`` are further predicted arguments."""
    tools = [tool("f", x=schema, kind={"type": "string", "description": "high, low or null; low by default"})]
    return judge_softly(
        [reply(("f", {"x": predicted, **(more or {})})), TEXT],
        gold(("f", {"x": wanted})),
        tools,
        action_correct=True,
        optimal=True,
    )


STRING, NUMBER = {"type": "string"}, {"type": "integer"}
LIST = {"type": "array", "items": {"type": "integer"}}
WORDS = {"type": "array", "items": {"type": "string"}}
BEDS = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}
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
        (STRING, "12.5,3.25 N", "13.1,4.0", 0.25, ("param value error",)),
        (STRING, "12.5,3.25", "13.1,4.0 N", 0.25, ("param value error",)),
        (STRING, "at 12.5,3.25", "at 13.1,4.0", 0.6, ("param value error",)),
        (
            STRING,
            "\u0391\u03a3 \u0392",
            "\u03b1\u03c2 \u03b2",
            1,
            (),
        ),  # the same in lower case, as long as the blank stays
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
        (OBJECT, {"a": 2, "c": 2}, {"a": 1}, 0, ("param hallucination",)),  # what was found before it does not count
        (
            WORDS,
            ["\u79cd", "b"],
            ["a", "b"],
            0.5,
            ("param value error",),
        ),  # sorted by escaped text, "\\u79cd" before "b"
        (BEDS, [{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}], 1, ()),
        (BEDS, [{"c": 1}], [{"a": 1}], 0, ("param hallucination",)),
        ({}, 1, 1, 1, ()),  # equal values need no type
        ({}, "1", 1, 0, ("type error",)),
        ({"type": "date"}, "a", "A", 1, ()),
    ],
)
def test_value_scores(
    schema: dict[str, Any], predicted: Any, wanted: Any, score: float, kinds: tuple[str, ...]
) -> None:
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
    verdict = judge_softly(
        [reply(("f", {"x": 1})), TEXT], gold(("f", {"x": 1, "y": 2})), tools, action_correct=True, optimal=True
    )
    assert (verdict.correct, verdict.scores) == (True, (1.0,))
    missing = judge_softly(
        [reply(("f", {"y": 2})), TEXT], gold(("f", {"x": 1, "y": 2})), tools, action_correct=True, optimal=True
    )
    assert (missing.error, missing.scores) == ("miss required params", (0.0,))


def test_each_call_takes_the_best_of_the_gold_calls_that_are_left() -> None:
    tools = [tool("f", x=NUMBER)]
    wanted = gold(("f", {"x": 1}), ("f", {"x": 2}))
    crossed = judge_softly(
        [reply(("f", {"x": 2}), ("f", {"x": 1})), TEXT], wanted, tools, action_correct=True, optimal=True
    )
    assert crossed.scores == (1.0, 1.0)
    (bad,) = judge_softly(
        [reply(("f", {"x": 2}), ("f", {"x": 3})), TEXT], wanted, tools, action_correct=True, optimal=True
    ).bad
    assert (bad.reply, bad.call.arguments, bad.gold.arguments) == (0, '{"x": 3}', '{"x": 1}')


def test_the_kinds_of_a_bad_call_are_those_of_the_counterpart_tried_last() -> None:
    tools = [tool("f", x=NUMBER, y=NUMBER)]
    wanted = gold(("f", {"x": 1, "y": 2}), ("f", {"x": "one", "y": 9}))
    replies = [reply(("f", {"x": 1, "y": 3}), ("f", {"x": "one", "y": 9})), TEXT]
    (bad,) = judge_softly(replies, wanted, tools, action_correct=True, optimal=True).bad
    assert (bad.score, bad.kinds, bad.parameters) == (0.5, ("type error", "param value error"), ("y",))


@pytest.mark.parametrize(
    ("description", "value", "score"),
    [
        ("Defaults to True.", True, 1.0),
        ("Default FALSE", True, 0.0),
        ("May be NULL.", None, 1.0),
        ("a text", None, 0.0),
        ("NORTH by default", "North", 1.0),
    ],
)
def test_a_description_is_read_without_regard_to_case(description: str, value: Any, score: float) -> None:
    schema = {"type": "string", "description": description}
    tools = [tool("f", x=schema, y={"type": "object", "properties": {"z": schema}})]
    for given, wanted in (({"x": value}, {}), ({"y": {"z": value}}, {"y": {}})):
        verdict = judge_softly(
            [reply(("f", given)), TEXT], gold(("f", wanted)), tools, action_correct=True, optimal=True
        )
        assert (verdict.scores, verdict.error) == ((score,), None if score else "param value hallucination")


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{",
        "3",
        "null",
        "[]",
        "[" * 5_000,
        '{"x": %s}' % ("1" * 10_000),
        '{"x": 1%s}' % ("0" * 400),  # no float
        '["x"]',  # names the parameter, but has no value for it
        '[{"x": 1}]',
        '{"x": {"a": 1}, "y": {"type": 1}}',
        None,
        3,
        {},
    ],
    ids=repr,
)
def test_arguments_on_which_the_original_raises_are_an_action_error(arguments: Any) -> None:
    tools = [tool("f", x=NUMBER, y={"type": "object"})]
    made = CallsReply((LoggedCall("f", arguments),))
    verdict = judge_softly([made, TEXT], gold(("f", {"x": 1, "y": {}})), tools, action_correct=True, optimal=True)
    assert (verdict.correct, verdict.scores) == (False, None)
    assert verdict.error == "redundant tool calling"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ('"none"', "param hallucination"),  # letters of a text are names
        ('["y", "z"]', "param hallucination"),
        ('{"x": NaN}', "param value error"),
        ('{"x": Infinity}', "param value error"),
        ('{"x": "\\ud800"}', "type error"),
    ],
)
def test_odd_arguments_that_the_original_can_score(arguments: str, error: str) -> None:
    verdict = judge_softly(
        [reply(("f", arguments)), TEXT],
        gold(("f", {"x": 1.5})),
        [tool("f", x=NUMBER)],
        action_correct=True,
        optimal=True,
    )
    assert (verdict.scores, verdict.error) == ((0.0,), error)


BARE = {"type": "function", "function": {"name": "f", "description": ""}}


def of_parameters(**parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


@pytest.mark.parametrize(
    ("one", "predicted", "wanted"),
    [
        (tool("f", x={}), {"x": 1}, {"x": 2}),  # no type
        (tool("f", x={"description": "a text"}), {"x": "a"}, {"x": "b"}),
        (tool("f", x={"type": "date"}), {"x": "a"}, {"x": "b"}),  # an unknown type
        (tool("f", x={"type": "object"}), {"x": "a"}, {"x": "b"}),  # a type that the value is not of
        (tool("f", x={"type": "array"}), {"x": "a"}, {"x": "b"}),
        (tool("f", x={"type": "string"}), {"x": [1]}, {"x": [2]}),
        (tool("f", x={"type": ["string", "null"]}), {"x": "a"}, {"x": "b"}),
        (tool("f", x={"type": "object"}), {"x": {"type": 1}}, {"x": {}}),  # the description of "object"
        (tool("f", x="a text"), {"x": 1}, {"x": 2}),
        (tool("f", x={"type": "array", "items": {"type": "object", "properties": {}}}), {"x": ["a"]}, {"x": ["b"]}),
        (BARE, {"x": 1}, {"x": 1}),
        (BARE, {}, {}),
        (of_parameters(type="object"), {"x": 1}, {"x": 1}),  # no properties
    ],
)
def test_schemas_on_which_the_original_raises_make_an_action_error(one: Any, predicted: Any, wanted: Any) -> None:
    verdict = judge_softly(
        [reply(("f", predicted)), TEXT], gold(("f", wanted)), [one], action_correct=True, optimal=True
    )
    assert (verdict.error, verdict.scores) == ("redundant tool calling", None)


def test_a_tool_without_properties_takes_a_call_without_arguments() -> None:
    verdict = judge_softly(
        [reply(("f", {})), TEXT], gold(("f", {})), [of_parameters(type="object")], action_correct=True, optimal=True
    )
    assert verdict.scores == (1.0,)


def test_calls_that_are_not_those_of_the_gold_cannot_be_scored() -> None:
    verdict = judge_softly(
        [reply(("f", {}), ("f", {})), TEXT], gold(("f", {})), [tool("f")], action_correct=True, optimal=True
    )
    assert (verdict.correct, verdict.scores) == (False, None)


ASKING = [GoldNode(0, ASK, {}, None, ()), GoldNode(1, "f", {}, None, (0,)), GoldNode(2, PREPARE, {}, None, (1,))]


@pytest.mark.parametrize(
    ("replies", "wanted", "expected"),
    [
        ([TEXT], gold(("f", {})), "reject tool calling"),
        ([reply(("f", {}))], gold(), "call function without reject"),
        ([reply(("filter_by_prompt", {}))], gold(("f", {})), "reject tool calling"),
        ([reply(("dig", {}))], gold(("f", {})), "function name hallucination"),
        (
            [reply(("filter_by_prompt", {})), reply(("dig", {}))],
            gold(("f", {})),
            "function name hallucination",
        ),  # the last one
        ([CallsReply((LoggedCall({"f": 1}, "{}"),))], gold(("f", {})), "function name hallucination"),  # type: ignore[arg-type]
        ([reply(("f", {}))], ASKING, "missing information in tool calling"),
        ([reply(("f", {})), reply(("f", {}))], gold(("f", {})), "redundant tool calling"),
        ([reply(("g", {}))], gold(("f", {}), ("f", {})), "call the wrong function"),
        ([reply(("f", {}), ("f", {}))], gold(("f", {}), ("g", {})), "redundant tool calling"),
        ([reply(("f", {}))], gold(("f", {}), ("g", {})), "early stop"),
        ([reply(("f", {})), TEXT], gold(("f", {}), ("g", {})), "call the wrong function"),  # a text is a question
    ],
)
def test_classes_of_action_errors(replies: list[CallsReply], wanted: list[GoldNode], expected: str) -> None:
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


GET = [tool("get", city={"type": "string"}, unit={"type": "string"})]
TWO_CITIES = gold(("get", {"city": "Paris"}), ("get", {"city": "Rome"}))
PARIS, ROME = '{"city": "Paris"}', '{"city": "Rome"}'
TWICE = json.dumps(ROME)


@pytest.mark.parametrize(
    ("first", "second", "correct", "scores", "left"),
    [
        (TWICE, PARIS, True, (1.0, 1.0), [{"city": "Rome"}, {"city": "Paris"}]),
        (ROME, PARIS, True, (1.0, 1.0), [{"city": "Rome"}, {"city": "Paris"}]),
        # of the last counterpart alone there is no second comparison
        (
            '{"city": "Rome"}',
            json.dumps('{"city": "Paris"}'),
            False,
            (1.0, 0.0),
            [{"city": "Rome"}, '{"city": "Paris"}'],
        ),
        # the second decoding fails, which makes an action error
        (json.dumps("Rome"), PARIS, False, None, ["Rome"]),
    ],
)
def test_each_comparison_decodes_what_the_one_before_left(
    first: str, second: str, correct: bool, scores: Any, left: list[Any]
) -> None:
    """As upstream: arguments are decoded in place, so that JSON in JSON is read where there are two counterparts."""
    replies = [reply(("get", first), ("get", second)), TEXT]
    verdict = judge_softly(replies, TWO_CITIES, GET, action_correct=True, optimal=True)
    assert (verdict.correct, verdict.scores, list(verdict.decoded.values())) == (correct, scores, left)


def test_empty_arguments_that_were_encoded_twice() -> None:
    wanted = gold(("get", {}), ("get", {}))
    replies = [reply(("get", '"{}"'), ("get", "{}")), TEXT]
    assert judge_softly(replies, wanted, GET, action_correct=True, optimal=True).correct


NAMELESS = {"function": {"arguments": "{}"}}


@pytest.mark.parametrize(
    ("replies", "error", "stops"),
    [
        ([[NAMELESS], None], "redundant tool calling", ""),  # two texts where one call is wanted
        ([[{"id": "1"}], None], "redundant tool calling", ""),
        ([["get"], None], "redundant tool calling", ""),
        ([[{"function": "get"}], None], "redundant tool calling", ""),
        ([[{"function": []}], None], "redundant tool calling", ""),
        ([[NAMELESS]], "reject tool calling", ""),
        ([[{"function": {"name": None}}], None], "function name hallucination", ""),
        ([[{"function": {"name": "get"}}, NAMELESS], None], "function name hallucination", "KeyError"),
        ([[{"function": {"name": "other"}}, NAMELESS], None], "function name hallucination", ""),  # it is not reached
        ([[{"function": {"name": ["get"]}}], None], "function name hallucination", "TypeError"),
        ([[{"function": {"name": {}}}], None], "function name hallucination", "TypeError"),
        ([[{"function": None}], None], "function name hallucination", "TypeError"),
        ([[{"function": True}], None], "function name hallucination", "TypeError"),
        ([[{"function": "rename"}], None], "function name hallucination", "TypeError"),
        ([[None]], "function name hallucination", "TypeError"),
        ([0, None], "function name hallucination", "TypeError"),
        ([{}, None], "redundant tool calling", ""),
        ([[{"function": {"name": "get"}}, {"function": None}]], "function name hallucination", "TypeError"),
    ],
)
def test_a_call_without_a_name(replies: list[Any], error: str, stops: str) -> None:
    """As upstream: the class reads a reply whose first call has no name as a text, and stops at a later one."""
    made = [CallsReply(tuple(read_calls(calls))) for calls in replies]
    verdict = judge_softly(made, gold(("get", {})), GET, action_correct=False, optimal=False)
    assert (verdict.correct, verdict.error, verdict.stops) == (False, error, stops)


@pytest.mark.parametrize(
    ("replies", "error", "stops"),
    [
        ([[{"function": None}]], "call function without reject", "TypeError"),
        ([[NAMELESS]], "reject tool calling", ""),
        ([[{"function": {"name": {}}}]], "call function without reject", ""),
        ([[{"function": {"name": "get"}}, {"function": None}]], "call function without reject", ""),
        ([None, [{"function": None}]], "call function without reject", ""),
    ],
)
def test_where_no_call_is_wanted_only_a_single_reply_is_looked_at(replies: list[Any], error: str, stops: str) -> None:
    made = [CallsReply(tuple(read_calls(calls))) for calls in replies]
    verdict = judge_softly(made, gold(), GET, action_correct=False, optimal=False)
    assert (verdict.correct, verdict.error, verdict.stops) == (False, error, stops)
