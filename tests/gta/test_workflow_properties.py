"""What comes from models and from other people's files is read, or refused by name; nothing else happens."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_gta.workflow.prompts import Unreadable, read_reply
from bench_gta.workflow.tree import aggregate, parse

pytestmark = pytest.mark.slow

WORDS = st.sampled_from(
    [
        "role",
        "content",
        "assistant",
        "tool",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "error",
        "o/a.png",
        "sub_tasks",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
REPLY = (
    st.text()
    | JSON.map(json.dumps)
    | st.builds('{{"score": {}, "analysis": {}}}'.format, JSON.map(json.dumps), JSON.map(json.dumps))
)


@given(REPLY)
def test_a_score_is_always_from_0_to_10(reply: str) -> None:
    assert 0 <= read_reply(reply).score <= 10
    try:
        strict = read_reply(reply, strict=True)
    except Unreadable:
        return
    assert 0 <= strict.score <= 10


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6), st.lists(st.floats(0.01, 100), min_size=6, max_size=6))
def test_a_mean_lies_between_its_leaves(scores: list[float], weights: list[float]) -> None:
    root = parse([{"weight": weight} for weight in weights[: len(scores)]])
    assert min(scores) - 1e-9 <= aggregate(root, scores).value <= max(scores) + 1e-9
