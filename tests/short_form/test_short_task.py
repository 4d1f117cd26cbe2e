"""The task of a class with ``run`` and ``score``: what it makes of answers, and which mistakes are told at once."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.capabilities import Oracle, PublishedRows, TaskOption
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, Conversation, ConversationCall, ToolCall
from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import estimate
from agentgauge.core.types import Sample, Score
from agentgauge.short_form.task import ShortTask, short_task


class Sums:
    async def run(self, case):
        return await case.ask(case.sample["question"])

    def score(self, sample, answer):
        return Score(answer.text == sample["answer"], {"right": answer.text == sample["answer"]})


class Model:
    name = fingerprint = "m"

    def __init__(self, reply: ChatReply) -> None:
        self.reply = reply
        self.asked: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        return self.reply

    async def close(self) -> None: ...


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "sums.jsonl"
    file.write_text('{"id": "one", "question": "1 + 2", "answer": "3"}\n')
    return str(file)


def sample(task: ShortTask) -> Sample:
    index = task.data.index(task.data.bundled)
    return task.data.load(index, index.rows[0], task.name)


def run(task: ShortTask, reply: ChatReply) -> tuple[Any, Model]:
    model = Model(reply)
    case = Case(sample(task), 1, 0, CaseSettings(), model, None, Path("/"))
    return asyncio.run(task.run(case)), model


def test_a_reply_is_stored_and_scored_from_there(data: str) -> None:
    task = short_task(Sums, "sums", data=data)
    output, model = run(task, ChatReply("3"))
    assert model.asked[0].messages == ({"role": "user", "content": "1 + 2"},)
    score = task.score(sample(task), json.loads(json.dumps(output)), "parity", "")
    assert score.passed and score.values == {"passed": 1, "right": 1, "samples": 1, "samples with passed": 1}
    assert not task.score(sample(task), None, "parity", "").passed


@dataclass
class Found:
    total: float


@pytest.mark.parametrize(
    ("value", "given"), [("text", "text"), ({"a": 1}, {"a": 1}), (Found(1.5), {"total": 1.5}), (None, None)]
)
def test_any_plain_value_is_an_answer(data: str, value: Any, given: Any) -> None:
    seen = []

    class Plain:
        async def run(self, case):
            return value

        def score(self, sample, answer):
            seen.append(answer)
            return True

    task = short_task(Plain, "plain", data=data)
    output, _ = run(task, ChatReply())
    assert task.score(sample(task), json.loads(json.dumps(output)), "parity", "").passed
    assert seen == [given]


def test_a_wrong_answer_without_explanation_shows_what_was_answered(data: str) -> None:
    class Strict(Sums):
        def score(self, sample, answer):
            return answer.text == "4"

    task = short_task(Strict, "strict", data=data)
    assert task.score(sample(task), run(task, ChatReply("5"))[0], "parity", "").explanation == "answered '5'"


@pytest.mark.parametrize(
    ("conversation", "told"),
    [
        (Conversation("5"), "answered '5'"),
        (Conversation(""), "gave no answer"),
        (Conversation("", turns=3, ended="turns"), "used all its 3 turns without an answer"),
        (Conversation("", turns=1, ended="turns"), "used its only turn without an answer"),
        (
            Conversation("I book.", (ConversationCall("book", {"seat": 7}),), ended="call"),
            "ended with a call: book(seat=7)",
        ),
        (Conversation("5", ended="user"), "answered '5'; then the user ended the conversation"),
    ],
)
def test_a_wrong_conversation_is_explained_by_its_end(data: str, conversation: Conversation, told: str) -> None:
    class Talk(Sums):
        async def run(self, case):
            return conversation

        def score(self, sample, answer):
            return False

    task = short_task(Talk, "talk", data=data)
    assert task.score(sample(task), run(task, ChatReply())[0], "parity", "").explanation == told


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ("yes", "score of odd returned 'yes'; return a Score, or True or False"),
        (Score(True, {"right": "1"}), "score gives right the value '1'; values are finite numbers"),
        (Score(True, {"right": float("nan")}), "score gives right the value nan"),
    ],
)
def test_what_is_no_score_is_told(data: str, returned: Any, sentence: str) -> None:
    class Odd(Sums):
        def score(self, sample, answer):
            return returned

    with pytest.raises(TypeError, match=sentence):
        short_task(Odd, "odd", data=data).score(Sample("1", "odd", (), {}, Path()), {"value": 1}, "parity", "")


def giving(scores: list[Score]) -> type[Sums]:
    left = iter(scores)

    class Given(Sums):
        def score(self, sample, answer):
            return next(left)

    return Given


def scored(task: ShortTask) -> Score:
    return task.score(sample(task), {"value": None}, "parity", "")


METRICS = {
    "Right": "mean right",
    "Turns": "average turns",
    "Calls": "sum calls",
    "F1": lambda sums: 200 * sums["hits"] / (sums["hits"] + sums["all"]),
}
SCORES = [
    Score(True, {"right": True, "turns": 3, "calls": 2, "hits": 1, "all": 1}),
    Score(False, {"right": 0.5, "turns": 4, "calls": 5, "all": 2}),
    Score(False, {"calls": 1}),
]


@pytest.mark.parametrize(
    ("scores", "figures", "counted"),
    [
        (SCORES, {"Right": 75, "Turns": 3.5, "Calls": 8, "F1": 50}, {"Right": 2, "Turns": 2, "Calls": 3, "F1": 3}),
        (SCORES[2:], {"Right": None, "Turns": None, "Calls": 1, "F1": None}, None),
        ([], {"Right": None, "Turns": None, "Calls": 0, "F1": None}, None),
    ],
)
def test_metrics_in_words(data: str, scores, figures, counted) -> None:
    task = short_task(giving(scores), "sums", data=data, metrics=METRICS)
    found = estimate([scored(task) for _ in scores], task.metrics("parity"))
    assert {name: metric.value for name, metric in found.items()} == pytest.approx(figures)
    if counted:
        assert {name: metric.n for name, metric in found.items()} == counted
        assert found["Calls"].low is None
    assert (task.counts, task.published) == ({"Calls"}, ("Right", "F1"))


def test_a_broken_case_is_a_wrong_one(data: str) -> None:
    task = short_task(giving([Score(True, {"right": 1})]), "sums", data=data, metrics={"Right": "mean right"})
    broken = task.score(sample(task), None, "parity", "")
    assert estimate([scored(task), broken], task.metrics("parity"))["Right"].value == 50


def gold(replies: Any):
    class Known(Sums):
        def oracle(self, sample):
            return replies

    return Known


CALL = {"name": "add", "arguments": {"a": 1}}


@pytest.mark.parametrize(
    ("replies", "turn", "one_call", "expected"),
    [
        ("3", 0, False, "3"),
        ("3", 5, False, "3"),
        (["a", "b"], 1, False, "b"),
        (["a", "b"], 7, False, "b"),
        (CALL, 0, False, ["add"]),
        ([[CALL, CALL]], 0, False, ["add", "add"]),
        ([[CALL, CALL], "done"], 0, True, ["add"]),
        ([[CALL, CALL], "done"], 1, True, ["add"]),
        ([[CALL, CALL], "done"], 2, True, "done"),
    ],
)
def test_the_oracle_replies_in_order(data: str, replies, turn, one_call, expected) -> None:
    task = short_task(gold(replies), "sums", data=data)
    assert isinstance(task, Oracle)
    reply = task.oracle(sample(task), ChatRequest((), case=CaseKey("sums", "one", 1, turn)), one_call=one_call)
    assert (reply.text or [call.name for call in reply.tool_calls]) == expected
    assert all(call == ToolCall("add", '{"a": 1}') for call in reply.tool_calls)


@pytest.mark.parametrize("replies", [3, [{"name": "add"}], [[]]])
def test_gold_that_is_no_reply_is_told(data: str, replies) -> None:
    task = short_task(gold(replies), "sums", data=data)
    with pytest.raises(UsageProblem, match=r"oracle of sums replies .*; a reply is a text, a call with name"):
        task.oracle(sample(task), ChatRequest((), case=CaseKey("sums", "one")))


def test_what_a_class_does_not_have_the_task_has_not(data: str, tmp_path: Path) -> None:
    plain = short_task(Sums, "sums", data=data)
    assert not isinstance(plain, Oracle | PublishedRows)
    assert (plain.dialects, plain.options, plain.benchmark) == (("native",), (), "sums")
    (tmp_path / "rows.json").write_text('[{"model": "m", "B": 1}]')
    metrics = {"A": "mean passed", "B": "mean right"}
    shown = short_task(Sums, "sums", data=data, published=str(tmp_path / "rows.json"), metrics=metrics, title="Sums")
    assert isinstance(shown, PublishedRows) and shown.published_rows() == [
        {"edition": "published", "model": "m", "B": 1}
    ]
    assert (shown.published, shown.columns, shown.benchmark) == (("B",), ("A", "B"), "Sums")


def add(a: int) -> int:
    """Add one."""
    return a + 1


def untyped(a):
    """Text."""


class WithTools(Sums):
    tools = (add,)
    roles = ("user",)
    options = (TaskOption("--sums-level", "level", ("easy", "hard")),)

    async def run(self, case):
        assert list(case.tools) == [add]
        return self.chosen["--sums-level"]


def test_tools_roles_and_options(data: str) -> None:
    task = short_task(WithTools, "sums", data=data)
    assert "react" in task.dialects
    assert [option.name for option in task.options] == ["--sums-level", "--user-model"]
    task.configure({"--sums-level": "hard", "--user-model": "same"})
    assert run(task, ChatReply())[0] == {"value": "hard"}


def test_tools_may_be_schemas_of_each_sample(data: str) -> None:
    class Own(Sums):
        tools = "question"

        async def run(self, case):
            return case.tools

    assert run(short_task(Own, "own", data=data), ChatReply())[0] == {"value": "1 + 2"}


def with_attributes(**attributes: Any) -> type:
    return type("Made", (Sums,), {"__module__": __name__, **attributes})


async def later(self, sample, answer):
    return True


@pytest.mark.parametrize(
    ("author", "sentence"),
    [
        (Sums(), "put @benchmark above a class with run and score"),
        (with_attributes(run=None), "the benchmark sums lacks run; write async def run\\(self, case\\)"),
        (with_attributes(score=None), "lacks score; write def score\\(self, sample, answer\\)"),
        (with_attributes(run=lambda self, case: 1), "run of the benchmark sums must be: async def run\\(self, case\\)"),
        (with_attributes(score=lambda self, sample: 1), "must be: def score\\(self, sample, answer\\)"),
        (with_attributes(score=later), "must be: def score\\(self, sample, answer\\)"),
        (with_attributes(oracle=lambda self: 1), "must be: def oracle\\(self, sample\\)"),
        (with_attributes(tools=add), "tools of the benchmark sums is <function add.*; give a list"),
        (with_attributes(tools=[untyped]), "the tool untyped: its parameter a lacks a type"),
        (with_attributes(roles="user"), "roles of the benchmark sums is 'user'; give a list"),
        (with_attributes(roles=["The User"]), "the role 'The User' of sums makes no option"),
    ],
)
def test_a_mistake_in_the_class_is_told_at_once(data: str, author, sentence) -> None:
    with pytest.raises(UsageProblem, match=sentence) as told:
        short_task(author, "sums", data=data)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"data": "no.jsonl"}, "the data file .*no.jsonl of sums does not exist; paths start at the benchmark's file"),
        ({"data": []}, "the benchmark sums has no data file"),
        ({"data": __file__}, "test_short_task.py: samples of sums can be in files of .jsonl, .json, .csv"),
        ({"gold": "no.jsonl"}, "the data file .*no.jsonl of sums does not exist"),
        ({"metrics": {"A": "median right"}}, "the metric A of sums is 'median right'; accepted are 'mean VALUE'"),
        ({"published": "no.json"}, "the published rows .*no.json of sums cannot be read"),
    ],
)
def test_a_mistake_in_the_arguments_is_told_at_once(data: str, arguments, sentence) -> None:
    with pytest.raises(UsageProblem, match=sentence):
        short_task(Sums, "sums", **{"data": data, **arguments})


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("{}", "must be a list of objects with a model and figures of Accuracy"),
        ('[{"Accuracy": 1}]', "a published row of sums must have a model and a figure"),
        ('[{"model": "m"}]', "a published row of sums must have a model and a figure"),
        ('[{"model": "m", "Acc": 1}]', "a published row of sums has Acc: 1; accepted are numbers of Accuracy"),
        ('[{"model": "m", "Accuracy": "1"}]', "has Accuracy: '1'; accepted are numbers"),
    ],
)
def test_a_mistake_in_published_rows_is_told_at_once(data: str, tmp_path: Path, rows: str, sentence: str) -> None:
    (tmp_path / "rows.json").write_text(rows)
    with pytest.raises(UsageProblem, match=sentence):
        short_task(Sums, "sums", data=data, published=str(tmp_path / "rows.json"))


def test_a_conversation_comes_back_as_it_was(data: str) -> None:
    said = Conversation("bye", turns=2, ended="user", messages=({"role": "user", "content": "hi"},), state={"a": [1]})
    seen = []

    class Talks(Sums):
        async def run(self, case):
            return said

        def score(self, sample, answer):
            seen.append(answer)
            return True

    task = short_task(Talks, "talks", data=data)
    task.score(sample(task), json.loads(json.dumps(run(task, ChatReply())[0])), "parity", "")
    assert seen == [said]
