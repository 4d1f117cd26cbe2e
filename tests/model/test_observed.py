"""What answers show of the endpoint: another model, dropped tools, a usage that is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentgauge.core.chat import ChatRequest
from agentgauge.core.reply_ends import add_observed, count_observed
from agentgauge.core.types import Event
from agentgauge.model.names import denies
from tests.model.fault_server import FaultServer, completion, data
from tests.model.talking import HELLO, spec_at, talk_to


def tools(words: int) -> tuple[dict[str, Any], ...]:
    """Three tools whose descriptions have so many words each."""
    parameters = {"type": "object", "properties": {"place": {"type": "string", "description": "where"}}}
    return tuple(
        {
            "type": "function",
            "function": {"name": f"tool_{number}", "description": "word " * words, "parameters": parameters},
        }
        for number in range(3)
    )


def seen(counted: int, request: ChatRequest, **usage: Any) -> bool | None:
    answer = {**completion(), "usage": {"prompt_tokens": counted, "completion_tokens": 5, **usage}}
    with FaultServer([data(answer)]) as server:
        reply = talk_to(spec_at(server.url), lambda model: model.complete(request))
    found = reply.observed.get("tools", {})
    return found.get("seen")


WITH_TOOLS = replace(HELLO, tools=tools(100))  # 1,500 characters of words
LONG = ({"role": "user", "content": "a word more " * 2000},)
PICTURE = ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},)


@pytest.mark.parametrize(
    ("counted", "request_", "expected"),
    [
        (12, WITH_TOOLS, False),
        (52, WITH_TOOLS, False),
        (380, WITH_TOOLS, True),
        (260, WITH_TOOLS, True),
        (12, HELLO, None),  # without tools
        (12, replace(HELLO, tools=tools(5)), None),  # too few to tell
        (12, replace(WITH_TOOLS, messages=PICTURE), None),
        (6000, replace(WITH_TOOLS, messages=LONG), None),  # the messages alone may take as many
        (0, WITH_TOOLS, None),  # no count
    ],
)
def test_whether_a_count_holds_the_tools(counted: int, request_: ChatRequest, expected: bool | None) -> None:
    assert seen(counted, request_) is expected


@pytest.mark.parametrize(
    ("cache", "expected"),
    [
        ({"cache_read_input_tokens": 400}, True),
        ({"prompt_tokens_details": {"cached_tokens": 400}}, None),  # more than the prompt has
        ({"prompt_tokens_details": {"cached_tokens": 11}}, False),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, False),
    ],
)
def test_tokens_of_a_cache_may_hold_the_tools(cache: dict[str, Any], expected: bool | None) -> None:
    assert seen(12, WITH_TOOLS, **cache) is expected


@pytest.mark.parametrize(
    ("asked", "reported", "observed"),
    [
        ("Qwen3-8B", "gemma3-270m", {"reported": "gemma3-270m", "denied": True}),
        ("Qwen3-8B", "/models/qwen3-8b.gguf", {"reported": "/models/qwen3-8b.gguf"}),
        ("Qwen3-8B", "Qwen3-8B", {}),
        ("Qwen3-8B", "", {}),
        ("Qwen3-8B", "  ", {}),
        ("Qwen3-8B", None, {}),
        ("Qwen3-8B", 123, {}),
        # terminals and reports show the name
        ("Qwen3-8B", "gemma3\x1b[31m\n| x\u202e", {"reported": "gemma3 [31m | x", "denied": True}),
        ("Qwen3-8B", "gemma3 " + "x" * 999, {"reported": "gemma3 " + "x" * 193 + "...", "denied": True}),
    ],
)
def test_the_reported_name(asked: str, reported: object, observed: dict[str, Any]) -> None:
    with FaultServer([data({**completion(), "model": reported})]) as server:
        assert talk_to(spec_at(server.url, model=asked)).observed == observed


def test_a_deployment_has_any_name() -> None:
    with FaultServer([data({**completion(), "model": "gpt-4o-2024-08-06"})]) as server:
        reply = talk_to(spec_at(server.url, model="gpt-4", provider="azure"))
    assert reply.observed == {"reported": "gpt-4o-2024-08-06"}


@pytest.mark.parametrize(("usage", "said"), [(None, ""), ({"tokens_used": 7}, '{"tokens_used": 7}')])
def test_a_usage_that_is_none(usage: Any, said: str) -> None:
    with FaultServer([data({**completion("four"), "usage": usage})]) as server:
        reply = talk_to(spec_at(server.url, model="test"))
    assert reply.observed == {"estimated": said}
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.estimated_requests) == (6, 1, 1)


def test_counts_add_up_by_role() -> None:
    def event(role: str = "", **observed: Any) -> Event:
        return Event("model", "m", 0.0, 0.0, {"observed": observed, **({"role": role} if role else {})})

    unseen = {"seen": False, "counted": 52, "bytes": 2400}
    first = count_observed(
        [event(reported="a", denied=True), event("--judge-model", estimated=""), event(tools=unseen)]
    )
    second = count_observed([event(reported="a", denied=True), event("--judge-model", estimated="x", reported="b")])
    third = count_observed(
        [event(tools={"seen": True, "counted": 800, "bytes": 2400}), Event("tool", "t", 0.0, 0.0, {})]
    )
    assert add_observed([first, second, third]) == {
        "--model": {
            "reported": {"a": 2},
            "denied": {"a": 2},
            "tools": {"seen": 1, "unseen": 1, "counted": 52, "bytes": 2400},
        },
        "--judge-model": {"estimated": 2, "instead": "x", "reported": {"b": 1}},
    }


# -- names

SAME = """
gpt-4o-2024-08-06 | gpt-4o
gpt-4o | openai/gpt-4o
gpt4o | gpt-4o
chatgpt-4o-latest | gpt-4o
gpt-4-0613 | gpt-4
gpt-4-0125-preview | gpt-4-turbo-preview
gpt-4-32k-0613 | gpt-4-32k
gpt-3.5-turbo-0125 | gpt-3.5-turbo
gpt-35-turbo | gpt-3.5-turbo
gpt-4.1-2025-04-14 | gpt-4.1
gpt-5-2025-08-07 | gpt-5
o3-mini-2025-01-31 | o3-mini
o4-mini-2025-04-16 | openai/o4-mini
o1-preview-2024-09-12 | o1-preview
gpt-oss:20b | openai/gpt-oss-20b
ft:gpt-4o-mini-2024-07-18:acme::abc | ft:gpt-4o-mini-2024-07-18:acme::abc
claude-sonnet-4-5-20250929 | claude-sonnet-4-5
claude-3-5-sonnet-20241022 | claude-3-5-sonnet-latest
claude-3-5-sonnet-20241022 | anthropic/claude-3.5-sonnet
claude-opus-4-20250514 | claude-opus-4-0
us.anthropic.claude-3-5-sonnet-20241022-v2:0 | claude-3.5-sonnet
anthropic.claude-sonnet-4-5-20250929-v1:0 | claude-sonnet-4-5
models/gemini-2.5-flash | gemini-2.5-flash
gemini-1.5-pro-002 | gemini-1.5-pro
gemini-2.5-flash-preview-05-20 | gemini-2.5-flash
gemini-2.5-flash-preview-09-2025 | gemini-flash-latest
gemini-2.0-flash-001 | google/gemini-2.0-flash
grok-4-0709 | grok-4
grok-4-fast-reasoning | grok-4-fast
mistral-large-2411 | mistral-large-latest
mistral.mistral-large-2402-v1:0 | mistral-large
codestral-2508 | codestral-latest
mistral-nemo | open-mistral-nemo
Mixtral-8x7B-Instruct-v0.1 | mixtral-8x7b-instruct
command-r-plus-08-2024 | command-r-plus
amazon.nova-pro-v1:0 | nova-pro
kimi-k2-0905-preview | kimi-k2
moonshotai/Kimi-K2-Instruct | kimi-k2-instruct
deepseek/deepseek-r1:free | deepseek/deepseek-r1
deepseek-v3.2 | deepseek-chat
deepseek-r1-0528 | deepseek-reasoner
deepseek-ai/DeepSeek-R1-Distill-Qwen-7B | deepseek-r1:7b
glm-4-0520 | glm-4
GLM-4.5-Air-FP8 | glm-4p5-air
MiniMax-M2 | minimax/minimax-m2:free
qwen-plus-2025-07-28 | qwen-plus
QWEN3-8B | qwen3-8b
qwen3_8b | Qwen3.0-8B
qwen3:latest | qwen3
qwen3-8b-q4_k_m.gguf | Qwen3-8B
/models/qwen3-8b-q4.gguf | Qwen3-8B
/home/llama/models/qwen3-8b.gguf | qwen3-8b
/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/abc123 | Qwen/Qwen3-8B
Qwen3-8B-AWQ | qwen3-8b
Qwen2.5-7B-Instruct-GPTQ-Int4 | qwen2.5-7b-instruct
qwen2.5-7b-instruct-1m | qwen2.5-7b-instruct
qwen2-5-7b-instruct | Qwen2.5-7B-Instruct
qwen2p5-7b-instruct | qwen2.5-7b-instruct
qwen3-0_6b | Qwen3-0.6B
Qwen2-1.5B | qwen2-1-5b
Qwen3-30B-A3B-Instruct-2507 | qwen3:30b
qwen3-8b:adapter-7 | Qwen3-8B
accounts/fireworks/models/llama-v3p1-8b-instruct | llama-3.1-8b-instruct
llama-3-1-8b | Llama-3.1-8B
meta.llama3-1-8b-instruct-v1:0 | llama-3.1-8b
@cf/meta/llama-3.1-8b-instruct | llama-3.1-8b-instruct
llama3.1:8b-instruct-q4_K_M | llama3.1:8b
meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo | meta-llama/Llama-3.1-8B-Instruct
llama-4-scout-17b-16e-instruct | llama-4-scout
hermes-3-llama-3.1-8b | llama-3.1-8b
gemma3-270m | gemma-3-270m-it
google/gemma-3n-E4B-it | gemma-3n-e4b
phi-4-mini-instruct | phi4-mini
Phi-3-mini-4k-instruct | phi3
SmolLM2-135M-Instruct | smollm2:135m
gpt-3.5-turbo | qwen3-8b
default | qwen3-8b
model | qwen3-8b
tgi | llama-3.1-8b
ggml-model-q4_0.gguf | Qwen3-8B
my-lora | Qwen3-8B
Qwen/Qwen3-8B | my-alias
test | m
"""
"""Reported and asked name of what may be one model."""

OTHER = """
gemma3-270m | Qwen3-8B
/models/gemma-3-4b-it.Q4_K_M.gguf | Qwen/Qwen3-4B
gpt-oss-20b | gpt-4o
qwen2.5-7b | gpt-4
gpt-4o | o3
Qwen3-0.6B | Qwen3-8B
Qwen3-4B | qwen3-0_6b
llama-3.1-8b | llama-3.1-70b
gpt-oss-120b | gpt-oss:20b
gemma-3-27b-it | gemma-3-4b-it
SmolLM2-135M | smollm2:360m
mistral-7b | mixtral-8x7b
bar-13b | foo-7b
qwen2.5-8b | qwen3-8b
gemma-2-9b-it | gemma-3-9b-it
meta-llama/Llama-3.2-3B | llama-3.1-3b
gpt-4o | gpt-4
gpt-4-0613 | gpt-4o
gpt-3.5-turbo | gpt-4o
gpt-5 | gpt-5.1
o1-2024-12-17 | o3
claude-3-sonnet-20240229 | claude-3-5-sonnet
claude-sonnet-4-20250514 | claude-sonnet-4-5
gemini-1.5-pro-002 | gemini-2.5-pro
grok-3 | grok-4
glm-4-plus | glm-4.5
kimi-k2 | kimi-k2.5
phi-4 | phi-3
deepseek-r1 | deepseek-v3
deepseek-v3.1 | deepseek-v3
claude-3-haiku-20240307 | claude-3-5-sonnet
claude-sonnet-4-5-20250929 | claude-opus-4-5
gemini-2.5-flash | gemini-2.5-pro
gemini-2.5-flash-lite | gemini-2.5-flash
gpt-4o-mini-2024-07-18 | gpt-4o
gpt-5-mini | gpt-5
o3-mini | o3
grok-3-mini | grok-3
mistral-small-2506 | mistral-large-latest
llama-4-maverick | llama-4-scout
qwen3-vl-8b | qwen3-coder-8b
qwen-plus | qwen-max
"""


def pairs(text: str) -> list[tuple[str, ...]]:
    return [tuple(line.split(" | ")) for line in text.strip().splitlines()]


@pytest.mark.parametrize(("reported", "asked"), [*pairs(SAME), ("", "qwen3-8b"), ("qwen3-8b", "")])
def test_no_denial(reported: str, asked: str) -> None:
    assert not denies(reported, asked)


@pytest.mark.parametrize(("reported", "asked"), pairs(OTHER))
def test_denials(reported: str, asked: str) -> None:
    assert denies(reported, asked)
    assert denies(asked, reported) or reported == "gpt-3.5-turbo"
