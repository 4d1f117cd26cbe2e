"""Checking a call's arguments against schema and gold, comparing texts, and whatever a model or a data set gives
instead: everything gets a verdict.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bench_wild
from agentgauge.core.types import Json, Score
from bench_wild import data
from bench_wild.arguments import (
    DEEPEST,
    INVALID_JSON,
    check,
    check_schema,
    compare_text,
    find_tool,
    longest_common,
    rouge_l,
    same_text,
    words,
)
from bench_wild.evaluator2025 import CallsReply
from bench_wild.fixes import PARITY, STRICT, Fix
from bench_wild.oracle import answers, play
from bench_wild.prompts import RELEASES
from bench_wild.score import score_soft, score_task
from bench_wild.source import WildData
from bench_wild.steps import LoggedCall
from tests.wild.scoring import ANSWER, call, run, session


@pytest.mark.slow
@pytest.mark.parametrize(
    ("predicted", "gold", "outcome"),
    [
        ("north bed", "north bed", "correct"),
        ("North  Bed\n", "northbed", "correct"),
        ("B2", "B1", "error_match: string similarity too low at 'bed' (edit score: 0.50)"),
        # close enough by letters, but then words are compared as well
        ("tomatos", "tomatoes", "error_match: string similarity too low at 'bed' (rouge score: 0.00)"),
        ("water the beds every morning", "water the beds each morning", "correct"),
        ("...", "water the beds", "error_match: rouge calculation failed at 'bed'"),
    ],
)
def test_outcomes(predicted: str, gold: str, outcome: str) -> None:
    assert compare_text(predicted, gold, "bed") == outcome


@pytest.mark.slow
def test_no_path_no_place_in_the_message() -> None:
    assert compare_text("x", "y", "") == "error_match: string similarity too low (edit score: 0.00)"


@pytest.mark.slow
def test_long_texts_fail_as_upstream_unless_any_length_is_asked_for() -> None:
    gold = " ".join(f"w{number}" for number in range(DEEPEST + 1))
    assert compare_text(f"{gold} more", gold, "p") == "error_match: rouge calculation failed at 'p'"
    assert compare_text(f"{gold} more", gold, "p", any_length=True) == "correct"
    beside = " ".join(f"x{number}" for number in range(DEEPEST - 2))
    assert compare_text(beside, f"{beside} y z", "p") == "correct"
    # a long way back through a text that shares nothing but its first word
    assert compare_text(f"same {gold}", "same and then another text", "p").startswith(
        "error_match: rouge calculation failed"
    )


@pytest.mark.slow
def test_same_text_ignores_whitespace_and_case() -> None:
    assert same_text("A b\tC", "abc")
    assert not same_text("naïve", "naive")


@pytest.mark.slow
def test_longest_common() -> None:
    assert longest_common(list("abcd"), list("bxd")) == 2
    assert longest_common([], ["a"]) == 0


@pytest.mark.slow
def test_words_keep_blanks_and_punctuation() -> None:
    assert words("种植 番茄！") == ["种植", " ", "番茄", "！"]


texts = st.lists(st.sampled_from(["a", "b", "c", "a.", "b. ", "...", "  ", "\t"]), max_size=12).map(" ".join)


@pytest.mark.slow
@given(texts, texts)
@settings(deadline=None)
def test_rouge_is_the_package_s_to_the_bit(predicted: str, gold: str) -> None:
    rouge = pytest.importorskip("rouge")
    try:
        expected = rouge.Rouge(metrics=["rouge-l"]).get_scores(predicted, gold)[0]["rouge-l"]["f"]
    except (ValueError, LookupError):
        with pytest.raises(ValueError, match="sentence"):
            rouge_l(predicted, gold)
    else:
        assert rouge_l(predicted, gold) == expected


@pytest.mark.slow
def test_jieba_and_rouge_are_not_imported_before_a_comparison_needs_them() -> None:
    code = """
import sys
import bench_wild.score, bench_wild.files
from bench_wild.arguments import compare_text
compare_text("water the beds every morning", "water the beds each morning", "p")
assert not {"jieba", "rouge", "rouge_score"} & set(sys.modules)
compare_text("种番茄", "种番茄吧", "p")
assert "jieba" in sys.modules
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


NOTHING = object()


def tool(**properties: Any) -> dict[str, Any]:
    required = [name for name, schema in properties.items() if isinstance(schema, dict) and schema.pop("needed", False)]
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": "plant", "description": "", "parameters": parameters}}


@pytest.mark.parametrize(
    ("fix", "schema", "predicted", "gold", "parity"),
    [
        (Fix.ANY_TYPE, {}, 3, 3, "error_schema: nested args type inconsistent"),
        (Fix.FREE_OBJECTS, {"type": "object"}, {"a": 1}, {"a": 1}, "error_schema: nested args not defined"),
        (
            Fix.FREE_OBJECTS,
            {"type": "object", "additionalProperties": True},
            {"type": [1]},
            {"type": [1]},
            "error: comparison failed - 'str' object has no attribute 'get'",
        ),
        (Fix.DEFAULTS, {"type": "integer", "default": 3}, 3, NOTHING, "error_match: args keys mismatch (extra: ['x'])"),
        (
            Fix.DEFAULTS,
            {"type": "integer", "default": 3},
            NOTHING,
            3,
            "error_match: args keys mismatch (missing: ['x'])",
        ),
        (Fix.SAME_NUMBER, {"type": "number"}, 3, 3.0, "error_match: value type inconsistent at 'x'"),
    ],
)
def test_each_fix_mends_what_parity_keeps(
    fix: Fix, schema: dict[str, Any], predicted: Any, gold: Any, parity: str
) -> None:
    plant = tool(x=dict(schema))
    given, wanted = ({} if value is NOTHING else {"x": value} for value in (predicted, gold))
    assert check(plant, json.dumps(given), wanted, PARITY) == parity
    assert check(plant, json.dumps(given), wanted, frozenset({fix})) == "correct"
    assert check(plant, json.dumps(given), wanted, STRICT) == "correct"


@pytest.mark.parametrize(
    ("predicted", "gold", "outcome"),
    [
        (True, 1, "error_match: value type inconsistent at 'x'"),
        (1, 2, "error_match: value mismatch at 'x'"),
        (4, NOTHING, "error_match: value mismatch at 'x'"),
    ],
)
def test_strict_forgives_no_wrong_value(predicted: Any, gold: Any, outcome: str) -> None:
    plant = tool(x={"type": "integer", "default": 3})
    assert check(plant, json.dumps({"x": predicted}), {} if gold is NOTHING else {"x": gold}, STRICT) == outcome


@pytest.mark.parametrize("predicted", ["", "{", "nonsense", "{'x': 1}", '{"x": 1} {"x": 1}'])
def test_what_is_no_json_is_an_error(predicted: str) -> None:
    assert check(tool(), predicted, {}, PARITY) == INVALID_JSON


@pytest.mark.parametrize(
    ("predicted", "error"),
    [("[" * 100_000, RecursionError), ('{"x": %s}' % ("1" * 10_000), ValueError)],
    ids=["nested", "long"],
)
def test_what_the_original_cannot_read_is_raised_under_parity_and_no_json_under_strict(
    predicted: str, error: type[Exception]
) -> None:
    with pytest.raises(error) as raised:
        check(tool(x={"type": "integer"}), predicted, {"x": 1}, PARITY)
    assert not isinstance(raised.value, json.JSONDecodeError)
    assert check(tool(x={"type": "integer"}), predicted, {"x": 1}, frozenset({Fix.ANY_TEXT})) == INVALID_JSON


INTEGER = {"type": "integer"}
UNDEFINED, WRONG_TYPE = "error_schema: nested args not defined", "error_schema: nested args type inconsistent"


@pytest.mark.parametrize("fixes", [PARITY, STRICT], ids=["parity", "strict"])
@pytest.mark.parametrize(
    ("schema", "value", "outcome"),
    [
        (True, "x", "correct"),
        (True, [1, {"a": [2]}], "correct"),
        (False, "x", UNDEFINED),
        (None, {"a": 1}, "correct"),
        ({"type": "array", "items": True}, [1, "a", [2]], "correct"),
        ({"type": "array", "items": False}, [], "correct"),
        ({"type": "array", "items": False}, [1], UNDEFINED),
        ({"type": "array", "items": None}, [[1], {"a": 1}], "correct"),
        ({"type": "object", "properties": {"a": True}}, {"a": [1]}, "correct"),
        ({"type": "object", "properties": {"a": False}}, {"a": 1}, UNDEFINED),
        ({"type": "object", "properties": {"a": True}, "required": None}, {"a": 1}, "correct"),
        ({"type": "object", "properties": {"a": True}, "required": True}, {"a": 1}, "correct"),
        ({"anyOf": [True, {"type": "null"}]}, 3, "correct"),
        ({"anyOf": None, "type": "integer"}, 3, "correct"),
        ({"type": "integer", "enum": None}, 3, "correct"),
        ({"type": None}, 3, "correct"),
    ],
)
def test_schemas_on_which_the_original_stops_are_read(schema: Any, value: Any, outcome: str, fixes: Any) -> None:
    plant = tool()
    plant["function"]["parameters"]["properties"] = {"x": schema}
    assert check(plant, json.dumps({"x": value}), {"x": value}, fixes) == outcome


@pytest.mark.parametrize(
    ("schema", "value", "outcome"),
    [
        ({"type": ["string", "null"]}, None, "correct"),
        ({"type": ["string", "null"]}, "x", "correct"),
        ({"type": ["string", "null"]}, 3, WRONG_TYPE),
        ({"type": ["array", "object"], "items": {"type": "integer"}}, ["x"], WRONG_TYPE),
        ({"type": []}, 3, "correct"),
        ({"type": {"type": "string"}}, 3, "correct"),
    ],
)
def test_lists_of_types_stop_parity_and_are_read_by_strict(schema: Any, value: Any, outcome: str) -> None:
    plant, given = tool(x=schema), json.dumps({"x": value})
    with pytest.raises(TypeError, match="unhashable type"):
        check(plant, given, {"x": value}, PARITY)
    assert check(plant, given, {"x": value}, STRICT) == check_schema(plant, given, PARITY) == outcome


PLACE = {"type": "object", "properties": {"city": {"type": "string"}, "near": {"$ref": "#/$defs/Place"}}}
ROW = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}


@pytest.mark.parametrize(
    ("schema", "value", "parity", "strict"),
    [
        ({"$ref": "#/$defs/Place"}, {"city": "Ulm", "near": {"city": "Bonn"}}, WRONG_TYPE, "correct"),
        ({"$ref": "#/$defs/Place"}, {"city": "Ulm", "near": {"city": 3}}, WRONG_TYPE, WRONG_TYPE),
        ({"$ref": "#/$defs/Place"}, "Ulm", "correct", WRONG_TYPE),
        ({"$ref": "#/$defs/a~1b%20c"}, 3, WRONG_TYPE, "correct"),
        ({"$ref": "#/$defs/loop"}, 3, WRONG_TYPE, "correct"),
        ({"$ref": "#/$defs/no"}, 3, WRONG_TYPE, UNDEFINED),
        ({"$ref": "#/$defs/missing"}, 3, WRONG_TYPE, "correct"),
        ({"$ref": "https://example.org/place.json"}, 3, WRONG_TYPE, "correct"),
        ({"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]}, {"city": "Ulm"}, WRONG_TYPE, "correct"),
        ({"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]}, 3, WRONG_TYPE, WRONG_TYPE),
        ({"type": "array", "items": [{"type": "string"}, INTEGER]}, ["a", 1], WRONG_TYPE, "correct"),
        ({"type": "array", "items": [{"type": "string"}, INTEGER]}, ["a", "b"], "correct", WRONG_TYPE),
        ({"type": "array", "items": [INTEGER], "additionalItems": False}, ["a", "b"], "correct", WRONG_TYPE),
        ({"type": "array", "items": [{}], "additionalItems": False}, ["a", "b"], "correct", UNDEFINED),
        ({**ROW, "items": {"type": "string"}}, ["a", 1, "b"], WRONG_TYPE, "correct"),
        ({"type": "array", "prefixItems": [INTEGER]}, ["a"], "correct", WRONG_TYPE),
        (ROW, ["a", 1, 2], UNDEFINED, UNDEFINED),
        ({"type": "object", "additionalProperties": INTEGER}, {"a": 1}, UNDEFINED, "correct"),
        ({"type": "object", "additionalProperties": INTEGER}, {"a": "b"}, UNDEFINED, WRONG_TYPE),
        ({"type": "object", "properties": {"a": INTEGER}, "additionalProperties": {}}, {"b": 1}, UNDEFINED, "correct"),
        (
            {"type": "object", "properties": {}, "additionalProperties": {"$ref": "#/$defs/Place"}},
            {"home": {"city": "Ulm"}},
            UNDEFINED,
            "correct",
        ),
    ],
)
def test_parity_reads_less_of_a_schema_than_strict(schema: Any, value: Any, parity: str, strict: str) -> None:
    plant = tool(x=schema)
    plant["function"]["parameters"]["$defs"] = {
        "Place": PLACE,
        "a/b c": INTEGER,
        "loop": {"$ref": "#/$defs/loop"},
        "no": False,
    }
    for fixes, outcome in ((PARITY, parity), (STRICT, strict)):
        assert check(plant, json.dumps({"x": value}), {"x": value}, fixes) == outcome


def test_arguments_that_follow_a_schema_into_itself_are_read_at_any_depth() -> None:
    plant = tool(x={"$ref": "#/$defs/List"})
    plant["function"]["parameters"]["$defs"] = {"List": {"type": "array", "items": {"$ref": "#/$defs/List"}}}
    value = '{"x": ' + "[" * 900 + "]" * 900 + "}"
    assert check(plant, value, {"x": []}, STRICT) in (INVALID_JSON, "error_match: array length mismatch at 'x'")


def test_parameters_may_be_a_reference() -> None:
    plant = tool()
    plant["function"]["parameters"] = {"$ref": "#/$defs/Plant", "$defs": {"Plant": {"properties": {"x": INTEGER}}}}
    assert check(plant, '{"x": 1}', {"x": 1}, STRICT) == "correct"
    assert check(plant, '{"x": "1"}', {"x": 1}, STRICT) == WRONG_TYPE


@pytest.mark.parametrize("fixes", [PARITY, STRICT], ids=["parity", "strict"])
@pytest.mark.parametrize("parameters", [None, True, [], "x", {"properties": None}, {"properties": [], "required": "x"}])
def test_parameters_that_are_no_schema_take_no_arguments(parameters: Any, fixes: Any) -> None:
    plant = {"function": {"name": "plant", "parameters": parameters}}
    assert check(plant, "{}", {}, fixes) in ("correct", "error_schema: required args missing")
    assert check(plant, '{"y": 1}', {"y": 1}, fixes).startswith("error_schema: ")


KEYWORDS = ("type", "items", "enum", "properties", "required", "anyOf", "additionalProperties", "description")


@pytest.mark.parametrize("fixes", [PARITY, STRICT], ids=["parity", "strict"])
@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_property_may_be_called_like_a_keyword(keyword: str, fixes: Any) -> None:
    inner = {"type": "object", "properties": {"q": INTEGER}}
    bag = tool(bag={"type": "object", "properties": {keyword: inner}})
    free = tool(bag={"type": "object", "additionalProperties": True, "description": "a bag"})
    top = tool(**{keyword: inner})
    value: Any = {keyword: {"q": 1}}
    for plant, arguments in ((bag, {"bag": value}), (free, {"bag": value}), (top, value)):
        assert check(plant, json.dumps(arguments), arguments, fixes) == "correct"
    assert (
        check(bag, json.dumps({"bag": {keyword: {"q": "1"}}}), {"bag": value}, fixes)
        == "error_schema: nested args type inconsistent"
    )
    assert (
        check(bag, json.dumps({"bag": {keyword: {"q": 2}}}), {"bag": value}, fixes)
        == f"error_match: value mismatch at 'bag.{keyword}.q'"
    )


@pytest.mark.parametrize("predicted", [None, {"x": 1}, 3])
def test_what_is_no_text_is_an_error(predicted: Any) -> None:
    assert check(tool(x={"type": "integer"}), predicted, {"x": 1}, PARITY) == INVALID_JSON


def test_objects_are_read_under_strict() -> None:
    assert check(tool(x={"type": "integer"}), {"x": 1}, {"x": 1}, STRICT) == "correct"
    assert check(tool(x={"type": "integer"}), None, {"x": 1}, STRICT) == INVALID_JSON


def test_of_tools_with_one_name_the_last_counts() -> None:
    first, last = tool(a={"type": "string"}), tool(b={"type": "string"})
    assert find_tool([first, last], "plant") is last
    assert find_tool([first], "sow") is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "type", "items"]), inner, max_size=3)
    ),
    max_leaves=8,
)
schemas = st.recursive(
    st.builds(
        dict, type=st.sampled_from(["string", "integer", "number", "object", "array", "date", ["null", "object"]])
    )
    | st.sampled_from([{}, True, False, None, "text", ["a"], 3, {"$ref": "#"}, {"$ref": "#/properties/a"}]),
    lambda inner: (
        st.builds(lambda one: {"type": "object", "properties": {"a": one, "b": one}}, inner)
        | st.builds(lambda one: {"type": "array", "items": one}, inner)
        | st.builds(lambda one: {"anyOf": [one, {"type": "null"}]}, inner)
        | st.builds(lambda one: {"type": "array", "prefixItems": [one], "items": False}, inner)
        | st.builds(lambda one: {"type": "array", "items": [one, one]}, inner)
        | st.builds(lambda one: {"type": "object", "additionalProperties": one}, inner)
        | st.builds(lambda one: {"type": "object", "required": one, "properties": one, "enum": one}, inner)
    ),
    max_leaves=4,
)


@given(schemas, values, values, st.sampled_from([PARITY, STRICT]))
@settings(deadline=None)
def test_every_value_gets_an_outcome_and_what_passes_equals_its_own_gold(
    schema: Any, value: Any, other: Any, fixes: Any
) -> None:
    plant = tool(a=schema)
    try:
        outcome = check(plant, json.dumps({"a": value}), {"a": other}, fixes)
    except TypeError:  # as upstream, on a list of types
        assert fixes == PARITY and any(f'"type": {mark}' in json.dumps(schema) for mark in "[{")
        return
    assert outcome == "correct" or outcome.startswith("error")
    if (
        check_schema(plant, json.dumps({"a": value}), fixes) == "correct"
        and value == value
        and "NaN" not in json.dumps(value)
    ):
        same = check(plant, json.dumps({"a": value}), {"a": value}, fixes)
        assert same == "correct" or same.startswith("error: comparison failed")


@given(st.text() | st.binary().map(repr))
def test_hostile_text_is_an_error(text: str) -> None:
    assert check(tool(a={"type": "string"}), text, {"a": "x"}, PARITY).startswith("error")


SESSION = (Path(bench_wild.__file__).parent / "mini" / "Wild-Tool-Bench.jsonl").read_bytes().partition(b"\n")[0]
ODD = [
    *(True, False, None, 3, "text", [], {}, [1, "a"], {"anyOf": []}, {"anyOf": [True]}, {"anyOf": {}}),
    *({"$ref": "#"}, {"$ref": "#/properties"}, {"$ref": 3}, {"enum": 3}, {"enum": "abc"}, {"type": {}}),
    *(
        {"type": ["string", "null"]},
        {"type": "array", "items": [{"type": "integer"}]},
        {"type": "array", "items": False},
    ),
    *({"type": "object", "required": [[1]]}, {"type": "object", "required": True, "properties": None}),
    *({"type": "object", "properties": [1]}, {"type": "object", "additionalProperties": {"type": "string"}}),
]


def places(value: Json, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield above
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*above, key))  # type: ignore[call-overload, index]


def damaged(seed: int) -> bytes:
    chance, record = random.Random(seed), json.loads(SESSION)
    for twin in ("", "english_"):
        for tool in record.get(f"{twin}tools", ()):
            inside = [place for place in places(tool["function"], ("function",)) if "parameters" in place]
            *above, last = chance.choice(inside)
            inner = tool
            for key in above:
                inner = inner[key]
            inner[last] = json.loads(json.dumps(chance.choice(ODD)))
    return json.dumps(record).encode()


@pytest.mark.parametrize("seed", range(8))
def test_odd_schemas_are_checked_and_scored(seed: int, tmp_path: Path) -> None:
    file = tmp_path / "Wild-Tool-Bench.jsonl"
    file.write_bytes(damaged(seed))
    for language in data.LANGUAGES:
        problems, strange = WildData(language).check(tmp_path)
        assert problems or strange
        for found in data.read_sessions(file, language):
            for task in found.tasks if isinstance(found, data.Session) else ():
                result = play(found, task, answers(task))
                for evaluator in RELEASES if not isinstance(result, str) else ():
                    for scoring in ("parity", "strict"):
                        score_task(found, task, json.loads(json.dumps(result)), scoring, evaluator)


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
