"""The loop: tools run in order, what the model did wrong is told to it, faults pass through."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialect import Call, CallError, Finish
from agentgauge.agent.loop import Exchange, use_tools
from agentgauge.agent.native import Native
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from agentgauge.core.types import Sample

ECHO = Tool("Echo", "", (Parameter("text", "words"),))


class Model:
    name = "scripted"

    def __init__(self, *replies: ChatReply) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return self.replies.pop(0)

    async def close(self) -> None: ...


class Box:
    """Repeats the words; some words are trouble."""

    async def catalog(self) -> Mapping[str, Tool]:
        return {"Echo": ECHO}

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        if arguments["words"] == "refuse":
            raise ToolError("not that word")
        if arguments["words"] == "die":
            raise ToolFault("the server is gone")
        return (ToolOutput("text", arguments["words"]), ToolOutput("image", "/made.png"))

    async def close(self) -> None: ...


def calls(*words: str, text: str = "") -> ChatReply:
    return ChatReply(text, tuple(ToolCall("Echo", f'{{"words": "{word}"}}', word) for word in words))


def solve(model: Model, *, max_turns: int = 5) -> list[Exchange]:
    case = Case(Sample("0", "t", (), {}, Path("/")), 1, 0, CaseSettings(), model, Box(), Path("/"))
    memory = [{"role": "user", "content": "q"}]
    uses = asyncio.run(
        use_tools(case, Native("?", "?"), {"Echo": ECHO}, memory, max_turns=max_turns, last_turn_note="stop now")
    )
    return list(uses.exchanges)


def test_parallel_calls_run_in_order_and_each_gets_its_result() -> None:
    model = Model(calls("a", "b", text="both"), ChatReply("done"))
    exchanges = solve(model)
    assert [exchange.thought for exchange in exchanges] == ["both", "", ""]
    assert exchanges[-1] == Exchange("", Finish("done"))
    results = model.requests[1].messages[2:]
    assert [(message["tool_call_id"], message["content"]) for message in results] == [
        ("a", "a\n[image](/made.png)"),
        ("b", "b\n[image](/made.png)"),
    ]


def test_a_refusal_of_a_tool_is_told_and_the_loop_goes_on() -> None:
    model = Model(calls("refuse"), ChatReply("done"))
    first, last = solve(model)
    assert (
        first.action == CallError("Echo", {"words": "refuse"}, "API_ERROR", "not that word", "refuse")
        and first.outputs is None
    )
    assert model.requests[1].messages[-1]["content"] == "not that word"
    assert last.action == Finish("done")


@pytest.mark.parametrize(
    ("arguments", "logged", "error"),
    [
        ('{"words": "refuse"}', {"words": "refuse"}, "not that word"),
        ('{"other": 1}', {"other": 1}, "unknown arguments: {'other'}"),
        ('{"words":', {"text": '{"words":'}, 'invalid json format: {"words":'),
        ("{}", {}, "missing required arguments: {'words'}"),
    ],
)
def test_every_call_of_a_tool_that_fails_is_logged(arguments: str, logged: dict[str, str], error: str) -> None:
    model = Model(ChatReply("", (ToolCall("Echo", arguments, "1"), ToolCall("None", "{}", "2"))), ChatReply("done"))
    case = Case(Sample("0", "t", (), {}, Path("/")), 1, 0, CaseSettings(), model, Box(), Path("/"))
    asyncio.run(use_tools(case, Native("?", "?"), {"Echo": ECHO}, [{"role": "user", "content": "q"}], max_turns=5))
    (event,) = (event for event in case.events if event.kind == "tool")
    assert (event.name, event.detail, event.error) == ("Echo", {"arguments": logged}, error)
    assert model.requests[1].messages[-2]["content"] == error


def test_a_fault_ends_the_case() -> None:
    with pytest.raises(ToolFault, match="gone"):
        solve(Model(calls("die")))


def test_the_last_turn_carries_the_note_and_is_the_last() -> None:
    model = Model(calls("a"), calls("b"))
    exchanges = solve(model, max_turns=2)
    assert [isinstance(exchange.action, Call) for exchange in exchanges] == [True, True]
    assert model.requests[0].messages[-1]["content"] == "q"
    assert model.requests[1].messages[-1] == {"role": "user", "content": "stop now"}
