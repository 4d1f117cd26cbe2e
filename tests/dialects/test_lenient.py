"""Finding calls anywhere in a text."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.agent.dialects.format import ParsedCall
from agentgauge.agent.dialects.lenient import find_calls, without_thoughts

F = ParsedCall("f", '{"a": 1}')


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no thoughts  ", "no thoughts  "),
        ("<think>a</think> b", "b"),
        ("a <think>b</think> c <think>d</think>", "a  c"),
        ("begun before the reply</think>\nb", "b"),
        ("b <think>cut off", "b"),
        ("<think></think>", ""),
        ("<think>a</think> b <think>cut off", "b"),
    ],
)
def test_thoughts_are_left_out(text: str, left: str) -> None:
    assert without_thoughts(text) == left


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("", []),
        ("plain [text] with {braces}", []),
        ('{"name": "f", "arguments": {"a": 1}}', [F]),
        ('{"name": "f", "parameters": {"a": 1}}', [F]),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', [F]),
        ("{'name': 'f', 'arguments': {'a': 1}}", [F]),
        ("{'name': 'f', 'arguments': {'a': True, 'b': None}}", [ParsedCall("f", '{"a": true, "b": null}')]),
        ('[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]', [F, ParsedCall("g", "{}")]),
        (
            '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\\"a\\": 1}"}}]}',
            [F],
        ),
        ('{"type": "function", "function": {"name": "f", "parameters": {"a": 1}}}', [F]),
        ('Sure: ```json\n{"name": "f", "arguments": {"a": 1}}\n``` and then', [F]),
        (
            (
                '<tool_call>{"name": "f",\n "arguments": {"a": 1}}</tool_call><tool_call>{"name": "f", "arguments":'
                ' {"a": 1}}</tool_call>'
            ),
            [F, F],
        ),
        ('[1] {"name": "f", "arguments": {"a": 1}', []),  # cut off
        ('{broken {"name": "f", "arguments": {"a": 1}}', [F]),
        ('{"name": "Ann", "age": 3}', []),  # no call: it has no arguments
        ('{"name": "", "arguments": {}}', []),
        ('{"name": "f", "arguments": [1]}', []),
        ('{"name": "f", "arguments": "not JSON"}', []),
        ("{'name': 'f', 'arguments': {1, 2}}", []),
        ("{'name': 'f', 'arguments': {'a': {1, 2}}}", []),
        (
            '{"name": "f", "arguments": {"x": {"name": "g", "arguments": {}}}}',
            [ParsedCall("f", '{"x": {"name": "g", "arguments": {}}}')],
        ),
        ('{"name": "f", "arguments": {"text": "a } b \\" {"}}', [ParsedCall("f", '{"text": "a } b \\" {"}')]),
    ],
)
def test_calls_are_found(text: str, calls: list[ParsedCall]) -> None:
    assert find_calls(text) == calls


TOKENS = st.lists(
    st.sampled_from(
        [
            *"[]{}()'\",: \n\\",
            '"name"',
            "'name'",
            '"arguments"',
            "f",
            "1",
            "null",
            "None",
            "<think>",
            "</think>",
            "9**9**9",
        ]
    )
).map("".join)


@given(TOKENS)
@settings(derandomize=True, deadline=None, max_examples=200, database=None)
def test_any_text_is_read(text: str) -> None:
    for call in find_calls(without_thoughts(text)):
        assert isinstance(json.loads(call.arguments), dict)


@pytest.mark.parametrize("part", ["[", "{", "{'", '{"a":[', "[{(", "'[", "{'name': "])
def test_hostile_text_costs_little(part: str) -> None:
    clock = time.process_time()
    assert find_calls(part * 100_000) == []
    assert time.process_time() - clock < 20  # seconds; a search that is quadratic in the text takes hours


@pytest.mark.parametrize(
    "text", ["<think>" * 50_000, "</think>" * 50_000, "</think>" + "<think>" * 50_000, "<think></think>" * 50_000]
)
def test_thoughts_without_end_cost_little(text: str) -> None:
    clock = time.process_time()
    assert without_thoughts(text) == ""
    assert time.process_time() - clock < 5  # seconds; looking for the end from every beginning takes a minute
