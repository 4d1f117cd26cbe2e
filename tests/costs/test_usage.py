"""Tokens that endpoints report, and attempts that were paid for and failed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.core.config import Prices
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Usage
from agentgauge.model.client import OpenAIModel
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import ModelSpec
from agentgauge.model.usage import completed, read_usage, unread, unused_cost, usage_of
from tests.model.fault_server import FaultServer, answer, completion, data, status

PRICES = Prices(1.0, 10.0, cached=0.1, cache_write=2.0)


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5}, (10, 5, 0, 0, 0)),
        # OpenAI, and what follows it
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 20},
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            (100, 50, 64, 20, 40),
        ),
        # OpenAI's Responses
        (
            {
                "input_tokens": 100,
                "output_tokens": 50,
                "total_tokens": 150,
                "input_tokens_details": {"cached_tokens": 64},
                "output_tokens_details": {"reasoning_tokens": 40},
            },
            (100, 50, 64, 0, 40),
        ),
        # gateways to Anthropic in the chat format: the prompt includes what was cached
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "cache_creation_input_tokens": 30,
                "cache_read_input_tokens": 60,
            },
            (100, 5, 60, 30, 0),
        ),
        # Anthropic's own: the prompt does not include it
        (
            {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 60},
            (100, 5, 60, 30, 0),
        ),
        # DeepSeek
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 36,
            },
            (100, 5, 64, 0, 0),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 64}, (100, 5, 64, 0, 0)),  # Moonshot
        # xAI: the reply's tokens do not include those of the reasoning, the total does
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "total_tokens": 145,
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            (100, 45, 0, 0, 40),
        ),
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, (20, 603, 0, 0, 405)),  # Gemini
        # nonsense: no part is larger than the whole
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 99, "cache_write_tokens": 99},
                "completion_tokens_details": {"reasoning_tokens": 99},
            },
            (10, 5, 10, 0, 5),
        ),
        (
            {
                "prompt_tokens": None,
                "completion_tokens": "5",
                "total_tokens": -1,
                "prompt_tokens_details": [1],
                "completion_tokens_details": None,
            },
            (0, 5, 0, 0, 0),
        ),
        ("free", (0, 0, 0, 0, 0)),
        # numbers as texts or with a fraction, and what is no number
        ({"prompt_tokens": "10", "completion_tokens": 5.0}, (10, 5, 0, 0, 0)),
        ({"prompt_tokens": True, "completion_tokens": -5, "total_tokens": float("nan")}, (0, 0, 0, 0, 0)),
        # other names
        ({"promptTokens": 10, "completionTokens": 5, "totalTokens": 15}, (10, 5, 0, 0, 0)),
        ({"input_tokens": 10, "output_tokens": 5}, (10, 5, 0, 0, 0)),
        ({"input_token_count": 10, "generated_token_count": 5}, (10, 5, 0, 0, 0)),  # watsonx
        # Bedrock: cached tokens beside the prompt's; the total holds them
        (
            {"inputTokens": 3, "outputTokens": 4, "totalTokens": 107, "cacheReadInputTokens": 60}
            | {"cacheWriteInputTokens": 40},
            (103, 4, 60, 40, 0),
        ),
        # Google's own: thoughts beside the reply, the cache inside the prompt, tools' results beside it
        (
            {"promptTokenCount": 100, "candidatesTokenCount": 5, "thoughtsTokenCount": 40, "totalTokenCount": 155}
            | {"cachedContentTokenCount": 60, "toolUsePromptTokenCount": 10},
            (110, 45, 60, 0, 40),
        ),
        # a gateway that puts Anthropic's numbers under OpenAI's names: more cached than the prompt has
        ({"prompt_tokens": 10, "completion_tokens": 5, "cache_read_input_tokens": 90}, (100, 5, 90, 0, 0)),
        # the names of the one, the sum of the other
        (
            {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105, "cache_read_input_tokens": 60},
            (100, 5, 60, 0, 0),
        ),
        # Perplexity, and Databricks: reasoning beside the reply, and in it
        ({"prompt_tokens": 10, "completion_tokens": 5, "reasoning_tokens": 40}, (10, 45, 0, 0, 40)),
        ({"prompt_tokens": 10, "completion_tokens": 50, "reasoning_tokens": 40}, (10, 50, 0, 0, 40)),
        # one of the two is left to be computed
        ({"prompt_tokens": 10, "total_tokens": 15}, (10, 5, 0, 0, 0)),
        ({"completion_tokens": 5, "total_tokens": 15}, (10, 5, 0, 0, 0)),
    ],
)
def test_tokens(said: Any, counted: tuple[int, ...]) -> None:
    prompt, completion_, cached, written, reasoning = counted
    usd = ((prompt - cached - written) * 1.0 + cached * 0.1 + written * 2.0 + completion_ * 10.0) / 1e6
    assert read_usage(said, PRICES) == Usage(1, prompt, completion_, pytest.approx(usd), cached, written, reasoning)


COUNTED = (10, 5)


@pytest.mark.parametrize(
    "answer",
    [
        {"usage": {"prompt_tokens": 10, "completion_tokens": 5}},
        {"usage": [{"prompt_tokens": 10, "completion_tokens": 5}]},
        {"usage": [{"prompt_tokens": 6, "completion_tokens": 5}, {"prompt_tokens": 4}]},
        {"choices": [{"usage": {"prompt_tokens": 10, "completion_tokens": 5}}]},  # Moonshot
        {"choices": [{"message": {"usage": {"prompt_tokens": 10, "completion_tokens": 5}}}]},
        {"x_groq": {"usage": {"prompt_tokens": 10, "completion_tokens": 5}}},
        {"result": {"usage": {"prompt_tokens": 10, "completion_tokens": 5}}},  # Cloudflare
        {"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}},
        {"usage": None, "usage_metadata": {"prompt_token_count": 10, "candidates_token_count": 5}},
        {"prompt_eval_count": 10, "eval_count": 5},  # Ollama
        {"usage": {"billed_units": {"input_tokens": 3, "output_tokens": 5}}
         | {"tokens": {"input_tokens": 10, "output_tokens": 5}}},  # Cohere
        {"meta": {"billed_units": {"input_tokens": 10, "output_tokens": 5}}},
        {"results": [{"input_token_count": 10, "generated_token_count": 5}]},  # watsonx
        {"usage": {"prompt_tokens": 0, "completion_tokens": 0}, "prompt_eval_count": 10, "eval_count": 5},
    ],
)  # fmt: skip
def test_places_of_counts(answer: dict[str, Any]) -> None:
    found = usage_of(answer, PRICES)
    assert (found.requests, found.prompt_tokens, found.completion_tokens) == (1, *COUNTED)
    assert unread(answer) == ""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, ""),
        ({"usage": None}, ""),
        ({"usage": {"cost": 0.1}}, '{"cost": 0.1}'),
        ({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}, '{"prompt_tokens": 0, "completion_tokens": 0}'),
        ({"usage": "12 tokens"}, '"12 tokens"'),
        ("nothing", ""),
    ],
)
def test_what_is_no_count_is_kept_as_text(answer: Any, said: str) -> None:
    assert usage_of(answer, PRICES) == Usage(requests=1)
    assert unused_cost(answer, PRICES) == Usage()
    assert unread(answer) == said


LONG = ChatRequest(({"role": "user", "content": "four" * 24},))  # 24 tokens and the frame of a message
PICTURE = ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:" + "A" * 10**6}}]},)


@pytest.mark.parametrize(
    ("counted", "request_", "reply", "expected"),
    [
        ((10, 5), LONG, ChatReply("text"), (10, 5, 0)),
        ((0, 0), LONG, ChatReply("text"), (28, 1, 1)),
        ((0, 5), LONG, ChatReply("text"), (28, 5, 1)),  # a prompt that is wholly in Ollama's cache
        ((10, 0), LONG, ChatReply("text" * 7), (10, 7, 1)),
        ((10, 0), LONG, ChatReply(""), (10, 0, 0)),  # an empty reply has none
        ((10, 0), LONG, ChatReply("", (ToolCall("find", "four"),)), (10, 2, 1)),
        ((10, 0), LONG, ChatReply("", reasoning="text" * 9), (10, 9, 1)),
        ((0, 0), ChatRequest(PICTURE), ChatReply("text"), (1004, 1, 1)),
        ((0, 0), ChatRequest((), ({"type": "function"},)), ChatReply("text"), (10, 1, 1)),
    ],
)
def test_what_an_endpoint_does_not_count_is_estimated(
    counted: tuple[int, int], request_: ChatRequest, reply: ChatReply, expected: tuple[int, int, int]
) -> None:
    found = completed(Usage(1, *counted), request_, reply, PRICES)
    assert (found.prompt_tokens, found.completion_tokens, found.estimated_requests) == expected
    if expected[2]:
        assert found.usd == pytest.approx((found.prompt_tokens + 10 * found.completion_tokens) / 1e6)


NAMES = (
    *("prompt_tokens", "inputTokens", "completion_tokens", "eval_count", "total_tokens", "cache_read_input_tokens"),
    *("prompt_tokens_details", "completion_tokens_details", "cached_tokens", "reasoning_tokens", "usage", "tokens"),
)
FIELDS = st.dictionaries(
    st.sampled_from(NAMES),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.integers().map(str),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["cached_tokens"]), inner),
        max_leaves=4,
    ),
)


@given(FIELDS)
def test_any_usage_gives_counts_that_fit_together(fields: dict[str, Any]) -> None:
    found = usage_of({"usage": fields}, PRICES)
    assert 0 <= found.cached_tokens + found.cache_write_tokens <= found.prompt_tokens
    assert 0 <= found.reasoning_tokens <= found.completion_tokens
    assert found.usd >= 0


USED = {"prompt_tokens": 10, "completion_tokens": 5}
USELESS = {**completion(), "choices": [], "usage": USED}
REPORTED: Mapping[str, Any] = {"error": {"code": 502, "message": "no"}, "usage": USED}


def ask(server: FaultServer) -> Usage:
    async def asked() -> Usage:
        spec = ModelSpec("m", "openai", "m", "url", url=server.url, prices=PRICES)
        model = OpenAIModel(spec, policy=RetryPolicy(scale=0.0))
        try:
            return (await model.complete(ChatRequest(messages=({"role": "user", "content": "?"},)))).usage
        finally:
            await model.close()

    return asyncio.run(asked())


def test_attempts_that_were_paid_for_count() -> None:
    with FaultServer([data(USELESS), status(500), data(REPORTED), answer("at last")]) as server:
        assert ask(server) == Usage(3, 30, 15, pytest.approx(180e-6))


def test_a_request_that_fails_says_what_it_cost() -> None:
    with FaultServer([data(USELESS)]) as server, pytest.raises(ModelFault) as raised:
        ask(server)
    assert raised.value.usage == Usage(3, 30, 15, pytest.approx(180e-6))  # the same cause three times is final
