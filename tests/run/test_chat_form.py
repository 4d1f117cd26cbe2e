"""What an agent program may ask of the model, and in which form it is answered."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.chat import ChatReply, Sampling, ToolCall
from agentgauge.core.types import Usage
from agentgauge.run.chat_form import Refused, chunks, completion, read_body

SAY = [{"role": "user", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "add", "parameters": {}}}


def read(**body: Any):
    return read_body(json.dumps({"messages": SAY, **body}).encode(), "m1")


def test_a_request_of_an_ordinary_client() -> None:
    asked = read(
        model="m1", tools=[TOOL], temperature=0.5, max_completion_tokens=9, stop="END", stream=True, seed=3,
        tool_choice="auto", stream_options={"include_usage": True}, n=1,
    )  # fmt: skip
    assert (asked.messages, asked.tools, asked.stop) == (tuple(SAY), (TOOL,), ("END",))
    assert asked.sampling == Sampling(0.5, 9) and asked.extra == {"tool_choice": "auto"}
    assert asked.stream and asked.wants_usage


@pytest.mark.parametrize(
    ("body", "says", "status"),
    [
        ({"model": "gpt-expensive"}, "there is no model 'gpt-expensive' here; ask 'm1'", 404),
        ({"web_search_options": {}}, "'web_search_options' is not supported", 400),
        ({"extra_body": {}}, "'extra_body' is not supported", 400),
        ({"n": 5}, "n must be 1", 400),
        ({"messages": []}, "at least one message", 400),
        ({"messages": ["hello"]}, "a role of", 400),
        ({"messages": [{"role": "root", "content": "x"}]}, "a role of", 400),
        ({"messages": [{"role": "user", "content": 7}]}, "a string or a list of parts", 400),
        # our own part, which would show the model a file of this machine
        (
            {"messages": [{"role": "user", "content": [{"type": "local_file", "path": "/etc/passwd"}]}]},
            "a part of a message must be",
            400,
        ),
        ({"messages": [{"role": "assistant", "tool_calls": ["x"]}]}, "tool_calls of a message", 400),
        ({"messages": [{"role": "assistant", "tool_calls": "x"}]}, "tool_calls of a message", 400),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]},
            "a part of a message must be",
            400,
        ),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "a part of a message must be", 400),
        ({"messages": [{"role": "user", "content": [{"type": {}}]}]}, "a part of a message must be", 400),
        ({"messages": [{"role": "tool", "tool_call_id": 7}]}, "the tool_call_id of a message must be a string", 400),
        ({"tools": [{"type": "web_search"}]}, "function tools", 400),
        ({"tools": {"a": 1}}, "function tools", 400),
        ({"stop": [1]}, "stop must be", 400),
        ({"temperature": "hot"}, "temperature must be a number", 400),
        ({"max_tokens": 0.5}, "max_tokens must be an integer", 400),
        ({"max_tokens": 10**400}, "max_tokens must be a number", 400),
    ],
)
def test_what_is_refused(body: dict[str, Any], says: str, status: int) -> None:
    with pytest.raises(Refused) as refused:
        read(**body)
    assert says in str(refused.value) and refused.value.status == status


ASKED = b'{"messages": [{"role": "user", "content": "hi"}], "top_p": %s}'


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, ASKED % b"NaN"])
def test_what_is_no_request_at_all(content: bytes) -> None:
    with pytest.raises(Refused):
        read_body(content, "m1")


WORDS = (
    "messages",
    "role",
    "content",
    "type",
    "text",
    "image_url",
    "tool_calls",
    "function",
    "name",
    "tools",
    "stop",
    "n",
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*WORDS, "assistant", "user", "m1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(WORDS), VALUES), VALUES)
def test_any_body_is_understood_or_refused(body: dict[str, Any], message: Any) -> None:
    for asked in (body, {"messages": [message]}, {**body, "messages": [{"role": "user", "content": message}]}):
        with suppress(Refused):
            read_body(json.dumps(asked).encode(), "m1")


REPLY = ChatReply("sum:", (ToolCall("add", '{"a": 1}'),), usage=Usage(1, 7, 3))
CALL = {"id": "call_4_0", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


def test_a_reply_has_the_form_of_openai() -> None:
    told = completion(REPLY, "m1", 4)
    assert told["choices"][0]["message"]["tool_calls"] == [CALL]  # with an id, though the server gave none
    assert told["choices"][0]["finish_reason"] == "tool_calls"
    assert told["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def test_a_stream_says_the_same() -> None:
    first, last, usage = chunks(REPLY, "m1", 4, usage=True)
    assert first["choices"][0]["delta"]["tool_calls"] == [{"index": 0, **CALL}]
    assert first["choices"][0]["delta"]["content"] == "sum:"
    assert last["choices"][0]["finish_reason"] == "tool_calls" and usage["usage"]["total_tokens"] == 10
