"""Replies whose fields have another type than in OpenAI's format: judged and sent back as the published code does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply
from agentgauge.core.types import Scoring
from agentgauge.model.providers import Quirks
from agentgauge.model.replay import fitted
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import read_reply
from bench_wild.data import resolve
from bench_wild.files import row
from bench_wild.labels import NOT_EXPECTED
from bench_wild.options import WildOptions
from bench_wild.prompts import Release, Sending
from bench_wild.run import FAILED, run_task
from bench_wild.task import wild
from tests.wild.test_run import Scripted, sample

BOOK, QUESTION, CHAT = 0, 2, 3
"""Tasks of the made-up session: one call of bookTable, a question before the call, and a text alone."""

CALL = {"id": "a", "type": "function", "function": {"name": "bookTable", "arguments": "{}"}}
LOST = FAILED + "object of type '{}' has no len()"
NOT_READ = "parse tool_calls failed, error: "


def received(message: Any) -> ChatReply:
    spec = ModelSpec("m", "openai", "m", "url")
    reply = read_reply({"choices": [{"message": message}]}, spec)
    assert isinstance(reply, ChatReply)
    return reply


def run(
    place: int,
    *messages: dict[str, Any],
    release: Release = "2026",
    scoring: Scoring = "parity",
) -> tuple[Any, Scripted]:
    model = Scripted(*map(received, messages), received({"content": None}))
    case = Case(sample(place), 1, 0, CaseSettings("native", scoring), model, None, Path())
    output = asyncio.run(run_task(case, sending=Sending(release=release)))
    # any outcome can be scored, explained and written in both releases' layouts
    score = wild(WildOptions(evaluator=release)).score(sample(place), output, scoring, "")
    sending, tolerant = Sending(release=release), scoring == "strict"
    json.dumps(row(*resolve(sample(place)), output, score, sending=sending, tolerant=tolerant))
    return output, model


def outcome(output: Any) -> str:
    """The label, the reason why the first reply is wrong, or the text of a lost session."""
    if isinstance(output, str):
        return output
    return output["inference_log"]["step_0"]["inference_output"].get("error_reason", output["action_name_label"])


EMPTY = "tool_calls and content are None or empty"


@pytest.mark.parametrize(
    ("content", "later", "earlier"),
    [
        (None, EMPTY, EMPTY),
        ("", EMPTY, EMPTY),
        (" ", "correct", "correct"),
        ([], "correct", EMPTY),
        ({}, "correct", EMPTY),
        (0, "correct", EMPTY),
        (False, "correct", EMPTY),
        (42, "correct", "correct"),
        (True, "correct", "correct"),
        ({"a": 1}, "correct", "correct"),
        (["a", 5], "correct", "correct"),
        ([{"type": "text", "text": "a"}], "correct", "correct"),
        ([{"type": "text", "text": ""}], "correct", "correct"),
        ([{"type": "image_url", "image_url": None}], "correct", "correct"),
    ],
)
def test_content(content: Any, later: str, earlier: str) -> None:
    """What is neither null nor an empty text counts as a text; the earlier release asks whether it is true."""
    assert outcome(run(CHAT, {"content": content})[0]) == later
    assert outcome(run(CHAT, {"content": content}, release="2025")[0]) == earlier
    for release, expected in (("2026", later), ("2025", earlier)):
        _, model = run(QUESTION, {"content": content}, release=release)
        assert len(model.requests) == 1 + (expected == "correct")
        if expected == "correct":
            assert model.requests[1].messages[-2] == {"role": "assistant", "content": content}
            assert fitted(model.requests[1], Quirks())[-2]["content"] == content


@pytest.mark.parametrize("content", [[], 42, False, [{"type": "text", "text": "a"}]])
def test_content_beside_calls_goes_back(content: Any) -> None:
    _, model = run(BOOK, {"content": content, "tool_calls": [CALL]})
    assert model.requests[1].messages[-2] == {"role": "assistant", "content": content, "tool_calls": [CALL]}
    assert fitted(model.requests[1], Quirks())[-2]["content"] == content


@pytest.mark.parametrize(("content", "text"), [([], ""), (42, ""), (False, ""), ([{"type": "text", "text": "a"}], "a")])
def test_strict_scoring_reads_texts(content: Any, text: str) -> None:
    output, _ = run(CHAT, {"content": content}, scoring="strict")
    assert outcome(output) == ("correct" if text else EMPTY)


@pytest.mark.parametrize(
    ("calls", "later", "earlier"),
    [
        ({}, NOT_EXPECTED, NOT_EXPECTED),
        ("", NOT_EXPECTED, NOT_EXPECTED),
        (0, LOST.format("int"), NOT_EXPECTED),
        (False, LOST.format("bool"), NOT_EXPECTED),
        (42, LOST.format("int"), NOT_READ + "'int' object is not iterable"),
        (0.5, LOST.format("float"), NOT_READ + "'float' object is not iterable"),
        ("a", NOT_READ, NOT_READ),
        ({"a": 1}, NOT_READ, NOT_READ),
        ([None], NOT_READ, NOT_READ),
        ([42], NOT_READ, NOT_READ),
        ([[]], NOT_READ, NOT_READ),
        ([{"function": None}], NOT_READ, NOT_READ),
        ([{"function": "f"}], NOT_READ, NOT_READ),
        ([{"type": "custom", "function": {"name": "bookTable"}}], NOT_READ + "'arguments'", NOT_READ + "'arguments'"),
        ([{"type": "custom", "custom": {"name": "f"}}], NOT_READ + "'function'", NOT_READ + "'function'"),
        ([{"function": {"name": ["bookTable"]}}], NOT_EXPECTED, NOT_EXPECTED),
        ([{"function": {"name": {"a": 1}}}], NOT_EXPECTED, NOT_EXPECTED),
        ([{"function": {"name": 5}}], NOT_EXPECTED, NOT_EXPECTED),
        ([{"function": {"name": None}}], NOT_EXPECTED, NOT_EXPECTED),
        ([{"function": {"name": {}}}, {"function": {"name": {}}}], FAILED, FAILED),
        ([{"function": {"name": "a"}}, {"function": {"name": []}}], FAILED, FAILED),
        ([{"function": {"name": []}}, {"function": {"name": ["a"]}}], NOT_EXPECTED, NOT_EXPECTED),
    ],
)
def test_calls(calls: Any, later: str, earlier: str) -> None:
    message = {"content": "So.", "tool_calls": calls}
    assert outcome(run(BOOK, message)[0]).startswith(later)
    assert outcome(run(BOOK, message, release="2025")[0]).startswith(earlier)


@pytest.mark.parametrize("id", ["", None, 5, [], {"a": 1}, True])
def test_ids_go_back_as_they_came(id: Any) -> None:
    _, model = run(BOOK, {"content": None, "tool_calls": [{**CALL, "id": id}]})
    call, result = model.requests[1].messages[-2:]
    assert (call["tool_calls"][0]["id"], result["tool_call_id"]) == (id, id)


def test_an_empty_id_is_sent() -> None:
    """Under strict scoring an id is made up, which every endpoint accepts."""
    message = {"content": None, "tool_calls": [{**CALL, "id": ""}]}
    ids = {}
    for scoring in ("parity", "strict"):
        _, model = run(BOOK, message, scoring=scoring)
        *_, call, result = fitted(model.requests[1], Quirks())
        ids[scoring] = (call["tool_calls"][0]["id"], result["tool_call_id"])
    assert ids["parity"] == ("", "")
    assert len(ids["strict"][0]) == 9 and len(set(ids["strict"])) == 1
