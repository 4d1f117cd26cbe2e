"""Arguments against the schema and the gold: what strict does otherwise, and what hostile arguments do. The rules
themselves are held against the original in tests/parity."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_wild.arguments import INVALID_JSON, check, check_schema, find_tool
from bench_wild.fixes import PARITY, STRICT, Fix

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
