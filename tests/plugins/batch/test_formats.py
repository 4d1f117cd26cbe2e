"""The formats of batches: lines of results, times, and conversations as Anthropic has them."""

from __future__ import annotations

import pytest

from agentgauge.core.causes import Failure
from agentgauge.core.errors import UsageProblem
from agentgauge.model.endpoint import Endpoint
from agentgauge.model.presets import resolve
from agentgauge.plugins.batch.anthropic import ANTHROPIC
from agentgauge.plugins.batch.files import OPENAI
from agentgauge.plugins.batch.formats import seconds_of
from agentgauge.plugins.batch.messages import chat_completion, messages_body
from agentgauge.plugins.batch.openrouter import OPENROUTER
from agentgauge.plugins.batch.providers import FORMATS, check_batches, with_batch_prices

SPEC = resolve("m", url="http://127.0.0.1:1/v1", environ={})
BODY = {"choices": [{"message": {"content": "x"}}]}


def meaning(failure):
    return "final" if failure.final else "limit" if failure.limited else "again"


@pytest.mark.parametrize(
    ("form", "line", "expected"),
    [
        (OPENAI, {"response": {"status_code": 200, "body": BODY}, "error": None}, BODY),
        (OPENAI, {"response": {"body": BODY}}, BODY),
        (OPENAI, {"response": {"status_code": 429, "body": {"error": {"message": "slow"}}}}, ("http 429", "limit")),
        (OPENAI, {"response": {"status_code": 500, "body": {}}}, ("http 500", "again")),
        (OPENAI, {"response": {"status_code": 400, "body": {"error": {"message": "no"}}}}, ("http 400", "final")),
        (
            OPENAI,
            {"response": {"status_code": 400, "body": {"error": {"code": "content_filter", "message": "no"}}}},
            ("content filter", "final"),
        ),
        (OPENAI, {"response": None, "error": {"code": "batch_expired", "message": "late"}}, ("batch expired", "again")),
        (OPENAI, {"error": {"code": "batch_cancelled"}}, ("batch cancelled", "final")),
        (OPENAI, {"error": {"message": "odd"}}, ("failed in batch", "again")),
        (OPENAI, {"error": {"type": "rate_limit_exceeded"}}, ("failed in batch", "limit")),
        (OPENAI, {}, ("no result", "again")),
        (OPENROUTER, {"error": {"error_type": "rate_limit_exceeded", "message": "m"}}, ("failed in batch", "limit")),
        (ANTHROPIC, {"result": {"type": "expired"}}, ("batch expired", "again")),
        (ANTHROPIC, {"result": {"type": "canceled"}}, ("batch cancelled", "final")),
        (ANTHROPIC, {"result": {"type": "succeeded"}}, ("no result", "again")),
        (
            ANTHROPIC,
            {"result": {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error"}}}},
            ("failed: overloaded_error", "limit"),
        ),
        (
            ANTHROPIC,
            {"result": {"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error"}}}},
            ("failed: invalid_request_error", "final"),
        ),
        (ANTHROPIC, {"result": {"type": "errored"}}, ("failed in batch", "again")),
    ],
)
def test_a_line_of_results(form, line, expected):
    outcome = form.result(Endpoint(SPEC, None, None), line)
    assert ((outcome.cause, meaning(outcome)) if isinstance(outcome, Failure) else outcome) == expected


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        (1700000000, 1.7e9),
        ("2023-11-14T22:13:20Z", 1.7e9),
        ("2023-11-14T22:13:20+00:00", 1.7e9),
        ("soon", float("inf")),
        (None, float("inf")),
    ],
)
def test_times_of_creation(moment, seconds):
    assert seconds_of(moment) == seconds


def test_providers_without_batches_are_refused_and_keep_their_prices():
    with pytest.raises(UsageProblem, match="known for the providers openai, azure, together, anthropic, openrouter"):
        check_batches(SPEC)
    assert with_batch_prices(SPEC) is SPEC
    assert set(FORMATS) == {"openai", "azure", "together", "anthropic", "openrouter"}


# -- conversations

USER = {"role": "user", "content": "hi"}
HI = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
TOOL = {
    "type": "function",
    "function": {"name": "add", "description": "adds", "parameters": {"type": "object", "a": 1}},
}
SCHEMA = {"name": "add", "description": "adds", "input_schema": {"type": "object", "a": 1}}
CALL = {"id": "c.1", "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}}
USE = {"type": "tool_use", "id": "c_1", "name": "add", "input": {"x": 1}}


def assistant(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answered(identity, text):
    return {"type": "tool_result", "tool_use_id": identity, "content": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("messages", "system", "turns"),
    [
        ([USER], None, [HI]),
        (
            [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}, USER],
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            [HI],
        ),
        ([USER, USER], None, [{"role": "user", "content": HI["content"] * 2}]),
        ([USER, {"role": "assistant", "content": ""}, USER], None, [{"role": "user", "content": HI["content"] * 2}]),
        (
            [USER, assistant(CALL, content="so"), {"role": "tool", "tool_call_id": "c.1", "content": "2"}, USER],
            None,
            [
                HI,
                {"role": "assistant", "content": [{"type": "text", "text": "so"}, USE]},
                {"role": "user", "content": [answered("c_1", "2"), *HI["content"]]},
            ],
        ),
        (  # without ids, two calls and two results
            [
                USER,
                assistant(
                    {"function": {"name": "f", "arguments": "null"}}, {"function": {"name": "g", "arguments": "no"}}
                ),
                {"role": "tool", "content": "1"},
                {"role": "tool", "content": "2"},
            ],
            None,
            [
                HI,
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "call_0", "name": "f", "input": {}},
                        {"type": "tool_use", "id": "call_1", "name": "g", "input": {"arguments": "no"}},
                    ],
                },
                {"role": "user", "content": [answered("call_0", "1"), answered("call_1", "2")]},
            ],
        ),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                        {"type": "file", "file": {"file_data": "data:application/pdf;base64,BBBB", "filename": "a"}},
                    ],
                }
            ],
            None,
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                        {
                            "type": "document",
                            "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"},
                        },
                    ],
                }
            ],
        ),
    ],
)
def test_conversations(messages, system, turns):
    body = messages_body({"model": "m", "messages": messages})
    assert body.get("system") == system
    assert body["messages"] == turns


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        ({}, {"max_tokens": 8192}),
        ({"max_tokens": 9}, {"max_tokens": 9}),
        ({"max_completion_tokens": 7}, {"max_tokens": 7}),
        ({"temperature": 1.5}, {"max_tokens": 8192, "temperature": 1.0}),
        ({"temperature": 0}, {"max_tokens": 8192, "temperature": 0}),
        ({"stop": ["\n", "END"]}, {"max_tokens": 8192, "stop_sequences": ["END"]}),
        ({"stop": ["\n"]}, {"max_tokens": 8192}),
        ({"seed": 3, "chat_template_kwargs": {"x": 1}}, {"max_tokens": 8192}),
        (
            {"top_p": 0.9, "thinking": {"type": "enabled"}},
            {"max_tokens": 8192, "top_p": 0.9, "thinking": {"type": "enabled"}},
        ),
        ({"tools": [TOOL]}, {"max_tokens": 8192, "tools": [SCHEMA]}),
        (
            {"tools": [TOOL], "tool_choice": "none"},
            {"max_tokens": 8192, "tools": [SCHEMA], "tool_choice": {"type": "none"}},
        ),
        (
            {"tools": [{**TOOL, "cache_control": {"type": "ephemeral"}}], "tool_choice": "required"},
            {
                "max_tokens": 8192,
                "tools": [{**SCHEMA, "cache_control": {"type": "ephemeral"}}],
                "tool_choice": {"type": "any"},
            },
        ),
        (
            {"tools": [{"function": {"name": "f"}}], "tool_choice": {"type": "function", "function": {"name": "f"}}},
            {
                "max_tokens": 8192,
                "tools": [{"name": "f", "input_schema": {"type": "object"}}],
                "tool_choice": {"type": "tool", "name": "f"},
            },
        ),
    ],
)
def test_settings(fields, made):
    assert messages_body({"model": "m", "messages": [USER], **fields}) == {"model": "m", "messages": [HI], **made}


@pytest.mark.parametrize(
    ("content", "stop", "message", "finish"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "end_turn", {"content": "ab"}, "stop"),
        ([{"type": "text", "text": "a"}], "max_tokens", {"content": "a"}, "length"),
        (
            [{"type": "text", "text": "a"}],
            "model_context_window_exceeded",
            {"content": "a"},
            "model_context_window_exceeded",
        ),
        ([{"type": "text", "text": "a"}], "stop_sequence", {"content": "a"}, "stop"),
        ([], "refusal", {"content": ""}, "content_filter"),
        (
            [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "c", "name": "f", "input": {"x": "ü"}}],
            "tool_use",
            {
                "content": None,
                "reasoning_content": "hm",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": "ü"}'}}],
            },
            "tool_calls",
        ),
    ],
)
def test_replies(content, stop, message, finish):
    made = chat_completion({"content": content, "stop_reason": stop})["choices"][0]
    assert made["message"] == {"role": "assistant", **message}
    assert made["finish_reason"] == finish


def test_tokens_of_the_cache_are_tokens_of_the_prompt():
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    assert chat_completion({"content": [], "usage": usage})["usage"] == {
        "prompt_tokens": 125,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 20},
    }


def test_signed_thinking_goes_back_before_its_calls():
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    hidden = {"type": "redacted_thinking", "data": "x"}
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    content = [thought, hidden, {"type": "text", "text": "So."}, call]
    message = chat_completion({"content": content, "stop_reason": "tool_use"})["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": "c", "content": "r"}
    body = messages_body({"model": "m", "messages": [{"role": "user", "content": "q"}, message, result]})
    assert body["messages"][1] == {"role": "assistant", "content": content}
