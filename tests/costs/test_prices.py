"""Prices in a model's table and of a plugin, and of tokens from a provider's cache."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.chat import ChatRequest
from agentgauge.core.config import Config, ModelTable, Prices
from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Usage
from agentgauge.model.presets import resolve
from agentgauge.model.prompt_cache import MARK
from agentgauge.model.wire import request_body
from tests.made_up import install

ENVIRON = {"OPENAI_API_KEY": "k"}

MILLION = Usage(1, 1_000_000, 100_000, 0.0, 400_000, 0, 50_000)
"""Prompt, completion, cached and reasoning tokens."""


def test_prices_that_nobody_knows_are_known_as_such() -> None:
    prices = resolve("vllm/mine").prices
    assert (prices.known, prices.free, prices.dollars(MILLION), prices.batch()) == (False, False, 0.0, prices)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    """A package that knows prices."""
    body = f"def pytest_agentgauge_prices():\n    return [{request.param}]\n"
    module = f"from agentgauge.core.config import Prices\n\n{body}"
    monkeypatch.syspath_prepend(install(tmp_path, {"odd_prices": module}, "odd_prices"))
    yield
    sys.modules.pop("odd_prices", None)


@pytest.mark.parametrize("plugin", ["lambda url, model: Prices(3.0) if 'acme' in url else None"], indirect=True)
def test_a_plugin_knows_the_prices_of_its_models(plugin: None) -> None:
    assert resolve("m", url="https://acme.example/v1").prices == Prices(3.0)
    assert not resolve("m", url="https://other.example/v1").prices.known


@pytest.mark.parametrize("plugin", ["'cheap'"], indirect=True)
def test_what_knows_no_prices_is_told(plugin: None) -> None:
    why = r"odd_prices = odd_prices names 'cheap'; accepted is a function \(url, model\)"
    with pytest.raises(UsageProblem, match=f"pytest_agentgauge_prices of the plugin {why}"):
        resolve("m", url="https://other.example/v1")


@pytest.mark.parametrize("model", ["oracle", "baseline"])
def test_built_in_models_are_free(model: str) -> None:
    prices = resolve(model).prices
    assert (prices.known, prices.free, prices.dollars(MILLION)) == (True, True, 0.0)


def test_a_table_overrides_what_plugins_know() -> None:
    table = ModelTable(provider="openai", model="gpt-4o", prices=Prices(1.0, 2.0, cached=0.5, cache_write=3.0))
    spec = resolve("mine", config=Config(models={"mine": table}), environ=ENVIRON)
    assert spec.prices.dollars(Usage(1, 1_000_000, 1_000_000, 0.0, 400_000, 100_000)) == pytest.approx(3.0)
    assert spec.prices.dollars(Usage(1, 1_000_000)) == pytest.approx(1.0)
    plain = resolve("gpt-4o", environ=ENVIRON)
    assert spec.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("prices", "share"),
    [
        (Prices(2.0, 4.0), 0.5),
        (Prices(2.0, 4.0, 1.0, 3.0, batch_discount=0.25), 0.75),
    ],
)
def test_a_batch_costs_a_share(prices: Prices, share: float) -> None:
    usage = Usage(1, 1000, 100, 0.0, 300, 100)
    assert prices.batch().dollars(usage) == pytest.approx(share * prices.dollars(usage))


# -- the cache of prompts

KEYS = {"OPENROUTER_API_KEY": "k"}
SYSTEM, USER = {"role": "system", "content": "Help."}, {"role": "user", "content": "Hello"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}


def text(content: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content, **MARK}]


@pytest.mark.parametrize(
    ("messages", "marked"),
    [
        ([SYSTEM, USER], [{**SYSTEM, "content": text("Help.")}, {**USER, "content": text("Hello")}]),
        ([USER], [{**USER, "content": text("Hello")}]),
        ([SYSTEM, SYSTEM, USER, CALL], [SYSTEM, {**SYSTEM, "content": text("Help.")}, USER, CALL]),
        (
            [USER, CALL, {"role": "tool", "tool_call_id": "1", "content": "3"}],
            [USER, CALL, {"role": "tool", "tool_call_id": "1", "content": text("3")}],
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "See"}, PICTURE]}],
            [{"role": "user", "content": [{"type": "text", "text": "See"}, {**PICTURE, **MARK}]}],
        ),
        ([{"role": "user", "content": ""}], [{"role": "user", "content": ""}]),
    ],
)
def test_marks_are_at_the_ends_of_the_system_prompt_and_of_all(messages: Any, marked: Any) -> None:
    table = ModelTable(provider="openrouter", model="anthropic/claude-sonnet-4", cache_control=True)
    spec = resolve("mine", config=Config(models={"mine": table}), environ=KEYS)
    plain = resolve("openrouter/anthropic/claude-sonnet-4", environ=KEYS)
    request = ChatRequest(messages=tuple(messages))
    assert request_body(spec, request)["messages"] == marked
    assert request_body(plain, request)["messages"] == messages
    assert spec.fingerprint == plain.fingerprint
