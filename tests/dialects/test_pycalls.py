"""Calls in Python's syntax."""

from __future__ import annotations

import json
import time
import warnings
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.agent.dialects import pycalls
from agentgauge.agent.dialects.format import ParsedCall

NOTHING: dict[str, object] = {}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"text"', "text"),
        ("'text'", "text"),
        ('"of " "parts"', "of parts"),
        ('"of " + "parts"', "of parts"),
        ('""', ""),
        ('"火车"', "火车"),
        (r'"\d"', r"\d"),
        ("3", 3),
        ("-3", -3),
        ("-(1 + 2)", -3),
        ("2 * 3 + 1", 7),
        ("7 - 2", 5),
        ("7 / 2", 3.5),
        ("1.50", 1.5),
        ("[1] + [2]", [1, 2]),
        ("True", True),
        ("true", True),
        ("FALSE", False),
        ("None", None),
        ("null", "null"),
        ("north", "north"),
        ("[1, 'b', [north]]", [1, "b", ["north"]]),
        ("(1, 2)", [1, 2]),
        ("{'a': {'b': -1}, 2: x}", {"a": {"b": -1}, "2": "x"}),
        ("{True: 1, None: 2}", {"true": 1, "null": 2}),
    ],
)
def test_values(written: str, value: object) -> None:
    assert pycalls.parse(f"[f(a={written})]") == [ParsedCall("f", json.dumps({"a": value}, ensure_ascii=False))]


@pytest.mark.parametrize(
    "written",
    [
        "g()",
        "[g()]",
        "x.y",
        "x[0]",
        "+1",
        "not True",
        "1 // 2",
        "2 ** 3",
        "9**9**9",
        "1 / 0",
        "1 % 2",
        "'a' * 2",
        "[0] * 2",
        "'%s' % 1",
        "1 + 'a'",
        "'a' + ['b']",
        "-'a'",
        "1e999",
        "1e308 * 10",
        "10 ** 400 * 1.0",
        "1" + "0" * 400 + " * 1.0",
        "1j",
        "b'x'",
        "...",
        "f'{x}'",
        "{1}",
        "{[1]: 2}",
        "{**x}",
        "[*x]",
        "lambda: 1",
        "1 if x else 2",
        "[x for x in y]",
        "(x := 1)",
        "0x" + "f" * 5000,
    ],
)
def test_values_that_are_not_in_the_grammar(written: str) -> None:
    with pytest.raises(ValueError, match="not calls"):
        pycalls.parse(f"[f(a={written})]")


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[f()]", [("f", NOTHING)]),
        ("f()", [("f", NOTHING)]),
        ("f(), g(a=1)", [("f", NOTHING), ("g", {"a": 1})]),
        ("[f(), [g()], 3, 'h()']", [("f", NOTHING), ("g", NOTHING)]),
        ("[\n  f(a=1),\n  g(b=2),\n]", [("f", {"a": 1}), ("g", {"b": 2})]),
        (" f() ", [("f", NOTHING)]),
        ("[api.trains.find(a=1)]", [("find", {"a": 1})]),
        ("[f(a=1, b='x', c=[2])]", [("f", {"a": 1, "b": "x", "c": [2]})]),
        ("[]", []),
        ("[1, 2]", []),
        ("north", []),
        ("", []),
        ("x = f()", [("f", {})]),
        ("f(); g()", [("f", {}), ("g", {})]),
        ("[f()]\n[g(a=1)]", [("f", {}), ("g", {"a": 1})]),
        ("f(h=1).g()", [("g", {})]),
        ("', '.join(a='b')", [("join", {"a": "b"})]),
        ("f(**{'a': 1})", [("f", {"null": {"a": 1}})]),
    ],
)
def test_the_outermost_calls_count(text: str, calls: list[tuple[str, object]]) -> None:
    assert pycalls.parse(text) == [ParsedCall(name, json.dumps(arguments)) for name, arguments in calls]


@pytest.mark.parametrize(
    "text",
    [
        "two words",
        "[f(]",
        "[f(a=1)",
        "f()(a=1)",
        "fs[0]()",
        "f(from=1)",
        "\0",
        "\ud800",
    ],
)
def test_no_calls(text: str) -> None:
    with pytest.raises(ValueError, match="not calls"):
        pycalls.parse(text)


def test_positional_arguments_are_dropped_unread_or_collected() -> None:
    assert pycalls.parse("f(1, x, a=2)") == [ParsedCall("f", '{"a": 2}')]
    assert pycalls.parse("f(g(), a=2)") == [ParsedCall("f", '{"a": 2}')]
    assert pycalls.first_call("f(1, x, a=2)") == ParsedCall("f", '{"a": 2, "None": [1, "x"]}')
    assert pycalls.first_call("f()") == ParsedCall("f", "{}")
    with pytest.raises(ValueError, match="not a call"):
        pycalls.first_call("f(g(), a=2)")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("f(a=1)", "f"),
        (" (f(a=1)) # why", "f"),
        ("f(a=1)\n\nDone", "f"),
        ("f(a=1); g()", "f"),
        ("x = f(a=1)", "f"),
        ("return f(a=1)", "f"),
        ("a.f(a=1)", "<ast.Attribute object>"),
        ("f()(a=1)", "<ast.Call object>"),
        ("f(a=1), g()", None),
        ("f(a=1),", None),
        ("[f(a=1)]", None),
        ("f(a=1) and more", None),
        ("await f(a=1)", None),
        ("f(a=1)\nThat is it.", None),
        ("if f(a=1): g()", None),
        ("", None),
    ],
)
def test_the_first_call_is_the_value_of_the_first_statement(text: str, name: str | None) -> None:
    if name:
        assert pycalls.first_call(text) == ParsedCall(name, '{"a": 1}')
    else:
        with pytest.raises(ValueError, match="not "):
            pycalls.first_call(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "[f(" * 5000,
        "[f(a=" + "-" * 90_000 + "1)]",
        "[f(a=1" + "+1" * 45_000 + ")]",
        "lambda:" * 10_000,
        "not " * 20_000 + "1",
        "[f" + ".a" * 40_000 + "(a=1)]",
        "f" + "()" * 40_000,
        "[f(a=1" + ("*" + "9" * 4000) * 20 + ")]",
        '\\"' * 40_000,
        '"' * 49_999,
        "[f(a=" * 20 + "'" * 50_000,
        "[f(a='a' * 10**9)]",
        "[f(a=" + "1" * 200_000 + ")]",
        "a" * 200_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_texts_are_refused_at_once(text: str) -> None:
    started = time.monotonic()
    with pytest.raises(ValueError, match="not calls"):
        pycalls.parse(text)
    assert time.monotonic() - started < 5


def test_python_does_not_warn_of_what_a_model_wrote() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pycalls.parse(r'f(a="\d", b=[1,2])') == [ParsedCall("f", r'{"a": "\\d", "b": [1, 2]}')]


def test_history_is_rendered_without_escapes() -> None:
    arguments = {"s": 'say "hi"', "t": True, "n": None, "i": -1, "x": 1.5, "l": ["a", 2], "d": {"k": False}}
    calls = [ParsedCall("f", json.dumps(arguments)), ParsedCall("g", "{}"), ParsedCall("h", "broken {")]
    expected = 'f(s="say "hi"", t=True, n=None, i=-1, x=1.5, l=["a", 2], d={"k": False}), g(), h(broken {)'
    assert pycalls.render_history(calls) == expected


def test_nested_without_end() -> None:
    deep = '{"a": ' + "[" * 900 + "]" * 900 + "}"
    assert pycalls.render_history([ParsedCall("f", deep)]).startswith("f(")
    with pytest.raises(ValueError, match="cannot be written"):
        pycalls.render([ParsedCall("f", deep)])


@pytest.mark.parametrize(
    "call",
    [
        ParsedCall("f", '{"from": 1}'),
        ParsedCall("f", '{"a b": 1}'),
        ParsedCall("f", '{"a": NaN}'),
        ParsedCall("f", "[1]"),
        ParsedCall("f", "broken"),
        ParsedCall("f", ""),
        ParsedCall("a-b", "{}"),
        ParsedCall("a.b", "{}"),
        ParsedCall("", "{}"),
        ParsedCall("f(), g", "{}"),
        ParsedCall("class", "{}"),
    ],
)
def test_what_cannot_be_written(call: ParsedCall) -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        pycalls.render([ParsedCall("ok", "{}"), call])


TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b_1", "train_no"]), VALUES)
CALLS = st.lists(
    st.builds(
        ParsedCall, st.sampled_from(["f", "findTrains"]), ARGUMENTS.map(lambda a: json.dumps(a, ensure_ascii=False))
    ),
    max_size=3,
)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(CALLS)
def test_round_trip(calls: list[ParsedCall]) -> None:
    assert pycalls.parse(f"[{pycalls.render(calls)}]") == calls


TOKENS = st.lists(
    st.sampled_from([*"[]()=,.+-*/{}:'\"\\\n \0", "f", "a", "1", "9**9", "from", "true", "0x", "1e9", "**", "b'", "f'"])
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TOKENS.map("".join))
def test_any_text_is_calls_or_a_value_error(text: str) -> None:
    calls: list[ParsedCall] = []
    with suppress(ValueError):
        calls = pycalls.parse(text)
    with suppress(ValueError):
        calls.append(pycalls.first_call(text))
    assert all(isinstance(json.loads(call.arguments), dict) for call in calls)
