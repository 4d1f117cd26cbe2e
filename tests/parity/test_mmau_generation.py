"""Apple MMAU's request and response handling, and its combined score, on their golden vectors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_mmau.average import aggregate
from bench_mmau.tool_use.errors import NotScorable
from bench_mmau.tool_use.repeats import flatten, repeat
from bench_mmau.tool_use.replies import (
    STRICT,
    Client,
    Message,
    Unreadable,
    format_target,
    gemini_name,
    parse,
    read,
    read_record,
    responses_of,
)
from tests.parity.golden import cases, met, needs
from tests.parity.mmau_vectors import EXACT, REFUSED

pytestmark = needs("mmau")

CLIENTS: Mapping[str, Client] = {
    "gen.parse_openai": "openai",
    "gen.parse_anthropic": "anthropic",
    "gen.parse_gemini": "gemini",
}


def shown(message: Message) -> dict[str, Any]:
    calls = (
        None if message.calls is None else [{"name": call.name, "arguments": call.arguments} for call in message.calls]
    )
    return {"content": message.content, "tool_calls": calls}


def building_block(op: str, args: Mapping[str, Any]) -> Any:
    if op in CLIENTS:
        return [shown(message) for message in parse(args["response"], CLIENTS[op])]
    match op:
        case "gen.repeat":
            return repeat(args["requests"], args["n"])
        case "gen.flatten":
            return flatten(args["responses"])
        case "gen.format_target":
            return shown(format_target(args["message"]))
        case "mmau.aggregate":
            return aggregate(args["metrics"])
    raise AssertionError(f"no test knows the operation {op}")


@pytest.mark.parametrize("case", cases("mmau", "generation_parts.json"))
def test_building_block(case: Mapping[str, Any]) -> None:
    met(case, lambda: building_block(case["op"], case["args"]), *REFUSED, within=EXACT)


# -- beyond the vectors


@pytest.mark.parametrize(
    ("content", "parity", "strict"),
    [
        (" \n a<n>b", "\n a\nb", "a<n>b"),
        ("<n> a", "\n a", "<n> a"),
        ("\u00a0a ", "a ", "a "),
        ("", "", ""),
        (None, None, None),
    ],
)
def test_trimming(content: str | None, parity: str | None, strict: str | None) -> None:
    response = {"choices": [{"message": {"role": "assistant", "content": content}}]}
    assert parse(response, "openai")[0].content == parity
    assert parse(response, "openai", fixes=STRICT)[0].content == strict


def test_under_strict_a_colon_loses_nothing() -> None:
    ids = ["cf:1", "cf:2", "plain", "with:::three"]
    samples = [{**one, "response": one["id"]} for one in repeat([{"id": id} for id in ids], 2)]
    found = flatten(samples, fixes=STRICT)
    assert [one["id"] for one in found] == ids
    assert [one["n_responses"] for one in found] == [[f"{id}:::0", f"{id}:::1"] for id in ids]


@pytest.mark.parametrize(
    "records",
    [
        [{"id": "a", "response": "r"}],
        [{"id": "a:::b:::0", "response": "r"}],
        [{"id": "a:::0"}],
        [{"id": "a:::0", "response": "r"}, {"deliverable_id": "b:::0", "response": "r"}],
        [{"id": 5, "response": "r"}],
        [],
    ],
)
def test_samples_that_cannot_be_grouped_are_refused(records: list[dict[str, Any]]) -> None:
    with pytest.raises(NotScorable):
        flatten(records)


def test_all_samples_of_a_record() -> None:
    assert responses_of({"response": "a", "n_responses": ["a", "b"]}) == ["a", "b"]
    assert responses_of({"response": "a", "n_responses": []}) == []
    assert responses_of({"response": "a"}) == ["a"]
    with pytest.raises(NotScorable, match="response file"):
        responses_of({"id": "x"})


@pytest.mark.parametrize("client", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "stored", [None, 5, {}, "", "!broken", "[]", "null", '"text"', "[" * 100_000], ids=lambda value: repr(value)[:9]
)
def test_a_response_that_is_no_json_object_is_unreadable(stored: Any, client: Client) -> None:
    with pytest.raises(Unreadable):
        read(stored, client)
    with pytest.raises(NotScorable, match="'x'"):
        read_record({"id": "x", "response": stored}, client)


@pytest.mark.parametrize("client", ["openai", "anthropic", "gemini"])
def test_a_stored_error_is_an_empty_message(client: Client) -> None:
    assert read('{"error": "Exceed max retries of rate limiting error"}', client) == [Message("")]


@pytest.mark.parametrize(
    ("client", "response"),
    [
        ("openai", {"choices": [{"text": "completion"}]}),
        ("openai", {"choices": [5]}),
        ("openai", {"choices": {}}),
        ("openai", {"choices": [{"message": {"role": "assistant", "content": ["part"]}}]}),
        ("openai", {"choices": [{"message": {"role": "assistant", "tool_calls": "f"}}]}),
        ("openai", {"choices": [{"message": {"role": "assistant", "function_call": {"name": "f"}}}]}),
        ("anthropic", {"content": "text"}),
        ("anthropic", {"content": [{"type": "text"}]}),
        ("anthropic", {"content": [{"type": "tool_use", "input": {}}]}),
        ("gemini", {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}),
        ("gemini", {"candidates": [{"content": "x"}]}),
        ("gemini", {"candidates": [{"content": {"parts": [{"function_call": "f"}]}}]}),
    ],
)
def test_a_response_outside_its_schema_is_unreadable(client: Client, response: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        parse(response, client)


def keyed(inner: Any) -> Any:
    names = [
        "choices",
        "message",
        "role",
        "content",
        "tool_calls",
        "function",
        "candidates",
        "parts",
        "text",
        "thought",
        "function_call",
    ]
    return st.dictionaries(st.sampled_from(names), inner, max_size=4)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner) | keyed(inner)
    )
)
def test_whatever_is_stored_is_read_or_unreadable(value: Any) -> None:
    for client in get_args(Client):
        with suppress(Unreadable):
            assert all(isinstance(message, Message) for message in parse(value, client))


def test_names_are_cut_for_gemini() -> None:
    assert gemini_name("a" * 10 + "b" * 32) == "b" * 32
    assert gemini_name("short") == "short"
