"""What comes from models and from other people's files is read, or refused by name; nothing else happens."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.errors import DataProblem
from bench_gta.workflow import run
from bench_gta.workflow.prompts import Unreadable, leaf_fields, read_reply
from bench_gta.workflow.trace import attached_files, compress, texts_in
from bench_gta.workflow.tree import aggregate, check_weights, leaves, parse
from tests.costly import COSTLY

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
CALL = st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": st.sampled_from("AB"), "arguments": JSON})})
STEP = st.one_of(
    st.fixed_dictionaries({"role": st.just("assistant"), "content": JSON}),
    st.fixed_dictionaries({"role": st.just("assistant"), "tool_calls": st.lists(CALL, min_size=1, max_size=2)}),
    st.fixed_dictionaries({"role": st.just("tool"), "content": JSON}),
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


@given(st.floats(0, 10), st.text(), st.text(alphabet="abc \n`"), st.text(alphabet="abc \n`"))
def test_the_strict_reader_finds_its_object_among_other_text(
    score: float, analysis: str, before: str, after: str
) -> None:
    verdict = read_reply(before + json.dumps({"score": score, "analysis": analysis}) + after, strict=True)
    assert (verdict.score, verdict.analysis) == (score, analysis)


@given(JSON, JSON, JSON)
def test_every_value_gives_parts_of_a_prompt(node: Any, trace: Any, origin_prompt: Any) -> None:
    fields = leaf_fields(node if isinstance(node, dict) else {}, trace, origin_prompt)
    assert fields.final_answer and fields.final_answer == fields.final_answer.strip()


@COSTLY
@given(st.lists(st.lists(JSON | STEP, max_size=4), max_size=3))
def test_found_files_are_texts_of_the_run(turns: list[list[Any]]) -> None:
    found = attached_files(turns)
    assert len(set(found)) == len(found)
    texts = [text for turn in turns for text in texts_in(turn)]
    assert all(any(form in text for text in texts) for form in found)


@COSTLY
@given(st.lists(STEP | st.fixed_dictionaries({"role": st.just("user"), "content": JSON}), max_size=12))
def test_compression_keeps_texts_and_counts_attempts(steps: list[dict[str, Any]]) -> None:
    done = compress(steps)
    said = [step["content"] for step in steps if step["role"] == "assistant" and isinstance(step.get("content"), str)]
    kept = [step["content"] for step in done if step["role"] == "assistant" and "content" in step]
    assert "".join("".join(kept).split()) == "".join("".join(said).split())
    attempts = [summary["attempts"] for step in done for summary in step.get("tool_calls_summary", [])]
    assert sum(attempts) == sum("tool_calls" in step for step in steps)
    assert compress(done) == done or any("tool_calls_summary" in step for step in done)


@COSTLY
@given(st.lists(JSON | STEP, max_size=8))
def test_compression_refuses_only_damaged_calls(steps: list[Any]) -> None:
    calls = [
        step["tool_calls"]
        for step in steps
        if isinstance(step, dict) and step.get("role") == "assistant" and "tool_calls" in step
    ]
    sound = all(isinstance(one, list) and one and isinstance(one[0], dict) for one in calls)
    with nullcontext() if sound else pytest.raises(DataProblem, match="tool_calls"):
        compress(steps)


@given(JSON)
def test_a_tree_is_read_or_refused(value: Any) -> None:
    try:
        root = parse(value)
        check_weights(root)
    except DataProblem:
        return
    scores = [5.0] * len(leaves(root))
    assert aggregate(root, scores).value in (0, 5)  # weights of arbitrary trees are 1 here


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6), st.lists(st.floats(0.01, 100), min_size=6, max_size=6))
def test_a_mean_lies_between_its_leaves(scores: list[float], weights: list[float]) -> None:
    root = parse([{"weight": weight} for weight in weights[: len(scores)]])
    assert min(scores) - 1e-9 <= aggregate(root, scores).value <= max(scores) + 1e-9


@COSTLY
@given(
    st.lists(st.dictionaries(st.text(max_size=4), JSON.filter(lambda value: value == value), max_size=3), max_size=3)
)
def test_records_come_back_as_they_were(tmp_path_factory: Any, extra: list[dict[str, Any]]) -> None:
    path: Path = tmp_path_factory.mktemp("predictions") / "p.json"
    records = [
        {**one, "full_tree": [], "origin_prompt": ["q"], "assistant_outputs": [], "gold": [], "prediction": []}
        for one in extra
    ]
    run.write_predictions(path, [{**one, "attached_files": None} for one in records])
    assert json.dumps(run.read_predictions(path)) == json.dumps([{**one, "attached_files": None} for one in records])
