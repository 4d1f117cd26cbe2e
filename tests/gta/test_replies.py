"""No reply of a model breaks a case of GTA or ends a run; those on which the published code stops are counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.checkpoint import with_placeholders
from agentgauge.core.config import Config, ModelTable
from agentgauge.core.errors import ToolError
from agentgauge.core.task import Task
from agentgauge.core.tools import Tool, ToolOutput
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Record, Score, Transcript
from agentgauge.model.presets import resolve
from agentgauge.model.wire import read_reply
from agentgauge.store.jsonl import encoded_line
from bench_gta.atomic.stops import e2e_stop, step_stop
from bench_gta.atomic.task import EndToEnd, StepByStep
from bench_gta.workflow.task import Workflow

SPEC = resolve("m", url=None, config=Config(models={"m": ModelTable(model="m", url="http://host/v1")}), need_key=False)
TASKS: list[Task] = [StepByStep(), EndToEnd(), Workflow()]


class Model:
    """Sends one message to whatever is asked, through the reader of answers; what it is sent must be JSON."""

    name = "test"
    fingerprint = ""

    def __init__(self, message: Mapping[str, Any]) -> None:
        self.message = message

    async def complete(self, request: ChatRequest) -> ChatReply:
        json.dumps([dict(message) for message in request.messages])
        reply = read_reply({"choices": [{"message": self.message}]}, SPEC)
        assert isinstance(reply, ChatReply)
        return reply

    async def close(self) -> None: ...


class Box:
    async def catalog(self) -> Mapping[str, Tool]:
        return {}

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        folder: Path,
        readable: Sequence[Path],
    ) -> tuple[ToolOutput, ...]:
        if len(str(arguments)) > 1000:
            raise ToolError("it is too long")
        return (ToolOutput("text", "42"),)

    async def close(self) -> None: ...


def nested(depth: int) -> str:
    return '{"expression": ' + "[" * depth + "]" * depth + "}"


def call(arguments: Any, name: Any = "Calculator", **more: Any) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


ARGUMENTS: dict[str, Any] = {
    "none": None,
    "empty": "",
    "null": "null",
    "list": "[]",
    "number": "42",
    "object": {"expression": "1"},
    "no text": 5,
    "nested 150": nested(150),
    "nested 450": nested(450),
    "nested 900": nested(900),
    "nested 5,000": nested(5000),
    "10,000 digits": '{"expression": ' + "9" * 10_000 + "}",
    "10,000 digits as a text": '{"expression": "' + "9" * 10_000 + '"}',
    "NaN": '{"expression": NaN}',
    "half a surrogate pair": '{"expression": "\\ud800"}',
    "zero byte": '{"image": "a\\u0000b"}',
    "long path": '{"image": "' + "x" * 5000 + '"}',
}
MESSAGES: dict[str, dict[str, Any]] = {
    "42": {"content": "42"},
    "empty": {"content": ""},
    "null": {"content": None},
    "nothing": {},
    "5,000 brackets": {"content": "[" * 5000},
    "10,000 digits": {"content": "9" * 10_000},
    "an answer of 10,000 digits": {"content": "Final Answer: " + "9" * 10_000},
    "a call without id": {"tool_calls": [{"function": {"name": "Calculator", "arguments": '{"expression": "1"}'}}]},
    "a call without arguments": {"content": None, "tool_calls": [{"id": "c", "function": {"name": "Calculator"}}]},
    "a call without a function": {"content": None, "tool_calls": [{}]},
    "a call without a name": {"content": None, "tool_calls": [call("{}", None)]},
    **{f"a call, {what}": {"content": None, "tool_calls": [call(text)]} for what, text in ARGUMENTS.items()},
    **{f"a call of OCR, {what}": {"tool_calls": [call(text, "OCR")]} for what, text in ARGUMENTS.items()},
    **{
        f"a written call, {what}": {"content": f"Thought: x\nAction: Calculator\nAction Input: {text}"}
        for what, text in ARGUMENTS.items()
        if isinstance(text, str)
    },
}


@pytest.mark.parametrize("dialect", ["native", "react"])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_no_reply_breaks_a_case(task: Task, dialect: str, tmp_path: Path) -> None:
    """From the message to the record's line: run, scored in both ways, shown and written."""
    index = task.data.index(task.data.bundled)
    offering = [row for row in index.rows if task.name == "gta_workflow" or "Calculator" in row.tags]
    sample = task.data.load(index, offering[0], task.name)
    for number, (what, message) in enumerate(MESSAGES.items()):
        run = tmp_path / str(number)
        case = Case(sample, 1, 0, CaseSettings(dialect=dialect), Model(message), Box(), run / "files")
        try:
            output = with_placeholders(asyncio.run(task.run(case)), {str(sample.root): ROOT_TOKEN, str(run): RUN_TOKEN})
            scores = [task.score(sample, output, scoring, "trigram") for scoring in ("parity", "strict")]
            task.artifacts(output, scores[0], "parity")
            transcript = Transcript(output, tuple(case.events))
            encoded_line(Record(task.name, sample.id, 1, "", "wrong", transcript, scores[0]))
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
        assert all(isinstance(score, Score) for score in scores)


def record(arguments: Any, **error: str) -> dict[str, Any]:
    call = {"type": "function", "function": {"name": "OCR", "arguments": arguments}}
    return {"role": "assistant", "tool_calls": [call], **({"error": error} if error else {})}


ANSWER = {"role": "assistant", "content": "42"}


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([ANSWER], ""),
        ([record({"image": "a.png"})], ""),
        ([record("{", type="ARGS_ERROR")], ""),
        ([record('["image"]', type="ARGS_ERROR")], ""),
        ([record("9" * 10_000, type="ARGS_ERROR")], ""),
        ([record("[" * 5000, type="ARGS_ERROR")], ""),
        (
            [ANSWER, record("null", type="ARGS_ERROR")],
            "the arguments of a call of OCR are null, which is not an object",
        ),
        ([record(" 4.5", type="ARGS_ERROR")], "the arguments of a call of OCR are  4.5, which is not an object"),
        ([record("true", type="ARGS_ERROR")], "the arguments of a call of OCR are true, which is not an object"),
    ],
)
def test_replies_on_which_the_published_agent_stops(records: list[Any], reason: str) -> None:
    assert step_stop(records) == e2e_stop([records, []]) == reason


@pytest.mark.parametrize("prediction", [[], [[]], [[], [ANSWER]]])
def test_the_published_evaluator_stops_where_there_is_no_record(prediction: list[Any]) -> None:
    assert e2e_stop(prediction) == "the first user turn has no record"


@pytest.mark.parametrize(
    ("task", "prediction"),
    [(StepByStep(), [record("null", type="ARGS_ERROR")]), (EndToEnd(), [[]])],
)
def test_a_file_of_predictions_tells_where_the_published_code_stops(
    task: Any, prediction: list[Any], samples: dict[str, Any], write: Callable[..., Path], tmp_path: Path
) -> None:
    gold = [record({"image": "a.png"})]
    entry = {"prediction": prediction, "gold": gold if isinstance(task, StepByStep) else [gold]}
    (tmp_path / "p.json").write_text(json.dumps({"0": entry}))
    result = task.score_files(write({"7": samples["5"]}), tmp_path / "p.json", scoring="parity", similarity="trigram")
    assert [stop["sample"] for stop in result["stops"]] == ["7"]
