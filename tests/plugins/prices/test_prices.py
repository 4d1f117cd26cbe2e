"""Prices that genai-prices knows."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from genai_prices import calc_price
from genai_prices.types import Usage as Counts

from agentgauge.core.types import Usage
from agentgauge.model.presets import resolve
from agentgauge.plugins.prices.listed import ListedPrices

ENVIRON = {f"{name}_API_KEY": "k" for name in ("OPENAI", "ANTHROPIC", "GEMINI", "DEEPSEEK", "MISTRAL", "GROQ", "XAI")}
ENVIRON |= {f"{name}_API_KEY": "k" for name in ("OPENROUTER", "MOONSHOT", "AZURE_OPENAI", "DASHSCOPE", "TOGETHER")}
ENVIRON["AZURE_OPENAI_ENDPOINT"] = "https://at-work.openai.azure.com"

MILLION = Usage(1, 1_000_000, 100_000, 0.0, 400_000, 0, 50_000)
"""Prompt, completion, cached and reasoning tokens."""

KNOWN = {
    "gpt-4o": ("openai", "gpt-4o"),
    "gpt-4o-mini": ("openai", "gpt-4o-mini"),
    "o3": ("openai", "o3"),
    "azure/gpt-4o": ("azure", "gpt-4o"),
    "anthropic/claude-sonnet-4-5": ("anthropic", "claude-sonnet-4-5"),
    "gemini/gemini-2.5-pro": ("google", "gemini-2.5-pro"),
    "mistral/mistral-large-latest": ("mistral", "mistral-large-latest"),
    "groq/llama-3.3-70b-versatile": ("groq", "llama-3.3-70b-versatile"),
    "xai/grok-4": ("x-ai", "grok-4"),
    "moonshot/kimi-k2-0905-preview": ("moonshotai", "kimi-k2-0905-preview"),
    "openrouter/anthropic/claude-sonnet-4": ("openrouter", "anthropic/claude-sonnet-4"),
}
"""As we name the model; as genai-prices names provider and model."""


def dollars(model: str, usage: Usage) -> float:
    return resolve(model, environ=ENVIRON).prices.dollars(usage)


@pytest.mark.parametrize("model", KNOWN)
def test_a_known_model_costs_what_the_library_computes(model: str) -> None:
    provider, name = KNOWN[model]
    counts = Counts(
        input_tokens=1_000_000, cache_read_tokens=400_000, output_tokens=100_000, output_reasoning_tokens=50_000
    )
    theirs = float(calc_price(counts, name, provider_id=provider).total_price)
    assert math.isclose(dollars(model, MILLION), theirs)
    assert theirs > 0


@pytest.mark.parametrize(
    ("model", "usage", "usd"),
    [
        ("gpt-4o", Usage(1, 1000, 100), 0.0035),
        ("gpt-4o", Usage(1, 1000, 100, 0.0, 800), 0.0025),
        ("gpt-4o-mini", Usage(1, 1_000_000, 1_000_000), 0.75),
        ("anthropic/claude-sonnet-4-5", Usage(1, 10_000, 1000, 0.0, 4000, 5000), 0.03795),  # 5 minutes' cache writes
        ("anthropic/claude-sonnet-4-5", Usage(1, 300_000, 0), 1.8),  # dearer above 200,000 tokens
    ],
)
def test_literal_prices(model: str, usage: Usage, usd: float) -> None:
    assert dollars(model, usage) == pytest.approx(usd)


@pytest.mark.parametrize("model", ["dashscope/qwen-max", "vllm/gpt-4o", "together/no/such-model"])
def test_unknown_prices_are_known_as_such(model: str) -> None:
    prices = resolve(model, environ=ENVIRON).prices
    assert (prices.known, prices.free, prices.dollars(MILLION)) == (False, False, 0.0)


@pytest.mark.parametrize(
    ("prices", "share"),
    [
        (ListedPrices("https://api.mistral.ai/v1", "mistral-large-latest"), 0.5),
        (ListedPrices("https://api.anthropic.com/v1", "claude-sonnet-4-5"), 0.5),
        (ListedPrices("https://at-work.openai.azure.com", "gpt-4o"), 0.5),  # the library has no batches of Azure
        (ListedPrices("https://api.deepseek.com/v1", "deepseek-chat"), 0.5),
    ],
)
def test_a_batch_costs_a_share(prices: ListedPrices, share: float) -> None:
    usage = Usage(1, 1000, 100, 0.0, 300, 100)
    assert prices.batch().dollars(usage) == pytest.approx(share * prices.dollars(usage))


def test_the_library_has_prices_of_batches() -> None:
    prices = ListedPrices("https://api.openai.com/v1", "gpt-4o").batch()
    assert prices.dollars(Usage(1, 1000, 100)) == pytest.approx(0.00175)
    assert prices.dollars(Usage(1, 1000, 100, 0.0, 800)) == pytest.approx(0.00175)  # no further discount


def test_looking_a_price_up_starts_no_thread_and_no_connection() -> None:
    code = """
import socket, sys, threading
def no(*args): raise AssertionError("a connection")
socket.socket.connect = no
from agentgauge.model.presets import resolve
spec = resolve("gpt-4o", environ={"OPENAI_API_KEY": "k"})
assert "genai_prices" not in sys.modules  # until a price is needed
assert spec.prices.known and threading.active_count() == 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
