"""JSON that a model wrote: as a whole, and from a position with the usual mistakes."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.agent.model_json import DEEPEST, NoValue, decode, read_json, values_in


@pytest.mark.parametrize(
    ("text", "value"),
    [("{}", {}), ("[1, [2.5, null]]", [1, [2.5, None]]), ('"a"', "a"), ("[" * DEEPEST + "]" * DEEPEST, None)],
)
def test_what_a_record_can_hold_is_read(text: str, value: object) -> None:
    read = read_json(text)
    assert value is None or read == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{",
        "9" * 5000,
        *("[" * depth + "]" * depth for depth in (DEEPEST + 1, 600, 900, 5000)),
        '{"a":' * 300 + "1" + "}" * 300,
    ],
    ids=["empty", "a word", "half", "long number", "just too deep", "600", "900", "5000", "objects"],
)
def test_everything_else_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read_json(text)
    assert type(caught.value) is ValueError or "Expecting" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        ('{"a": "two\nlines\tand a tab"}', {"a": "two\nlines\tand a tab"}),
        ('{"a": 1, "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        ("{'a': null, 'b': True, 'c': None, 'd': false}", {"a": None, "b": True, "c": None, "d": False}),
        (r'{"a": "\d+ m", "b": "C:\data", "c": "\u00zz"}', {"a": r"\d+ m", "b": r"C:\data", "c": r"\u00zz"}),
        (r'{"a": "it\'s", "b": "\u00e9\ud83d\ude00\n\/",}', {"a": "it's", "b": "é😀\n/"}),
        (r'{"a": "\ud800",}', {"a": "\ud800"}),
        ("{'say \"hi\"': 'a \\' b'}", {'say "hi"': "a ' b"}),
        ('{"a": """one "two"\nthree""", }', {"a": 'one "two"\nthree'}),
        ("{'a': (1, 2), 'b': (3), 'c': (4,)}", {"a": [1, 2], "b": 3, "c": [4]}),
        ("{1: 'a', True: 'b', None: 'c'}", {"1": "a", "true": "b", "null": "c"}),
        ("{a: 1, b_c: x}", {"a": 1, "b_c": "x"}),
        ("[+2, -3, .5, 1., 1_000, 1e3, ]", [2, -3, 0.5, 1.0, 1000, 1000.0]),
        ("[2026-12-25, 02134, 10:30, 555-1234, not_set]", ["2026-12-25", "02134", "10:30", "555-1234", "not_set"]),
        ('[{"a": {"b": 1}]', [{"a": {"b": 1}}]),
        ('{"a": [1, 2}', {"a": [1, 2]}),
        ('{"a": {"b": [1, 2}}', {"a": {"b": [1, 2]}}),
        ('{"a": {"b": 1', None),
        ('{"a": 1', None),
        ("{'a': 'It's late'}", None),
        ("{'a': 1 'b': 2}", None),
        ("{1, 2}", None),
        ("[1,, 2]", None),
        ("[f(1)]", None),
        ("['a' * 9]", None),
        ("[1e999, ]", None),
        ("[" + "9" * 5000 + ", ]", None),
        ("[" * 5000, None),
        ("{'a':" * 300, None),
        ("text", "text"),
        ("", None),
        (",", None),
    ],
)
def test_decoding(text: str, value: Any) -> None:
    if value is None:
        with pytest.raises(NoValue):
            decode(text)
        return
    found, end = decode(f"..{text} ...", 2, ("...",))
    assert (found, end) == (value, 2 + len(text))


@pytest.mark.parametrize("text", ['{"a": {"b": [1, 2', '{"a": {"b": [1, 2]', "{'a': {'b': [1, 2}"])
def test_any_brackets_may_be_missing_before_the_closing_tag(text: str) -> None:
    assert decode(f"{text}\n</end>", 0, ("</end>",)) == ({"a": {"b": [1, 2]}}, len(text) + 1)


def test_one_bracket_may_be_missing_at_the_end() -> None:
    assert decode('{"a": {"b": 1}') == ({"a": {"b": 1}}, 14)


def test_a_closing_tag_in_a_string_is_text() -> None:
    assert decode('{"a": "x </end> y", }</end>', 0, ("</end>",))[0] == {"a": "x </end> y"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), st.sampled_from(["", " x", "}", "</tool_call>"]))
@settings(derandomize=True, deadline=None, max_examples=150, database=None)
def test_json_and_python_read_back(value: dict[str, Any], behind: str) -> None:
    written = [json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)]
    python = repr(value)
    if "\\x" not in python and "\\U" not in python and "\\u" not in python:  # JSON's escapes, not all of Python's
        assert ast.literal_eval(python) == value
        written.append(python)
    for text in written:
        assert decode(text + behind) == (value, len(text))


@given(st.text(st.sampled_from("[]{}()'\",: \n\\1a-.\ud800"), max_size=30))
@settings(derandomize=True, deadline=None, max_examples=300, database=None)
def test_any_text_is_a_value_or_none(text: str) -> None:
    try:
        value, end = decode(text)
    except NoValue:
        return
    assert 0 < end <= len(text)
    json.dumps(value)


@pytest.mark.parametrize("depth", [300, 2000])  # deeper than what is kept, and than what Python's module reads
def test_what_is_nested_too_deep_is_passed_over(depth: int) -> None:
    deep = '{"a":' * depth + '{"b": "]}\\""}' + "}" * depth
    assert values_in(f"[1] {deep} [2]") == [[1], [2]]
    assert values_in("[1] " + "[" * 2000 + "[2]") == [[1]]
