"""Replies of every kind in every task: none raises, and those on which the published evaluator stops are counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import DataProblem, ModelFault
from agentgauge.core.task import Task
from agentgauge.core.types import Sample, Score, Scoring
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import read_reply
from bench_mmau.run import JUDGE, PLANNER, QA, SOLVER
from bench_mmau.task import TASKS
from tests.mmau import records as made

pytestmark = pytest.mark.slow

BY_NAME = {task.name.removeprefix("mmau."): task for task in TASKS}
ID, FUNCTION = {"id": "c", "type": "function"}, {"name": "book", "arguments": '{"place": "Lumen", "seats": 2}'}


def called(**call: Any) -> dict[str, Any]:
    return {"content": None, "tool_calls": [call]}


REPLIES: Mapping[str, dict[str, Any]] = {
    "42": {"content": "42"},
    "empty": {"content": ""},
    "null": {"content": None},
    "brackets": {"content": "[" * 5_000},
    "digits": {"content": "9" * 10_000},
    "call": called(**ID, function=FUNCTION),
    "call without id": called(type="function", function=FUNCTION),
    "call without arguments": called(**ID, function={"name": "book"}),
    "call without function": called(**ID),
    "brackets as arguments": called(**ID, function={"name": "book", "arguments": "[" * 5_000}),
    "digits as arguments": called(**ID, function={"name": "book", "arguments": "9" * 10_000}),
}
NULL = {name for name, reply in REPLIES.items() if reply["content"] is None}
STOPS = {
    "tool": {"brackets as arguments", "digits as arguments"},
    "dag": NULL,
    "ds": NULL | {"42", "brackets", "digits"},
    "contest": NULL,
    "math": NULL,
}
"""The first word of a task's name, and the replies on which its published metric stops
(docs/benchmarks/mmau.md#replies-without-an-answer)."""


class Fixed:
    """A model that sends one message."""

    fingerprint = ""

    def __init__(self, message: Mapping[str, Any], name: str = "tested") -> None:
        self.name, self._message, self.asked = name, message, 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked += 1
        reply = read_reply({"choices": [{"message": self._message}]}, ModelSpec("m", "openai", "m", "url"))
        assert isinstance(reply, ChatReply)
        return reply

    async def close(self) -> None: ...


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One record a file; contests have one test."""
    folder = tmp_path_factory.mktemp("stops") / "data"
    few = {"private_tests": made.EMPTY}
    made.write(
        folder,
        **{name: entries[:1] for name, entries in made.files().items()}
        | {f"code_contests_{name}": [made.contest(2, **few)] for name in ("regular", "plan", "solve")},
    )
    folder.parent.parent.chmod(0o755)
    return folder


def sample_of(task: Task, data: Path) -> Sample:
    root = task.data.find(data)
    assert root is not None
    index = task.data.index(root)
    return task.data.load(index, next(iter(index.rows)), task.name)


def run(task: Task, sample: Sample, tested: Fixed, *others: Fixed, scoring: Scoring = "parity", role: str = "") -> Any:
    """The output, as a record keeps it. ``others``: the model that has ``role``."""
    settings = CaseSettings(scoring=scoring)
    models = {role: others[0]} if others else {}
    case = Case(sample, 1, 7, settings, tested, None, Path(), models=lambda name: models.get(name, tested))
    return json.loads(json.dumps(asyncio.run(task.run(case))))


def response(message: Mapping[str, Any]) -> str:
    return json.dumps({"choices": [{"message": {"role": "assistant", **message}}]})


def judged(task: Task, sample: Sample, output: Any, scoring: Scoring = "parity") -> Score:
    return task.score(sample, output, scoring, "")


@pytest.mark.parametrize("name", BY_NAME)
def test_no_reply_stops_a_case(name: str, data: Path) -> None:
    task = BY_NAME[name]
    sample = sample_of(task, data)
    for reply, message in REPLIES.items():
        score = judged(task, sample, run(task, sample, Fixed(message)))
        assert bool(score.stops) == (reply in STOPS[name.split("_")[0]]), (reply, score)
        assert not score.passed or (name.startswith("tool_") and reply == "call"), (reply, score)
        assert score.values["records"] == 1


ONE_OF_EACH = ("tool_single", "dag_reasoning", "ds_e2e", "ds_oracle", "ds_retry", "contest_retry", "math_standard")


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_under_strict_no_reply_stops_anything(name: str, data: Path) -> None:
    task = BY_NAME[name]
    sample = sample_of(task, data)
    for reply, message in REPLIES.items():
        score = judged(task, sample, run(task, sample, Fixed(message), scoring="strict"), "strict")
        assert score.stops == "", (reply, score)


VALUES: list[tuple[str, str, dict[str, float], tuple[str, ...]]] = [
    ("dag_reasoning", "null", {"right": 0, "format_error": 1}, ("format_error",)),
    ("dag_reasoning", "digits", {"right": 0, "format_error": 1}, ("format_error",)),
    ("math_standard", "null", {"graded": 1, "correct": 0, "valid": 0, "incorrect": 0}, ("no_answer",)),
    ("math_standard", "empty", {"graded": 0, "correct": 0, "valid": 0}, ("no_answer",)),
    ("math_planner", "call", {"graded": 1, "correct": 0, "valid": 0}, ("no_answer",)),
    ("contest_standard", "null", {"solved": 0, "candidates": 5}, ("empty_solution",)),
    ("contest_planner", "null", {"solved": 0, "candidates": 5}, ("empty_solution",)),
    ("contest_retry", "null", {"solved": 0, "retried": 1, "retried_solved": 0}, ("empty_solution",)),
    ("contest_parsing", "null", {"correct": 0, "valid": 0}, ("no_answer",)),
    ("ds_e2e", "42", {"correct": 0, "questions": 1, "executed": 0}, ("no_cells",)),
    ("ds_e2e", "null", {"correct": 0, "questions": 1, "executed": 0}, ("no_cells",)),
    ("ds_oracle", "42", {"correct": 0, "questions": 1, "executed": 1}, ("unanswered",)),
    ("tool_single", "null", {"right": 0, "generation_errors": 0, "expected_calls": 1}, ("no_reply",)),
    ("tool_single", "empty", {"right": 0, "generation_errors": 1, "parsing_errors": 0}, ("no_reply",)),
    ("tool_single", "call without id", {"right": 0, "parsing_errors": 1, "predicted_intents": 0}, ("parsing_error",)),
    ("tool_single", "call without arguments", {"right": 0, "parsing_errors": 1}, ("parsing_error",)),
    (
        "tool_single",
        "digits as arguments",
        {"right": 0, "parsing_errors": 0, "predicted_intents": 1},
        ("unreadable_arguments",),
    ),
]


@pytest.mark.parametrize(("name", "reply", "values", "labels"), VALUES, ids=[f"{row[0]}-{row[1]}" for row in VALUES])
def test_what_such_replies_count(
    name: str,
    reply: str,
    values: dict[str, float],
    labels: tuple[str, ...],
    data: Path,
) -> None:
    task = BY_NAME[name]
    sample = sample_of(task, data)
    score = judged(task, sample, run(task, sample, Fixed(REPLIES[reply])))
    assert {key: score.values[key] for key in values} == values
    assert score.labels == labels


@pytest.mark.parametrize(
    ("name", "reply"),
    [("tool_single", "call without id"), ("tool_single", "call"), ("dag_reasoning", "call without arguments")],
)
def test_strict_reads_a_call_that_a_server_left_incomplete(name: str, reply: str, data: Path) -> None:
    task = BY_NAME[name]
    sample = sample_of(task, data)
    score = judged(task, sample, run(task, sample, Fixed(REPLIES[reply]), scoring="strict"), "strict")
    assert score.passed == (name == "tool_single")


@pytest.mark.parametrize("reply", ["true", "false", "null", "4.5", "NaN"])
def test_json_values_in_place_of_cells(reply: str, data: Path) -> None:
    task = BY_NAME["ds_e2e"]
    sample = sample_of(task, data)
    score = judged(task, sample, run(task, sample, Fixed({"content": reply})))
    assert "where a list of cells is needed" in score.stops
    assert score.labels == ("no_cells",)


@pytest.mark.parametrize(
    ("reply", "stops"),
    [
        ("B", False),
        ("null", False),
        ('["B", "C"]', False),
        ('[["B", "A"], "C"]', True),
        ('"B"', True),
        ("true", True),
        ('{"1": "B"}', True),
        ("[" * 200 + "]" * 200, True),
        ('["\\ud800"]', False),
        ("[NaN]", False),
    ],
)
def test_answers_of_every_shape(reply: str, stops: bool, data: Path) -> None:
    task = BY_NAME["ds_oracle"]
    sample = sample_of(task, data)
    score = judged(task, sample, run(task, sample, Fixed({"content": reply})))
    assert (score.passed, bool(score.stops), score.values["correct"]) == (False, stops, 0)


def test_one_null_candidate_leaves_the_others_their_programs(data: Path) -> None:
    task = BY_NAME["contest_standard"]
    sample = sample_of(task, data)
    null, right = (response({"content": text}) for text in (None, "print(4)"))
    score = judged(task, sample, {"responses": [null, right]})
    assert (score.passed, score.values["candidates"], score.values["passed_candidates"]) == (True, 2, 1)
    assert "content is null" in score.stops


def test_a_second_reply_on_which_the_published_evaluator_stops(data: Path) -> None:
    """The cells fail, and 42 is written in their place: the first cells stay."""
    task = BY_NAME["ds_retry"]
    sample = sample_of(task, data)
    bad = json.dumps([{"cell_type": "code", "metadata": {}, "source": ["1/0"]}])

    class Twice(Fixed):
        async def complete(self, request: ChatRequest) -> ChatReply:
            self._message = {"content": "42" if self.asked else bad}
            return await super().complete(request)

    score = judged(task, sample, run(task, sample, Twice({})))
    assert score.labels == ("code_failed",)
    assert "42" in score.stops


def test_outputs_of_older_runs_are_scored_again(data: Path) -> None:
    """They hold the answers decoded."""
    sample = sample_of(BY_NAME["ds_e2e"], data)
    reply = response({"content": json.dumps(made.CELLS)})
    solution = {"execution_success": True, "error": "", "answers": ["B"], "reply": "older"}
    assert judged(BY_NAME["ds_e2e"], sample, {"responses": [reply], "solutions": [solution]}).passed
    del solution["reply"]
    assert judged(BY_NAME["ds_oracle"], sample, {"responses": ["older"], "solutions": [solution]}).passed


# -- roles that another model has

PARTS = [
    ("math_standard", JUDGE, "#ANSWER#: 7", "judge silent"),
    ("math_planner", SOLVER, "a plan", "solver silent"),
    ("contest_planner", SOLVER, "a plan", "solver silent"),
    ("math_solver", PLANNER, "#ANSWER#: 7", "planner silent"),
    ("ds_codegen", QA, json.dumps(made.CELLS), "QA model silent"),
]


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize(("name", "role", "text", "cause"), PARTS, ids=[row[0] for row in PARTS])
def test_another_model_that_sends_no_text_is_at_fault(
    name: str,
    role: str,
    text: str,
    cause: str,
    content: str | None,
    data: Path,
) -> None:
    task = BY_NAME[name]
    sample = sample_of(task, data)
    with pytest.raises(ModelFault, match="sent no text") as fault:
        run(task, sample, Fixed({"content": text}), Fixed({"content": content}, "other"), role=role)
    assert fault.value.cause == cause
    same = run(task, sample, Fixed({"content": text}), Fixed({"content": content}), role=role)
    assert not judged(task, sample, same).passed, "the tested model has the role: its silence is its reply"


def test_a_refusal_is_a_text(data: Path) -> None:
    task = BY_NAME["math_standard"]
    sample = sample_of(task, data)
    refusal = Fixed({"content": None, "refusal": "I will not judge."}, "other")
    output = run(task, sample, Fixed({"content": "#ANSWER#: 7"}), refusal, role=JUDGE)
    assert judged(task, sample, output).labels == ("invalid_judgement",)


# -- response files


def line(record: Mapping[str, Any], message: Any) -> str:
    stored = message if isinstance(message, str) else response(message)
    return json.dumps({**record, "response": stored}, ensure_ascii=False)


HALF = {"Accuracy": 50, "Format Errors": 50}
"""The second line of such files is right."""


@pytest.mark.parametrize(
    ("name", "record", "message", "metrics", "stops"),
    [
        ("dag_reasoning", made.plans()[0], {"content": None}, HALF, "content is null"),
        ("dag_reasoning", made.plans()[0], {"content": f"Chosen Plan: {'1' * 5000}"}, HALF, ""),
        ("dag_reasoning", made.plans()[0], "no JSON", HALF, "is not JSON"),
        ("dag_reasoning", made.plans()[0], "[" * 5_000, HALF, "is not JSON"),
        ("dag_reasoning", made.plans()[0], called(**ID), HALF, "'function' is null or missing"),
        ("math_standard", made.mathematics(1), {"content": None}, {"Accuracy": 0}, "content is null"),
        ("math_standard", made.mathematics(1), {"content": "#ANSWER#: 1e999999999"}, {"Accuracy": 0}, ""),
        ("contest_standard", made.contest(2), {"content": None}, {"Pass Rate": 0}, "content is null"),
        ("contest_parsing", {"id": "u", "target_output": "9"}, {"content": None}, {"Accuracy": 0}, "content is null"),
        ("tool_single", made.tools("t")[0], "no JSON", {"Accuracy": 0, "Parsing Errors": 1}, ""),
        ("dag_reasoning", made.plans()[0], {"content": "line \u2028 line \x85"}, HALF, ""),
        ("contest_parsing", {"id": "u", "target_output": "9"}, {"content": "#ANSWER#: \ud800"}, {"Accuracy": 0}, ""),
    ],
)
def test_a_response_file_with_such_a_reply_is_scored(
    name: str, record: dict[str, Any], message: Any, metrics: dict[str, float], stops: str, tmp_path: Path
) -> None:
    file = tmp_path / "responses.jsonl"
    lines = [line({**record, "id": "odd"}, message)]
    if name == "dag_reasoning":
        lines.append(line({**record, "id": "fine"}, {"content": "Chosen Plan: 1"}))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = BY_NAME[name].files.score(tmp_path, file, scoring="parity", similarity="")
    assert {key: result["metrics"][key] for key in metrics} == metrics
    assert [stop["sample"] for stop in result["stops"]] == (["odd"] if stops else [])
    assert all(stops in stop["reason"] for stop in result["stops"])
    json.dumps(result, ensure_ascii=False).encode()  # it is printed


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "responses.jsonl"
    bad = {"{": "not valid JSON", "[" * 5_000: "not valid JSON", '{"id": 1}': "with a response", "": "no record"}
    for text, message in bad.items():
        file.write_text(text)
        with pytest.raises(DataProblem, match=message):
            BY_NAME["dag_reasoning"].files.score(tmp_path, file, scoring="parity", similarity="")
