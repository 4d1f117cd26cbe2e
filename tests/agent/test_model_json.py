"""JSON that a model wrote."""

from __future__ import annotations

import pytest

from agentgauge.agent.model_json import DEEPEST, read_json


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
