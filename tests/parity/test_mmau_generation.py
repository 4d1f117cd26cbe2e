"""Apple MMAU's request and response handling, and its combined score, on their golden vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_mmau.fixes import STRICT
from bench_mmau.run import response_records
from bench_mmau.tool_use.replies import (
    Client,
    Message,
    Unreadable,
    format_target,
    parse,
    read,
)
from tests.costly import COSTLY
from tests.every import every
from tests.parity.golden import cases, met, needs
from tests.parity.mmau_metrics import aggregate
from tests.parity.mmau_vectors import EXACT, REFUSED, repeated

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


def flattened(responses: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The samples of each record as our response files keep them, with ``n_responses`` for a single one too. An id with
    a colon loses its samples to the text before it [Q19]; our data has no such id."""
    key = "id" if "id" in responses[0] else "deliverable_id"
    found = []
    for first in responses:
        name, _, number = first[key].partition(":::")
        if number == "0":
            mine = [one["response"] for one in responses if one[key].split(":")[0] == name]
            line = response_records({**first, key: name}, {"responses": mine or [first["response"]]})
            found.append({**line, "response": first["response"], "n_responses": mine})
    return found


def building_block(op: str, args: Mapping[str, Any]) -> Any:
    if op in CLIENTS:
        return [shown(message) for message in parse(args["response"], CLIENTS[op])]
    match op:
        case "gen.repeat":
            return repeated(args["requests"], args["n"])
        case "gen.flatten":
            return flattened(args["responses"])
        case "gen.format_target":
            return shown(format_target(args["message"]))
        case "mmau.aggregate":
            return aggregate(args["metrics"])
    raise AssertionError(f"no test knows the operation {op}")


@every("case", cases("mmau", "generation_parts.json"))
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


@pytest.mark.parametrize("client", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "stored", [None, 5, {}, "", "!broken", "[]", "null", '"text"', "[" * 100_000], ids=lambda value: repr(value)[:9]
)
def test_a_response_that_is_no_json_object_is_unreadable(stored: Any, client: Client) -> None:
    with pytest.raises(Unreadable):
        read(stored, client)


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


@COSTLY
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner) | keyed(inner)
    )
)
def test_whatever_is_stored_is_read_or_unreadable(value: Any) -> None:
    for client in get_args(Client):
        with suppress(Unreadable):
            assert all(isinstance(message, Message) for message in parse(value, client))
