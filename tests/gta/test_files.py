"""Prediction files of GTA-Atomic, and replies on which the published code stops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.config import Config, ModelTable
from agentgauge.core.errors import DataProblem, ToolError
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.task import Task
from agentgauge.core.tools import Tool, ToolOutput
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Record, Score, Scoring, Transcript
from agentgauge.model.presets import resolve
from agentgauge.model.wire import read_reply
from agentgauge.store.jsonl import encoded_line
from bench_gta.atomic.files import prediction_files
from bench_gta.atomic.fixes import e2e_stop, step_stop
from bench_gta.atomic.task import E2E, STEP
from bench_gta.workflow.task import WORKFLOW

Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("present", "given", "expected"),
    [
        (["gta_bench.json", "gta_bench_0.json"], "", ["gta_bench.json"]),
        (["gta_bench_0.json", "gta_bench_1.json", "gta_bench_3.json"], "", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench_0.json", "gta_bench_1.json"], "gta_bench_1.json", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench_0.json", "gta_bench_1.json"], "gta_bench.json", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench.json", "gta_bench_0.json"], "gta_bench.json", ["gta_bench.json"]),
        (["other.json"], "other.json", ["other.json"]),
        (["gpt_4.json"], "gpt_4.json", ["gpt_4.json"]),
    ],
)
def test_files_behind_a_path(present: list[str], given: str, expected: list[str], tmp_path: Path) -> None:
    for name in present:
        (tmp_path / name).write_text("{}")
    assert [file.name for file in prediction_files(tmp_path / given)] == expected


@pytest.mark.parametrize("given", ["", "gta_bench.json", "x_4.json"])
def test_no_predictions(given: str, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="holds no predictions"):
        prediction_files(tmp_path / given)


def entry(dialogs: list[Any]) -> dict[str, Any]:
    turns = [turn for turn in dialogs if turn["role"] == "assistant"]
    return {"gold": turns, "prediction": turns, "origin_prompt": [], "steps": []}


def score_steps(samples: Path, predictions: Path, *, scoring: Scoring) -> Any:
    assert STEP.files
    return STEP.files.score(samples, predictions, scoring=scoring, similarity="trigram")


EMPTY: dict[str, Any] = {"gold": [], "prediction": []}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "one JSON object"),
        ("{", "cannot be read as JSON"),
        ("{}", "holds no predictions; give a file with at least one"),
        ({"0": {}}, "entry 0 must be an object with the lists"),
        (
            {"0": EMPTY, "2": EMPTY},
            "the key '2' is not a position: the 2 predictions of a file have the keys '0' to '1'",
        ),
        ({"1": EMPTY, "2": EMPTY, "3": EMPTY}, "the key '3' is not a position"),
        ({"0": EMPTY, "01": EMPTY}, "the key '01' is not a position"),
        ({"0": EMPTY, "-1": EMPTY}, "the key '-1' is not a position"),
        ({"0": EMPTY, "x": EMPTY}, "the key 'x' is not a position"),
        (
            {str(n): {"gold": [{"tool_calls": []}], "prediction": [{"tool_calls": []}]} for n in range(3)},
            "entry 0: its records have an unknown shape",
        ),
    ],
)
def test_what_is_refused(content: Any, told: str, write: Write, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DataProblem, match=told):
        score_steps(write(), file, scoring="parity")


def written(folder: Path, samples: dict[str, Any], order: Callable[[list[str]], list[str]], parts: int = 1) -> Path:
    """The gold as a prediction file, whole or split, its keys in that order; returns the first file."""
    files = []
    entries = [entry(sample["dialogs"]) for sample in samples.values()]
    size = len(entries) // parts
    for number in range(parts):
        last = number == parts - 1
        chosen = entries[number * size : None if last else (number + 1) * size]
        part = {str(place): one for place, one in enumerate(chosen)}
        files.append(folder / (f"gta_bench_{number}.json" if parts > 1 else "gta_bench.json"))
        files[-1].write_text(json.dumps({key: part[key] for key in order(list(part))}))
    return files[0]


def many(samples: dict[str, Any]) -> dict[str, Any]:
    """Twenty-four samples of three kinds, so that keys sorted as text are in another order than as numbers."""
    return {f"{key}{number}": samples[key] for number in range(8) for key in ("5", "9", "3")}


ORDERS: dict[str, Callable[[list[str]], list[str]]] = {
    "as written": list,
    "as text": sorted,
    "reversed": lambda keys: keys[::-1],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("parts", [1, 2])
def test_keys_in_any_order(order: str, parts: int, write: Write, samples: dict[str, Any], tmp_path: Path) -> None:
    file = written(tmp_path, many(samples), ORDERS[order], parts)
    result = score_steps(write(many(samples)), file, scoring="parity")
    columns = {name: result["columns"][name] for name in ("InstAcc", "ToolAcc", "ArgAcc")}
    assert columns == {"InstAcc": 100, "ToolAcc": 100, "ArgAcc": 100}
    # "It is $42." does not satisfy its own white list: "$" is no word character
    assert [sample["passed"] for sample in result["samples"]] == [True, True, False] * 8
    assert result["columns"]["SummAcc"] == 50 and "remarks" not in result


@pytest.mark.parametrize(
    ("predicted", "known", "scored"),
    [(2, 3, ["5", "9"]), (3, 2, ["5", "9"])],
    ids=["fewer predictions", "fewer samples"],
)
def test_files_of_unequal_length(
    predicted: int, known: int, scored: list[str], write: Write, samples: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    """Parity scores up to the shorter, as the original, and says so; strict refuses."""
    ordered = {key: samples[key] for key in ("5", "9", "3")}
    file = written(tmp_path, dict(list(ordered.items())[:predicted]), list)
    root = write(dict(list(ordered.items())[:known]))
    result = score_steps(root, file, scoring="parity")
    assert [sample["id"] for sample in result["samples"]] == scored
    assert result["columns"]["InstAcc"] == 100
    said = f"{file} holds {predicted} predictions and {root} {known} samples"
    assert result["remarks"] == [f"{said}; the first 2 of each were scored, as the published evaluator does"]
    command = ["score", "gta_atomic.step", "--samples", str(root), "--predictions", str(file)]
    assert main(command) == 0 and f"  {result['remarks'][0]}\n" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0 and json.loads(capsys.readouterr().out)["remarks"] == result["remarks"]
    with pytest.raises(DataProblem, match=f"{said}; strict scoring needs both complete"):
        score_steps(root, file, scoring="strict")


def test_the_result_names_the_evaluators_keys_and_the_columns(
    write: Write, samples: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "p.json"
    file.write_text(
        json.dumps({str(number): entry(sample["dialogs"]) for number, sample in enumerate(samples.values())})
    )
    result = score_steps(write(), file, scoring="parity")
    assert list(result) == ["metrics", "columns", "samples"]
    assert list(result["metrics"]) == [
        "inst_align",
        "tool_acc",
        "arg_acc",
        "answer_acc",
        "tool_call",
        "tool_call_error",
    ]
    assert (result["columns"]["ToolAcc"], result["columns"]["ToolCalls"]) == (100, 5)
    # the gold text "It is $42." does not satisfy its own white list: "$" is no word character
    assert [(sample["id"], sample["passed"]) for sample in result["samples"]] == [
        ("3", False),
        ("5", True),
        ("9", True),
    ]
    assert json.dumps(result)


SPEC = resolve("m", url=None, config=Config(models={"m": ModelTable(model="m", url="http://host/v1")}), need_key=False)
TASKS = [STEP, E2E, WORKFLOW]


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
            task.shown.artifacts(output, scores[0], "parity")
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
    [(STEP, [record("null", type="ARGS_ERROR")]), (E2E, [[]])],
)
def test_a_file_of_predictions_tells_where_the_published_code_stops(
    task: Task, prediction: list[Any], samples: dict[str, Any], write: Callable[..., Path], tmp_path: Path
) -> None:
    gold = [record({"image": "a.png"})]
    entry = {"prediction": prediction, "gold": gold if task is STEP else [gold]}
    (tmp_path / "p.json").write_text(json.dumps({"0": entry}))
    assert task.files
    samples_file = write({"7": samples["5"]})
    result = task.files.score(samples_file, tmp_path / "p.json", scoring="parity", similarity="trigram")
    assert [stop["sample"] for stop in result["stops"]] == ["7"]
