"""JSON and TOML of others, and how values are shown."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.config import load_config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import (
    compared,
    counted,
    parse_json,
    parse_reply,
    read_toml,
    refuse_extremes,
    shown_call,
    shown_text,
)

# -- JSON and TOML of others: one sentence for whatever is wrong.


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (nested(100_000), "nested too deep"),
        ('{"a":' * 100_000, "nested too deep"),
        ("9" * 4301, "a number of more than 4300 digits"),
        ("{", "Expecting"),
        (b"\xff", "utf-8"),
        ("", "Expecting value"),
    ],
)
def test_json_that_cannot_be_read(text: str | bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_json(text)


def test_a_servers_long_number_costs_nothing_else() -> None:
    assert parse_reply('{"a": ' + "9" * 4301 + ', "b": -5}') == {"a": math.inf, "b": -5}
    assert parse_reply('{"a": 1, "b": ' + "9" * 4299 + "}") == {"a": 1, "b": int("9" * 4299)}


def test_what_a_server_nests_too_deep_costs_nothing_else() -> None:
    text = '{"a": ' + nested(100_000) + ', "b": ["]", "\\"[{", -5], "c": {"d": ' + '{"e":' * 50_000 + "9" * 5000
    found = parse_reply(text + "}" * 50_002)
    assert found["b"] == ["]", '"[{', -5]
    for key in ("a", "c"):
        refuse_extremes(found[key])
    for bad in (nested(100_000) + "]", "[" * 100_000, '["' + "[" * 100_000, nested(100_000) + '"'):
        with pytest.raises(ValueError, match=r"Expecting|Extra|Unterminated"):
            parse_reply(bad)


@pytest.mark.parametrize(
    ("value", "is_extreme"),
    [
        ({"a": [1, {"b": 10**300}]}, False),
        ({"a": [10**301]}, True),
        ([-(10**301)], True),
        (1e308, False),
        ("9" * 500, False),
    ],
)
def test_extreme_numbers(value: Any, is_extreme: bool) -> None:
    with pytest.raises(ValueError, match="more than 300 digits") if is_extreme else nullcontext():
        refuse_extremes(value)


def test_extreme_depths() -> None:
    refuse_extremes(parse_json(nested(99)))
    for levels in (101, 900):
        with pytest.raises(ValueError, match="nested too deep"):
            refuse_extremes(parse_json(nested(levels)))


SETTINGS = [
    ("a = " + nested(100_000), "nested too deep"),
    ("a = " + "{ b = " * 5000 + "1" + "}" * 5000, "nested too deep"),
    (".".join("a" * 3000) + " = 1", "nested too deep"),
    ("[" + ".".join("a" * 3000) + "]\nb = 1", "nested too deep"),
    ("[models.m]\nmodel = 'm'\nextra_body = { a = " + nested(500) + " }", "nested too deep"),
    ("[models.m]\nmax_tokens = " + "9" * 4301, "a number of more than 4300 digits"),
    ("[models.m]\nmax_tokens = " + "9" * 4299, "a number of more than 300 digits"),
    ("[models.m]\nextra_body = { top_k = " + "9" * 4299 + " }", "a number of more than 300 digits"),
    ("[models.m]\nmax_tokens = " + "9" * 200, "and must be 1e+12 or less"),
    ("[models.m]\ntimeout = nan", "and must be a finite number"),
    ("[models.m]\ntimeout = inf", "and must be a finite number"),
    ("[models.m]\nprices = { prompt = inf }", "and must be a finite number"),
    ("[agent]\nmemory_mb = " + "9" * 100, "and must be 1e+12 or less"),
]


@pytest.mark.parametrize(("text", "says"), SETTINGS, ids=range(len(SETTINGS)))
def test_settings_that_cannot_be_used(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "agentgauge.toml").write_text(text)
    with pytest.raises(UsageProblem) as problem:
        load_config(root=tmp_path)
    assert says in str(problem.value) and str(tmp_path / "agentgauge.toml") in str(problem.value)
    assert "\n" not in str(problem.value) and len(str(problem.value)) < 400


def test_toml_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("a = [[1, 2], [{ b = inf }]]\nc.d.e = 5")
    assert read_toml(tmp_path / "a.toml") == {"a": [[1, 2], [{"b": math.inf}]], "c": {"d": {"e": 5}}}


# -- The form of explanations: calls, texts and values that a person can read, whatever a model wrote.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"after": "09:00", "direct_only": True}, 'search(after="09:00", direct_only=true)'),
        ('{"city": "Z\\u00fcrich", "until": null}', 'search(city="Zürich", until=null)'),
        ({}, "search()"),
        ("not json", "search(not json)"),
        ('{"city": "Zür', 'search({"city": "Zür (ends here))'),
        ('{"city": "Zürich"', 'search({"city": "Zürich" (ends here))'),
        ('{"city": Zürich}', 'search({"city": Zürich})'),
        ("5 or 6", "search(5 or 6)"),
        ("[1, 2]", "search([1, 2])"),
        (None, "search(null)"),
        ("[" * 100_000, f"search({'[' * 199}…)"),
        ({"text": "x" * 500, "k": 3}, f'search(text="{"x" * 118}…, k=3)'),
    ],
)
def test_a_call_shows_each_argument(arguments: Any, says: str) -> None:
    assert shown_call("search", arguments) == says


def test_a_call_of_many_arguments_is_cut() -> None:
    told = shown_call("search", {f"a{number}": "x" * 100 for number in range(100)})
    assert len(told) == 400 and told.endswith("…")


def test_a_value_that_is_nested_too_deeply_is_not_shown() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert shown_call("search", {"x": value}) == "search(x=a value that is nested too deeply to be shown)"
    while value:  # freed piece by piece: a nested value is freed by recursion
        value = value[0]


def test_a_text_is_told_from_no_text() -> None:
    assert shown_text(" a\nb ") == "the text 'a\\nb'"
    assert shown_text(" ") == shown_text(None) == "an empty text"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((0, "case"), "0 cases"),
        ((1, "case"), "1 case"),
        ((1024, "case"), "1,024 cases"),
        ((1, "reply", "replies"), "1 reply"),
        ((2, "reply", "replies"), "2 replies"),
    ],
)
def test_a_number_of_things(said: tuple[Any, ...], words: str) -> None:
    assert counted(*said) == words


def test_what_was_expected_stands_above_what_came() -> None:
    assert compared("no tool was called", "OCR()", "nothing").splitlines() == [
        "no tool was called",
        "  expected: OCR()",
        "  got:      nothing",
    ]
    json.dumps(compared("\ud800", "", ""))
