"""Native function calling: what is offered, what is read, and how the conversation goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentgauge.agent.dialect import Action, ActionResult, Call, CallError, Finish, PastCall, PastResult, PastText
from agentgauge.agent.native import Native, function_schema
from agentgauge.core.chat import ChatReply, ToolCall
from agentgauge.core.tools import Parameter, Tool

NATIVE = Native("say something", "no such tool")
DRAW = Tool(
    "Draw",
    "Draws a frame.",
    (
        Parameter("image", "image"),
        Parameter("text", "box", "x1, y1, x2, y2"),
        Parameter("file", "font", "a typeface", optional=True),
        Parameter("int", "width", optional=True, default=3),
        Parameter("bool", "fill", optional=True),
        Parameter("float", "alpha", optional=True),
    ),
)
ECHO = Tool("Echo", "", (Parameter("text", "words"),))
NOW = Tool("Now", "The time.")
TOOLS = {tool.name: tool for tool in (ECHO, NOW)}


def test_a_tool_as_a_function() -> None:
    assert function_schema(DRAW) == {
        "type": "function",
        "function": {
            "name": "Draw",
            "description": "Draws a frame.",
            "parameters": {
                "type": "object",
                "properties": {
                    "image": {"type": "string", "description": "path of an image file"},
                    "box": {"type": "string", "description": "x1, y1, x2, y2"},
                    "font": {"type": "string", "description": "a typeface (path of a file)"},
                    "width": {"type": "integer", "default": 3},
                    "fill": {"type": "boolean"},
                    "alpha": {"type": "number"},
                },
                "required": ["image", "box"],
            },
        },
    }


def call(name: str, arguments: str, id: str = "c1") -> ChatReply:
    return ChatReply(tool_calls=(ToolCall(name, arguments, id),))


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (call("Echo", '{"words": "a"}'), Call("Echo", {"words": "a"}, {"words": "a"}, "c1")),
        (call("Echo", '{"words": 1}'), Call("Echo", {"words": 1}, {"words": "1"}, "c1")),
        (call("Now", ""), Call("Now", {}, {}, "c1")),
        (call("Now", " null\n"), Call("Now", {}, {}, "c1")),
        (
            call("Echo", '{"words": "a'),
            CallError("Echo", '{"words": "a', "ARGS_ERROR", 'invalid json format: {"words": "a', "c1"),
        ),
        (call("Echo", "[]"), CallError("Echo", "[]", "ARGS_ERROR", "invalid json format: []", "c1")),
        (call("Echo", "{}"), CallError("Echo", "{}", "ARGS_ERROR", "missing required arguments: {'words'}", "c1")),
        (
            call("Echo", '{"b": 1, "a": 2}'),
            CallError("Echo", '{"b": 1, "a": 2}', "ARGS_ERROR", "unknown arguments: {'a', 'b'}", "c1"),
        ),
        (call("Plot", "{}"), CallError("InvalidAction", {"text": "{}"}, "API_ERROR", "no such tool", "c1")),
        (ChatReply(text=" 42"), Finish(" 42")),
        (ChatReply(refusal="I would rather not."), Finish("I would rather not.")),
        (ChatReply(refusal="Blocked by the filter.", finish_reason="content_filter"), Finish("")),
        (ChatReply(), CallError("NoAction", {"text": ""}, "API_ERROR", "say something")),
        (ChatReply(text=" \n"), CallError("NoAction", {"text": ""}, "API_ERROR", "say something")),
    ],
)
def test_reading(reply: ChatReply, action: Action) -> None:
    assert NATIVE.read(reply, TOOLS, 0).actions == (action,)


def test_parallel_calls_are_read_in_order_and_named_where_they_have_no_id() -> None:
    reply = ChatReply(text="both", tool_calls=(ToolCall("Now", "{}"), ToolCall("Echo", '{"words": "a"}')))
    reading = NATIVE.read(reply, TOOLS, 3)
    assert reading.thought == "both"
    assert [(action.name, action.id) for action in reading.actions if not isinstance(action, Finish)] == [
        ("Now", "call_3_0"),
        ("Echo", "call_3_1"),
    ]


def test_broken_arguments_do_not_go_back_to_the_endpoint() -> None:
    """Servers that read the history's arguments would answer with an error of their own."""
    reply = call("Echo", '{"words": "a')
    (message,) = NATIVE.reply_messages(reply, NATIVE.read(reply, TOOLS, 0))
    assert message["tool_calls"][0] == {"id": "c1", "type": "function", "function": {"name": "Echo", "arguments": "{}"}}


@pytest.mark.parametrize("content", ["", None, "words"])
def test_the_content_of_a_message_with_calls_goes_back_as_it_came(content: str | None) -> None:
    reply = replace(call("Echo", "{}"), text=content or "", received={"content": content})
    (message,) = NATIVE.reply_messages(reply, NATIVE.read(reply, TOOLS, 0))
    assert message["content"] == content


@pytest.mark.parametrize(("text", "said"), [("", []), ("words", [{"role": "assistant", "content": "words"}])])
def test_an_empty_reply_is_not_repeated(text: str, said: list[Any]) -> None:
    reply = ChatReply(text=text)
    assert NATIVE.reply_messages(reply, NATIVE.read(reply, TOOLS, 0)) == said


def test_results_answer_their_call_and_remarks_are_the_users() -> None:
    nothing = CallError("NoAction", {"text": ""}, "API_ERROR", "say something")
    assert NATIVE.result_messages(
        [ActionResult(Call("Now", {}, {}, "c1"), "noon"), ActionResult(nothing, "say something")]
    ) == [
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
        {"role": "user", "content": "say something"},
    ]


def test_every_call_of_a_history_has_exactly_one_result() -> None:
    turns = [
        PastText("user", "q"),
        PastCall("Now", {}),
        PastText("user", "quick"),
        PastResult("stray"),
        PastCall("Echo", {"words": "é"}),
    ]
    messages = NATIVE.history(turns)
    assert [(message["role"], message.get("tool_call_id") or message["content"]) for message in messages] == [
        ("user", "q"),
        ("assistant", None),
        ("tool", "call_1"),
        ("user", "quick"),
        ("user", "stray"),
        ("assistant", None),
        ("tool", "call_4"),
    ]
    assert messages[5]["tool_calls"][0]["function"]["arguments"] == '{"words": "é"}'


@pytest.mark.parametrize(
    "extra",
    [
        {"reasoning_content": "hm"},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
        {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "words"}]},
    ],
)
def test_what_came_with_a_reply_goes_back_with_it(extra: dict[str, Any]) -> None:
    asked = ChatReply(text="words", tool_calls=(ToolCall("Now", "{}", "c1"),), extra=extra)
    (message,) = NATIVE.reply_messages(asked, NATIVE.read(asked, TOOLS, 0))
    wire = {"id": "c1", "type": "function", "function": {"name": "Now", "arguments": "{}"}}
    assert message == {"role": "assistant", "content": "words", **extra, "tool_calls": [wire]}
    said = ChatReply(text="words", extra=extra)
    assert NATIVE.reply_messages(said, NATIVE.read(said, TOOLS, 0)) == [
        {"role": "assistant", "content": "words", **extra}
    ]
