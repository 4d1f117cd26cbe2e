"""The ReAct dialect. Its exact behaviour is pinned by tests/parity/test_gta_atomic.py; here is what holds beyond
that."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.agent.dialect import Call, CallError, Finish, PastCall, PastResult, PastText
from agentgauge.agent.dialects.format import RenderedRequest
from agentgauge.agent.react import FINISH_ACTION, React, describe, parse, read_step
from agentgauge.core.chat import ChatReply, ToolCall
from agentgauge.core.tools import Parameter, Tool
from tests.costly import COSTLY

REACT = React(
    "{tool_description}|{action_names}|{thought}{action}{action_input}{response}{finish}",
    "as JSON",
    "no action",
    "no such tool",
)
ECHO = Tool("Echo", "Says it again.", (Parameter("text", "words"), Parameter("int", "times", optional=True, default=2)))
TOOLS = {"Echo": ECHO}
# hypothesis takes texts out of modules that are loaded, too: the words of a final answer end a reply
WORDS = st.text(max_size=40).filter(lambda words: "Final Answer:" not in words)
QUIET = settings(max_examples=200, deadline=None, derandomize=True, database=None)
MARKERS = st.sampled_from(
    [
        "Thought:",
        "Action:",
        "Action Input:",
        "Response:",
        "Final Answer:",
        "Echo",
        "\n",
        "```",
        "```json\n",
        '"',
        "{",
        "}",
    ]
)
REPLIES = st.lists(st.one_of(MARKERS, st.text(max_size=12)), max_size=14).map("".join)


def test_the_prompt_shows_tools_as_python_prints_them() -> None:
    expected = (
        "[{'name': 'Echo', 'description': 'Says it again.', 'parameters': [{'name': 'words', 'description': None,"
        " 'type': 'STRING'}, {'name': 'times', 'description': None, 'type': 'NUMBER'}], 'required': ['words'],"
        " 'parameter_description': 'as JSON'}]|['Echo']|Thought:Action:Action Input:Response:Final Answer:"
    )
    asked = {"role": "user", "content": "Hello?"}
    assert REACT.request([asked], [ECHO]) == RenderedRequest(({"role": "system", "content": expected}, asked))


@pytest.mark.parametrize(
    ("type", "shown"),
    [
        ("text", "STRING"),
        ("image", "STRING"),
        ("audio", "STRING"),
        ("file", "STRING"),
        ("int", "NUMBER"),
        ("float", "FLOAT"),
        ("bool", "BOOLEAN"),
    ],
)
def test_types_in_the_prompt(type: str, shown: str) -> None:
    tool = Tool("T", "", (Parameter(type, "x"),))  # type: ignore[arg-type]
    assert describe(tool, "")["parameters"][0]["type"] == shown


@COSTLY
@given(REPLIES)
def test_any_text_can_be_read(reply: str) -> None:
    reading = REACT.read(ChatReply(text=reply), TOOLS, 0)
    assert len(reading.actions) == 1
    assert ("Final Answer:" in reply) == (parse(reply).action == FINISH_ACTION) or "Action: FinishAction" in reply


@QUIET
@given(WORDS, st.integers(-9, 9))
def test_what_is_written_as_asked_is_read_back(words: str, times: int) -> None:
    """Round trip, but for arguments that hold the words of the final answer."""
    arguments = {"words": words, "times": times}
    reply = f"Thought: t\nAction: Echo\nAction Input: {json.dumps(arguments)}"
    assert REACT.read(ChatReply(text=reply), TOOLS, 0).actions == (Call("Echo", arguments, arguments),)


@QUIET
@given(WORDS, st.integers(-9, 9))
def test_the_history_is_read_back_too(words: str, times: int) -> None:
    (message,) = REACT.history([PastCall("Echo", {"words": words, "times": times})])
    action = REACT.read(ChatReply(text=message["content"]), TOOLS, 0).actions[0]
    assert isinstance(action, Call) and action.arguments == {"words": words, "times": times}


def test_history_has_no_response_marker_and_escapes_non_ascii() -> None:
    assert REACT.history([PastText("user", "é"), PastCall("Echo", {"words": "é"}), PastResult("é")]) == [
        {"role": "user", "content": "é"},
        {"role": "assistant", "content": 'Action:Echo\nAction Input:{"words": "\\u00e9"}'},
        {"role": "system", "content": "é"},
    ]


def test_the_reply_is_trimmed_before_it_is_read() -> None:
    assert REACT.read(ChatReply(text="  Final Answer: 4 \n"), TOOLS, 0).actions == (Finish(" 4"),)


def test_the_words_of_a_content_filter_are_no_reply_of_the_model() -> None:
    empty = CallError("NoAction", {"text": ""}, "API_ERROR", "no action")
    filtered = ChatReply(refusal="Final Answer: blocked", finish_reason="content_filter")
    assert REACT.read(filtered, TOOLS, 0).actions == (empty,)
    assert REACT.read(replace(filtered, finish_reason="stop"), TOOLS, 0).actions == (Finish(" blocked"),)


def test_native_calls_mean_nothing_in_this_dialect() -> None:
    reply = ChatReply(tool_calls=(ToolCall("Echo", '{"words": "a"}'),))
    assert REACT.read(reply, TOOLS, 0).actions == (CallError("NoAction", {"text": ""}, "API_ERROR", "no action"),)


def test_json_that_is_nested_without_end_is_an_argument_error() -> None:
    reply = "Action: Echo\nAction Input: " + "[" * 100_000
    action = REACT.read(ChatReply(text=reply), TOOLS, 0).actions[0]
    assert isinstance(action, CallError) and action.type == "ARGS_ERROR"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('<think>Final Answer: 5?</think>Action: Echo\nAction Input: {"words": "a"}', {"words": "a"}),
        ('<think>\nAction: Echo\nAction Input: {"words": "b"}\n</think>\nFinal Answer: 6 ', "6"),
        ('Action: Echo\nAction Input: {"words": "Final Answer: 5"}', {"words": "Final Answer: 5"}),
        (
            'Action: Echo\nAction Input: {"words": "a\nb",}\nResponse: x\nAction: Echo\nAction Input: {}',
            {"words": "a\nb"},
        ),
        ("Action: Echo.run\nAction Input: ```json\n{'words': 'a'}\n```\nas you see", {"words": "a"}),
        ("Action: Still\nAction Input: null", {}),
        ("Thought: I wait.\nAction: Still", {}),
        ("Thought: done.\nFinal Answer: 3", "3"),
    ],
)
def test_the_reader_of_strict_scoring(text: str, action: str | dict[str, str]) -> None:
    tools = {**TOOLS, "Still": Tool("Still", "Waits.", ())}
    (found,) = replace(REACT, reader=read_step).read(ChatReply(text), tools, 0).actions
    assert (found.text if isinstance(found, Finish) else found.arguments) == action
