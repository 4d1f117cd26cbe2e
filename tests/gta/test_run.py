"""Both modes in the native dialect, and the oracle in both dialects with tools that return other files than the
gold's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialects.registry import format_of
from agentgauge.agent.native import render_reply
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import ToolFault
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.task import Task
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Sample
from bench_gta.atomic import data
from bench_gta.atomic.fixes import PARITY
from bench_gta.atomic.oracle import answer_e2e, right_answer
from bench_gta.atomic.prompts import Prompts
from bench_gta.atomic.score import matches
from bench_gta.atomic.task import E2E, STEP

Write = Callable[..., Path]


class Model:
    """Answers by a function of the request."""

    name = "test"

    def __init__(self, answer: Callable[[ChatRequest], ChatReply]) -> None:
        self.answer = answer
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return self.answer(request)

    async def close(self) -> None: ...


def new_file(folder: Path, name: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).touch()
    return str(folder / name)


class Box:
    """Text for reading and reckoning, a new file for every drawing."""

    def __init__(self, catalog: Mapping[str, Tool] | None = None) -> None:
        self.tools = catalog or {}
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def catalog(self) -> Mapping[str, Tool]:
        return self.tools

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        self.calls.append((name, dict(arguments)))
        if name != "DrawBox":
            return (ToolOutput("text", "42"),)
        return (ToolOutput("image", new_file(folder, f"{len(self.calls)}.png")),)

    async def close(self) -> None: ...


def load(root: Path, id: str, task: str = "gta_atomic.step") -> Sample:
    index = data.index(root)
    return data.load(index, next(row for row in index.rows if row.id == id), task)


def new_case(sample: Sample, model: Model, run: Path, dialect: str = "native", box: Box | None = None) -> Case:
    return Case(sample, 1, 0, CaseSettings(dialect=dialect), model, box or Box(), run / "files")


def solve(task: Task, sample: Sample, model: Model, run: Path, dialect: str = "native", box: Box | None = None) -> Any:
    output = asyncio.run(task.run(new_case(sample, model, run, dialect, box)))
    return with_placeholders(output, {str(sample.root): ROOT_TOKEN, str(run): RUN_TOKEN})


@pytest.mark.parametrize("dialect", ["native", "react"])
@pytest.mark.parametrize("task", [STEP, E2E], ids=lambda task: task.name)
@pytest.mark.parametrize("id", ["3", "5", "9"])
def test_the_oracle_passes(task: Task, id: str, dialect: str, write: Write, tmp_path: Path) -> None:
    """The only exception: gold arguments that name a picture which only the gold run had cannot come out the same."""
    root = write()
    if task is STEP:  # here the gold path has to exist
        (root / "image" / "framed.png").touch()
    sample = load(root, id, task.name)

    def oracle(request: ChatRequest) -> ChatReply:
        assert task.oracle
        reply = task.oracle(sample, request, one_call=False)
        return reply if dialect == "native" else render_reply(format_of(dialect), reply)

    output = solve(task, sample, Model(oracle), tmp_path / "run", dialect)
    score = task.score(sample, output, "parity", "trigram")
    assert score.passed, score.explanation
    if task is STEP:
        assert score.values["arg"] == score.values["gold_tool"]
    assert score.values["tool_call_error"] == 0
    assert str(tmp_path) not in str(output)


def test_the_oracle_goes_on_with_the_picture_that_the_real_tool_made(write: Write, tmp_path: Path) -> None:
    sample = load(write(), "9", "gta_atomic.e2e")
    box = Box()
    solve(E2E, sample, Model(lambda request: answer_e2e(sample, request)), tmp_path / "run", box=box)
    assert [call["image"] for _, call in box.calls] == [f"{sample.root}/image/a.png", f"{tmp_path}/run/files/1.png"]


@pytest.mark.parametrize(
    ("whitelist", "blacklist"),
    [
        ([["$42"]], None),
        ([["42%"], ["C++", "Rust"]], None),
        ([["red", "blue"], ["cat"]], [["red"]]),
        ([["北京"]], None),
        ([["-5"]], [["x"]]),
        ([[""]], None),
        ([], None),
    ],
)
def test_the_oracle_finds_a_text_that_satisfies_the_lists(whitelist: Any, blacklist: Any) -> None:
    reference = {"whitelist": whitelist, "blacklist": blacklist}
    assert matches(right_answer(reference, "答案是北京, $42."), reference, PARITY)


def test_native_step_by_step_shows_the_gold_as_tool_messages(write: Write, tmp_path: Path) -> None:
    sample = load(write(), "3")
    model = Model(lambda request: ChatReply("It is x$42."))
    solve(STEP, sample, model, tmp_path)
    texts, last = Prompts(), model.requests[-1]
    assert [tool["function"]["name"] for tool in last.tools] == ["OCR", "Calculator"]
    assert [message["role"] for message in last.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "user",
    ]
    assert last.messages[0]["content"] == f"{texts.files_note}`{sample.root}/image/a.png`"
    assert last.messages[2]["tool_calls"][0]["id"] == last.messages[3]["tool_call_id"]
    assert last.messages[-1]["content"] == texts.summarise
    assert not any("I need it" in str(message) for request in model.requests for message in request.messages)


def test_of_parallel_calls_the_first_counts_step_by_step(write: Write, tmp_path: Path) -> None:
    sample = load(write(), "3")
    both = ChatReply(tool_calls=(ToolCall("Calculator", '{"expression": "1"}'), ToolCall("OCR", "{}")))
    output = solve(STEP, sample, Model(lambda request: both), tmp_path)
    assert [record["tool_calls"][0]["function"]["name"] for record in output["prediction"]] == ["Calculator"] * 3
    assert [len(record["tool_calls"]) for record in output["prediction"]] == [1] * 3


def test_the_tool_server_describes_the_tools_end_to_end(write: Write, tmp_path: Path) -> None:
    described = {"OCR": Tool("OCR", "The server's words.")}
    model = Model(lambda request: ChatReply("42"))
    solve(E2E, load(write(), "3", "gta_atomic.e2e"), model, tmp_path, box=Box(described))
    assert [tool["function"]["description"] for tool in model.requests[0].tools] == [
        "The server's words.",
        "Works out.",
    ]


SAVING = tuple(Parameter("text", name, optional=True) for name in ("output_dir", "filename"))
INPUTS = (Parameter("image", "image"), Parameter("text", "bbox"), *SAVING)
SERVED = Tool("DrawBox", "Draws.", INPUTS, (Parameter("image"),))


def test_an_input_that_only_the_tool_server_offers_reaches_the_tool(write: Write, tmp_path: Path) -> None:
    sample = load(write(), "9", "gta_atomic.e2e")
    arguments = {"image": f"{sample.root}/image/a.png", "bbox": "1 1 2 2", "output_dir": "made", "filename": "b"}
    replies = iter([ChatReply(tool_calls=(ToolCall("DrawBox", json.dumps(arguments)),)), ChatReply("Done.")])
    box = Box({"DrawBox": SERVED})
    output = solve(E2E, sample, Model(lambda request: next(replies)), tmp_path, box=box)
    assert box.calls == [("DrawBox", arguments)]
    assert "error" not in output["prediction"][0][0]


def test_a_model_that_never_ends_is_stopped_after_ten_turns(write: Write, tmp_path: Path) -> None:
    model = Model(lambda request: ChatReply(tool_calls=(ToolCall("Calculator", '{"expression": "1"}'),)))
    output = solve(E2E, load(write(), "3", "gta_atomic.e2e"), model, tmp_path)
    assert len(model.requests) == 10
    assert model.requests[-1].messages[-1]["content"] == Prompts().force_stop
    assert output["prediction"][0][-1]["role"] == "tool"


def test_a_tool_fault_is_not_the_models_doing(write: Write, tmp_path: Path) -> None:
    class Dead(Box):
        async def call(self, *args: Any, **kwargs: Any) -> tuple[ToolOutput, ...]:
            raise ToolFault("the server is gone")

    model = Model(lambda request: ChatReply(tool_calls=(ToolCall("Calculator", '{"expression": "1"}'),)))
    with pytest.raises(ToolFault, match="gone"):
        solve(E2E, load(write(), "3", "gta_atomic.e2e"), model, tmp_path, box=Dead())


@pytest.mark.parametrize("task", [STEP, E2E], ids=lambda task: task.name)
def test_a_case_without_prediction_is_scored_without_looking_at_files(task: Task, write: Write) -> None:
    sample = load(write(), "3", task.name)
    score = task.score(sample, None, "parity", "trigram")
    assert not score.passed and score.values["answer"] == 1
