"""Finding the calls in a reply: thoughts, code, data and calls beside each other."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.agent.dialects.format import ParsedCall, ParsedReply
from agentgauge.agent.dialects.lenient import read_leniently, tag
from tests.dialects.offers import tools

F, G = ParsedCall("f", '{"a": 1}'), ParsedCall("g", "{}")
ON_OFFER = tools("f", "g")
CALL = '{"name": "f", "arguments": {"a": 1}}'
BACK = "```"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no thoughts  ", "no thoughts  "),
        ("<think>a</think> b", "b"),
        ("a <think>b</think> c <think>d</think>", "a  c"),
        ("begun before the reply</think>\nb", "b"),
        ("b\n<think>cut off", "b"),
        ("The mark <think> begins a thought.", "The mark <think> begins a thought."),
        ("`<think>` begins a thought.", "`<think>` begins a thought."),
        (f"{BACK}\n<think>\n</think>\n{BACK}\nis an example.", f"{BACK}\n<think>\n</think>\n{BACK}\nis an example."),
        ("<think></think>", None),
        ("<think>a</think> b\n<think>cut off", "b"),
        (f"<think>{CALL}</think>none", "none"),
        (f"I could write {CALL}.\n</think>\nnone", "none"),
        (f"I could write {BACK}json\n{CALL}\n</think>\nnone", "none"),
        ("The end.<|im_end|>", "The end."),
        ("The end.<|eot_id|>\n<|end_of_text|>", "The end."),
        ("a <|b|> c", "a <|b|> c"),
        # quotations
        ("A thought ends with `</think>`, and is not shown.", "A thought ends with `</think>`, and is not shown."),
        ("It is ``a `</think>` b``.", "It is ``a `</think>` b``."),
        ("<think>hm</think>\nUse `</think>` to close.", "Use `</think>` to close."),
        (f"Close it:\n{BACK}\n</think>\n{BACK}\nDone.", f"Close it:\n{BACK}\n</think>\n{BACK}\nDone."),
        ("Close it:\n~~~\n</think>\n~~~\nDone.", "Close it:\n~~~\n</think>\n~~~\nDone."),
        (f"Let {BACK}x\na\n</think>\nIn {BACK}b{BACK}\nEnd.", f"In {BACK}b{BACK}\nEnd."),
        ("`a\n</think>\nUse `b`.", "Use `b`."),
    ],
)
def test_thoughts_and_special_tokens_are_left_out(text: str, left: str | None) -> None:
    assert read_leniently(text, ON_OFFER) == ParsedReply(left)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("", []),
        ("plain [text] with {braces}", []),
        (CALL, [F]),
        ('{"name": "f", "parameters": {"a": 1}}', [F]),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', [F]),
        ("{'name': 'f', 'arguments': {'a': True, 'b': None}}", [ParsedCall("f", '{"a": true, "b": null}')]),
        (f'[{CALL}, {{"name": "g"}}]', [F, G]),
        ('{"name": "g", "arguments": ""}', [G]),
        ('{"name": "g", "arguments": null}', [G]),
        ('{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]}', [F]),
        ('{"function": "f", "parameters": {"a": 1}}', [F]),
        (f"So: {CALL}", [F]),
        (f"<tool_call>{CALL}</tool_call><tool_call>{CALL}</tool_call>", [F, F]),
        (f"[1] {CALL[:-1]}", [F]),
        ('[1] {"name": "f", "arguments": {"a": 1', []),  # cut off
        (f"{{broken {CALL}", [F]),
        ('{"name": "Ann", "arguments": {"age": 3}}', []),
        ('{"name": "f", "age": 3}', []),  # a record
        ('{"name": "f", "description": "A tool", "parameters": {}}', []),  # a schema
        ('{"name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}', []),
        ('[{"type": "function", "function": {"name": "f", "description": "A", "parameters": {}}}]', []),
        ('{"name": "f", "arguments": [1]}', []),
        ('{"name": "f", "arguments": "not JSON"}', []),
        ("{'name': 'f', 'arguments': {1, 2}}", []),
        ('{"name": "f", "arguments": {"x": {"name": "g", "arguments": {}}}}', [
            ParsedCall("f", '{"x": {"name": "g", "arguments": {}}}')
        ]),
        # code
        (f"{BACK}json\n{CALL}\n{BACK}", [F]),
        (f"I call it:\n{BACK}json\n{CALL}\n{BACK}\n", [F]),
        (f"First\n{BACK}\n{CALL}\n{BACK}\nthen\n{BACK}\n{{\"name\": \"g\"}}\n{BACK}", [F, G]),
        (f"{BACK}json\n{CALL}", [F]),
        (f"An example:\n{BACK}json\n{CALL}\n{BACK}\nThat is the form.", []),
        (f"`{CALL}`", [F]),
        (f"The form is `{CALL}`", []),
        (f"An example:\n{BACK}json\n{CALL}\n{BACK}\nNow {{\"name\": \"g\"}}", [G]),
        (f'{{"name": "f", "arguments": {{"a": "{BACK}x"}}}} {BACK}', [ParsedCall("f", f'{{"a": "{BACK}x"}}')]),
    ],
)  # fmt: skip
def test_calls_are_found(text: str, calls: list[ParsedCall]) -> None:
    found = read_leniently(text, ON_OFFER)
    assert list(found.calls) == calls
    if not calls and text:
        assert found.text == text


def test_the_text_before_the_calls_is_kept() -> None:
    assert read_leniently(f"<think>x</think>Now:\n{BACK}json\n{CALL}\n{BACK}", ON_OFFER) == ParsedReply("Now:", (F,))


@pytest.mark.parametrize(
    ("text", "before", "calls"),
    [
        (f"<tool_call>{CALL}</tool_call><think>x</think>", None, [F]),
        (f"<tool_call>{CALL}</tool_call>\n<think>cut off", None, [F]),
        (f"Hi <tool_call>{CALL}</tool_call>\n<think>more</think>\n<tool_call>{CALL}</tool_call>", "Hi", [F, F]),
        (f"Hi <tool_call>{CALL}</tool_call>\n<think>a</think> b <think>c</think>", "Hi", [F]),
        (f"<think>a</think>Hi <tool_call>{CALL}</tool_call> <think>b</think>", "Hi", [F]),
    ],
)
def test_a_thought_behind_a_call_leaves_the_text_before_it(
    text: str, before: str | None, calls: list[ParsedCall]
) -> None:
    assert read_leniently(text, ON_OFFER, (tag("tool_call"),)) == ParsedReply(before, tuple(calls))


def test_without_offered_tools_bare_values_are_data() -> None:
    assert read_leniently(CALL, []) == ParsedReply(CALL)


TOKENS = st.lists(
    st.sampled_from(
        [*"[]{}()'\",: \n\\`", '"name"', "'name'", '"arguments"', '"f"', "1", "null", "<think>", "</think>", "9**9**9"]
    )
).map("".join)


@given(TOKENS)
@settings(derandomize=True, deadline=None, max_examples=200, database=None)
def test_any_text_is_read(text: str) -> None:
    for call in read_leniently(text, ON_OFFER).calls:
        assert isinstance(json.loads(call.arguments), dict)


PARTS = [
    "[",
    "{",
    "{'",
    '{"a":[',
    "[{(",
    "'[",
    "{'name': ",
    "{'a':\n",
    "[1,",
    "<think>",
    "</think>",
    "`",
    "` ``",
    '{"a"',
]
PARTS += ["<think></think>", "a <think>", "`a", "```\n</think>\n```a\n</think>\n"]
HOSTILE = {
    **{part: part * (300_000 // len(part)) for part in PARTS},
    "thoughts behind an end": "</think>" + "<think>" * 43_000,
    "ever shorter fences": "\n</think>\n".join("`" * length for length in range(800, 2, -1)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=map(repr, HOSTILE))
def test_hostile_text_costs_little(text: str) -> None:
    clock = time.process_time()
    assert read_leniently(text, ON_OFFER).calls == ()
    assert time.process_time() - clock < 5  # seconds; a search that is quadratic in the text takes minutes


@pytest.mark.parametrize(
    "text",
    [
        f"{'x' * 400_000}\n```\n" + f"{CALL}\n" * 8_000,
        "<think></think>" * 8_000 + "\n```\n" + f"{CALL}\n" * 8_000,
    ],
    ids=["text", "thoughts"],
)
def test_many_calls_in_open_code_cost_little(text: str) -> None:
    clock = time.process_time()
    assert len(read_leniently(text, ON_OFFER).calls) == 8_000
    assert time.process_time() - clock < 3  # seconds; to read what stands before each call takes longer
