"""Apple MMAU's request and response handling, and its combined score, on their golden vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.errors import DataProblem
from bench_mmau import data
from bench_mmau.data import CONTESTS
from bench_mmau.fixes import STRICT
from bench_mmau.replies import Client, ReplyMessage, Unreadable, format_target, parse, read
from bench_mmau.run import response_records
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


def shown(message: ReplyMessage) -> dict[str, Any]:
    calls = (
        None if message.calls is None else [{"name": call.name, "arguments": call.arguments} for call in message.calls]
    )
    return {"content": message.content, "tool_calls": calls}


def _key(record: Mapping[str, Any]) -> str:
    return "id" if "id" in record else "deliverable_id"


def written(case: Mapping[str, Any], folder: Path) -> None:
    """Our response file has the line of each record with all its samples; a single sample has no list. A file with an
    id that has a colon, of which the original mixes up the samples [Q19], is refused before anything is sent."""
    records: dict[str, list[Mapping[str, Any]]] = {}
    for one in case["args"]["responses"]:
        records.setdefault(one[_key(one)].rpartition(":::")[0], []).append(one)
    if any(":" in id for id in records):
        lines = "".join(json.dumps({"id": id, "messages": []}) + "\n" for id in records if ":" in id)
        (folder / f"{CONTESTS.shown}.jsonl").write_text(lines, encoding="utf-8")
        with pytest.raises(DataProblem, match="colon"):
            data.index(folder, CONTESTS, ())
        return
    found = []
    for id, samples in records.items():
        if samples[0][_key(samples[0])].endswith(":::0"):  # without its first sample a case is broken and has no line
            replies = {"responses": [one["response"] for one in samples]}
            line = response_records({**samples[0], _key(samples[0]): id}, replies)
            found.append({**line, "n_responses": line.get("n_responses", [line["response"]])})
    assert found == case["expected"]


def building_block(op: str, args: Mapping[str, Any]) -> Any:
    if op in CLIENTS:
        return [shown(message) for message in parse(args["response"], CLIENTS[op])]
    match op:
        case "gen.repeat":
            return repeated(args["requests"], args["n"])
        case "gen.format_target":
            return shown(format_target(args["message"]))
        case "mmau.aggregate":
            return aggregate(args["metrics"])
    raise AssertionError(f"no test knows the operation {op}")


@every("case", cases("mmau", "generation_parts.json"))
def test_building_block(case: Mapping[str, Any], tmp_path: Path) -> None:
    if case["op"] == "gen.flatten":
        written(case, tmp_path)
        return
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
    assert read('{"error": "Exceed max retries of rate limiting error"}', client) == [ReplyMessage("")]


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
            assert all(isinstance(message, ReplyMessage) for message in parse(value, client))
