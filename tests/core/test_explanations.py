"""The form of explanations: calls, texts and values that a person can read, whatever a model wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentgauge.core.text import compared, shown_call, shown_text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"after": "09:00", "direct_only": True}, 'search(after="09:00", direct_only=true)'),
        ('{"city": "Z\\u00fcrich", "until": null}', 'search(city="Zürich", until=null)'),
        ({}, "search()"),
        ("not json", "search(not json)"),
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


def test_what_was_expected_stands_above_what_came() -> None:
    assert compared("no tool was called", "OCR()", "nothing").splitlines() == [
        "no tool was called",
        "  expected: OCR()",
        "  got:      nothing",
    ]
    json.dumps(compared("\ud800", "", ""))
