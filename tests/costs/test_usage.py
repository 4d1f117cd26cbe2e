"""Tokens that endpoints report, and attempts that were paid for and failed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from agentgauge.core.chat import ChatRequest
from agentgauge.core.config import Prices
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Usage
from agentgauge.model.client import OpenAIModel
from agentgauge.model.responses import COUNTS as INPUT_OUTPUT
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import COUNTS, read_usage
from tests.model.fault_server import FaultServer, answer, completion, data, status

PRICES = Prices(1.0, 10.0, cached=0.1, cache_write=2.0)


@pytest.mark.parametrize(
    ("said", "keys", "counted"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5}, COUNTS, (10, 5, 0, 0, 0)),
        # OpenAI, and what follows it
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 20},
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            COUNTS,
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
            INPUT_OUTPUT,
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
            COUNTS,
            (100, 5, 60, 30, 0),
        ),
        # Anthropic's own: the prompt does not include it
        (
            {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 60},
            INPUT_OUTPUT,
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
            COUNTS,
            (100, 5, 64, 0, 0),
        ),
        ({"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 64}, COUNTS, (100, 5, 64, 0, 0)),  # Moonshot
        # xAI: the reply's tokens do not include those of the reasoning, the total does
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "total_tokens": 145,
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            COUNTS,
            (100, 45, 0, 0, 40),
        ),
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, COUNTS, (20, 603, 0, 0, 405)),  # Gemini
        # nonsense: no part is larger than the whole
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 99, "cache_write_tokens": 99},
                "completion_tokens_details": {"reasoning_tokens": 99},
            },
            COUNTS,
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
            COUNTS,
            (0, 0, 0, 0, 0),
        ),
        ("free", COUNTS, (0, 0, 0, 0, 0)),
    ],
)
def test_tokens(said: Any, keys: tuple[str, str], counted: tuple[int, ...]) -> None:
    prompt, completion_, cached, written, reasoning = counted
    usd = ((prompt - cached - written) * 1.0 + cached * 0.1 + written * 2.0 + completion_ * 10.0) / 1e6
    assert read_usage(said, PRICES, keys) == Usage(
        1, prompt, completion_, pytest.approx(usd), cached, written, reasoning
    )


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
