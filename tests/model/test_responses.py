"""OpenAI's Responses API: what goes out, and what is made of the answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.core.types import Usage
from agentgauge.model import responses
from agentgauge.model.presets import resolve
from agentgauge.model.retry import Failure
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import request_body
from tests.costly import COSTLY
from tests.model.files_server import response, said

SPEC = resolve("judge", url="http://localhost:1/v1", environ={})


def test_a_conversation_with_tools_becomes_items() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "OCR", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}
    messages = (
        {"role": "system", "content": "Be short."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Read."}, picture],
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "OPEN"},
        {
            "role": "tool",
            "tool_call_id": "c2",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It says OPEN."}]},
        {
            "role": "user",
            "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,A"}}],
        },
        {"role": "assistant", "content": ""},  # endpoints refuse an empty message
    )
    tool = {"type": "function", "function": {"name": "OCR", "parameters": {"type": "object"}}}
    assert responses.request_body(SPEC, ChatRequest(messages, tools=(tool,), seed=1, stop=("x",))) == {
        "model": "judge",
        "store": False,
        "tools": [{"type": "function", "strict": False, "name": "OCR", "parameters": {"type": "object"}}],
        "input": [
            {"role": "system", "content": "Be short."},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Read."},
                    {"type": "input_image", "image_url": "data:image/png;base64,A", "detail": "auto"},
                ],
            },
            {"type": "function_call", "call_id": "c1", "name": "OCR", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "OPEN"},
            {"type": "function_call_output", "call_id": "c2", "output": "ab"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "It says OPEN."}]},
            {
                "role": "user",
                "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,A"}],
            },
        ],
    }


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
SECOND = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gBBB"}


def _called(number: int) -> dict[str, Any]:
    ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
    return {"type": "function_call", **ids, "name": "OCR", "arguments": '{"n": 1}', "status": "completed"}


def _sent_back(spec: ModelSpec, *items: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a reply, as the next request has them."""
    reply = responses.read_reply(response(items=list(items)), spec)
    assert isinstance(reply, ChatReply)
    results = [{"role": "tool", "tool_call_id": call.id, "content": "r"} for call in reply.tool_calls]
    messages = ({"role": "user", "content": "q"}, reply.message, *results)
    sent: list[dict[str, Any]] = responses.request_body(spec, ChatRequest(messages))["input"]
    return sent[1 : len(sent) - len(results)]


def test_thoughts_go_back_before_the_calls_that_they_led_to() -> None:
    spec = resolve("gpt-5.2", environ={"OPENAI_API_KEY": "k"})
    items = (THOUGHT, _called(1), SECOND, _called(2))
    assert _sent_back(spec, *items) == list(items)
    tool = {"type": "function", "function": {"name": "OCR"}}
    asked = ChatRequest(({"role": "user", "content": "q"},), tools=(tool,))
    assert responses.request_body(spec, asked)["include"] == ["reasoning.encrypted_content"]
    plain = resolve("gpt-4o", environ={"OPENAI_API_KEY": "k"})
    assert "include" not in responses.request_body(plain, asked)


def test_a_thought_without_its_encrypted_content_does_not_go_back() -> None:
    lost = {**THOUGHT, "encrypted_content": None}
    kept = [{"type": "function_call", "call_id": "call_1", "name": "OCR", "arguments": '{"n": 1}'}]
    assert _sent_back(SPEC, lost, _called(1)) == kept


def test_chat_completions_do_not_get_the_items_of_the_other_interface() -> None:
    reply = responses.read_reply(response(items=[THOUGHT, _called(1)]), SPEC)
    assert isinstance(reply, ChatReply)
    (message,) = request_body(SPEC, ChatRequest((reply.message,)))["messages"]
    assert set(message) == {"role", "content", "tool_calls"}


@pytest.mark.parametrize(("model", "temperature"), [("gpt-5.2", None), ("gpt-4o", 0.2)])
def test_reasoning_models_get_no_temperature(model: str, temperature: float | None) -> None:
    spec: ModelSpec = resolve(model, environ={"OPENAI_API_KEY": "k"})
    body = responses.request_body(spec, ChatRequest(({"role": "user", "content": "a"},), temperature=0.2, max_tokens=5))
    assert (body.get("temperature"), body["max_output_tokens"]) == (temperature, 5)


USED = Usage(1, 10, 5)
REPLIES: dict[str, tuple[Any, ChatReply]] = {
    "parts of one text": (response(said("a"), said("b")), ChatReply("ab", usage=USED)),
    "text of two messages": (
        response(said("a"), items=[{"type": "message", "content": [said("b")]}]),
        ChatReply("ab", usage=USED),
    ),
    "nothing said": (response(), ChatReply(usage=USED)),
    "refusal": (response({"type": "refusal", "refusal": "No."}), ChatReply(refusal="No.", usage=USED)),
    "thoughts": (
        response(said("a"), items=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}]),
        ChatReply("a", reasoning="hm", usage=USED),
    ),
    "a call": (
        response(items=[{"type": "function_call", "id": "fc", "call_id": "c1", "name": "OCR", "arguments": "{"}]),
        ChatReply(tool_calls=(ToolCall("OCR", "{", "c1"),), finish_reason="tool_calls", usage=USED),
    ),
    "a call without an id": (
        response(items=[{"type": "function_call", "name": "OCR", "arguments": "{}"}]),
        ChatReply(tool_calls=(ToolCall("OCR", "{}"),), finish_reason="tool_calls", usage=USED),
    ),
    "cut at the limit": (
        response(said("half"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ChatReply("half", finish_reason="length", usage=USED),
    ),
    "only thoughts before the limit": (
        response(
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
            items=[{"type": "reasoning", "summary": []}],
        ),
        ChatReply(finish_reason="length", usage=USED),
    ),
    "filtered": (
        response(status="incomplete", incomplete_details={"reason": "content_filter"}),
        ChatReply(refusal="the endpoint's content filter ended the reply", finish_reason="content_filter", usage=USED),
    ),
    "filtered in the middle": (
        response(said("half"), status="incomplete", incomplete_details={"reason": "content_filter"}),
        ChatReply("half", finish_reason="content_filter", usage=USED),
    ),
    "incomplete without a reason": (
        response(said("a"), status="incomplete", incomplete_details=None),
        ChatReply("a", finish_reason="incomplete", usage=USED),
    ),
    "no status, no usage": ({"output": [{"type": "message", "content": [said("a")]}]}, ChatReply("a", usage=Usage(1))),
    "odd items": (
        {
            "output": [
                "x",
                {"type": "message", "content": "y"},
                {"type": "message", "content": [3, {"type": "output_text", "text": 4}]},
            ]
        },
        ChatReply(usage=Usage(1)),
    ),
    "lone surrogate": (response(said("\ud800!")), ChatReply("?!", usage=USED)),
    "stop word": (response(said("yes STOP no")), ChatReply("yes ", usage=USED)),
}


@pytest.mark.parametrize("case", REPLIES)
def test_replies_are_read_leniently(case: str) -> None:
    data, reply = REPLIES[case]
    assert responses.read_reply(data, SPEC, ("STOP",)) == reply


FAULTS: dict[str, tuple[Any, str, str, str]] = {
    "a list": ([], "no output", "again", "JSON list"),
    "nothing": ({}, "no output", "again", "no output"),
    "chat completion": ({"choices": []}, "no output", "again", "no output"),
    "still at work": (response(said("a"), status="in_progress"), "no output", "again", "'in_progress'"),
    "server error": (
        response(status="failed", error={"code": "server_error", "message": "sorry"}),
        "failed: server_error",
        "again",
        "(server_error): sorry",
    ),
    "limit": (
        response(status="failed", error={"code": "rate_limit_exceeded"}),
        "failed: rate_limit_exceeded",
        "limit",
        "rate_limit",
    ),
    "prompt": (
        response(status="failed", error={"code": "invalid_prompt", "message": "m"}),
        "failed: invalid_prompt",
        "final",
        "m",
    ),
    "no word": (response(status="failed", error=None), "failed", "again", "failed"),
    "gateway": ({"error": {"code": 503, "message": "upstream down"}}, "http 503", "again", "upstream down"),
    "gateway text": ({"error": "odd"}, "failed", "again", "odd"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_is_no_reply_is_a_failure_with_a_cause(case: str) -> None:
    data, cause, kind, words = FAULTS[case]
    failure = responses.read_reply(data, SPEC)
    assert isinstance(failure, Failure)
    assert (failure.cause, failure.kind) == (cause, kind) and words in failure.message


_WORDS = st.sampled_from(
    ["message", "reasoning", "function_call", "output_text", "refusal", "failed", "incomplete", "completed", "\ud800"]
)
_KEYS = [
    "type",
    "status",
    "output",
    "error",
    "code",
    "content",
    "text",
    "refusal",
    "summary",
    "incomplete_details",
    "reason",
    "usage",
]
_KEYS += ["input_tokens", "output_tokens", "name", "arguments", "call_id", "message"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5),
)


@COSTLY
@given(st.dictionaries(st.sampled_from(_KEYS), _JSON) | _JSON)
def test_no_answer_makes_the_reader_fall(data: Any) -> None:
    outcome = responses.read_reply(data, SPEC)
    if isinstance(outcome, Failure):
        (outcome.cause + outcome.message).encode()
    else:
        assert isinstance(outcome, ChatReply)
        (outcome.text + (outcome.refusal or "") + outcome.finish_reason).encode()
