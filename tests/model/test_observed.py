"""What answers show of their endpoints: other models, tools that did not arrive, counts that are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentgauge.core.chat import ChatRequest
from agentgauge.core.reply_ends import add_observed, count_observed
from agentgauge.core.types import Event
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
