"""Benchmarks in the short form: their samples, ids, and a run of one file."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, Conversation, ConversationCall, ToolCall
from agentgauge.core.errors import DataProblem, Fault, UsageProblem
from agentgauge.core.estimate import estimate
from agentgauge.core.task import Task
from agentgauge.core.task_options import TaskOption
from agentgauge.core.types import Sample, Score
from agentgauge.pytest_plugin.options import named_files
from agentgauge.short_form.sample_files import SampleFiles
from agentgauge.short_form.task import author_of, short_task
from tests.conftest import PLUGINS
from tests.plugin.project import Project, Result, python, records, summary, without_times
from tests.plugin.toy import TOY

# -- The task of a class with ``run`` and ``score``: what it makes of answers, and which mistakes are told at once.


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


def sample(task: Task) -> Sample:
    index = task.data.index(task.data.bundled)
    return task.data.load(index, index.rows[0], task.name)


def run(task: Task, reply: ChatReply) -> tuple[Any, Model]:
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
        (
            "yes",
            r"error in score of odd \(test_short_task.py:\d+\): returned 'yes'; return a Score, or True",
        ),
        (Score(True, {"right": "1"}), "gives right the value '1'; values are finite numbers"),
        (Score(True, {"right": float("nan")}), "gives right the value nan"),
        (Score(1), "error in score of odd .*: gives passed the value 1; it must be True or False"),
        (Score(0.5), "gives passed the value 0.5; it must be True or False"),
        (Score("EUR"), "gives passed the value 'EUR'"),
        (Score(None), "gives passed the value None"),
        (Score(True, {"right": 100}), "gives right the value 100; values of a mean are 0 to 1"),
        (Score(True, {"right": -0.5}), "gives right the value -0.5; values of a mean are 0 to 1"),
    ],
)
def test_what_is_no_score_is_told(data: str, returned: Any, sentence: str) -> None:
    class Odd(Sums):
        def score(self, sample, answer):
            return returned

    task = short_task(Odd, "odd", data=data, metrics={"Right": "mean right"})
    with pytest.raises(Fault, match=sentence) as told:
        task.score(Sample("1", "odd", (), {}, Path()), {"value": 1}, "parity", "")
    assert told.value.cause == "internal error"


@pytest.mark.parametrize("passed", [np.True_, Score(np.True_)])
def test_a_bool_of_numpy_is_one(data: str, passed: Any) -> None:
    score = scored(short_task(giving([passed]), "sums", data=data))
    assert score.passed is True and score.values["passed"] == 1


def giving(scores: list[Score]) -> type[Sums]:
    left = iter(scores)

    class Given(Sums):
        def score(self, sample, answer):
            return next(left)

    return Given


def scored(task: Task) -> Score:
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
    assert (task.shown.counts, task.shown.published) == ({"Calls"}, ("Right", "F1"))


def test_a_broken_case_is_a_wrong_one(data: str) -> None:
    task = short_task(giving([Score(True, {"right": 1})]), "sums", data=data, metrics={"Right": "mean right"})
    broken = task.score(sample(task), None, "parity", "")
    assert estimate([scored(task), broken], task.metrics("parity"))["Right"].value == 50


def test_a_figure_of_some_samples_counts_no_others_also_broken_ones(data: str) -> None:
    metrics = {
        "Billing": "mean right where subject=billing",
        "Shipping": "mean right where subject=shipping",
        "Turns": "average turns where subject=shipping",
        "Calls": "sum calls where subject=billing",
    }
    samples = [
        Sample(id, "sums", (), fields, Path())
        for id, fields in (
            ("a", {"subject": "billing"}),
            ("broken", {"subject": "billing"}),
            ("c", {"subject": ["shipping", "late"]}),
            ("d", {}),
        )
    ]
    scores = [Score(True, {"right": 1, "turns": 2, "calls": 3}) for _ in range(3)]
    task = short_task(giving(scores), "sums", data=data, metrics=metrics)
    outputs = [{"value": 1}, None, {"value": 1}, {"value": 1}]
    found = estimate(
        [task.score(each, output, "parity", "") for each, output in zip(samples, outputs, strict=True)],
        task.metrics("parity"),
    )
    assert {name: (metric.value, metric.n) for name, metric in found.items()} == {
        "Billing": (50, 2),
        "Shipping": (100, 1),
        "Turns": (2, 1),
        "Calls": (3, 4),
    }


def test_a_sample_is_read_like_a_dict() -> None:
    one = Sample("1", "sums", (), {"answer": "3"}, Path())
    assert ("answer" in one, "call" in one, one.get("answer"), one.get("call"), one.get("call", [])) == (
        True,
        False,
        "3",
        None,
        [],
    )


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
    assert task.oracle
    reply = task.oracle(sample(task), ChatRequest((), case=CaseKey("sums", "one", 1, turn)), one_call=one_call)
    assert (reply.text or [call.name for call in reply.tool_calls]) == expected
    assert all(call == ToolCall("add", '{"a": 1}') for call in reply.tool_calls)


@pytest.mark.parametrize("replies", [3, [{"name": "add"}], [[]]])
def test_gold_that_is_no_reply_is_told(data: str, replies) -> None:
    task = short_task(gold(replies), "sums", data=data)
    assert task.oracle
    with pytest.raises(Fault, match=r"oracle of sums replies .*; a reply is a text, a call with name"):
        task.oracle(sample(task), ChatRequest((), case=CaseKey("sums", "one")))


def test_what_a_class_does_not_have_the_task_has_not(data: str, tmp_path: Path) -> None:
    plain = short_task(Sums, "sums", data=data)
    assert (plain.oracle, plain.published, plain.configured) == (None, None, None)
    assert (plain.dialects, plain.options, plain.shown.benchmark) == (("native",), (), "sums")
    assert plain.shown.severity == "normal"
    assert short_task(type("Safe", (Sums,), {"severity": "blocker"}), "safe", data=data).shown.severity == "blocker"
    (tmp_path / "rows.json").write_text('[{"model": "m", "B": 1}]')
    metrics = {"A": "mean passed", "B": "mean right"}
    shown = short_task(Sums, "sums", data=data, published=str(tmp_path / "rows.json"), metrics=metrics, title="Sums")
    assert shown.published and shown.published.rows == [{"edition": "published", "model": "m", "B": 1}]
    assert (shown.shown.published, shown.shown.columns, shown.shown.benchmark) == (("B",), ("A", "B"), "Sums")


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
    assert task.configured
    levels = [task.configured({"--sums-level": level, "--user-model": "same"}) for level in ("hard", "easy")]
    assert [run(one, ChatReply())[0] for one in levels] == [{"value": "hard"}, {"value": "easy"}]


def test_the_class_of_a_task_is_found(data: str) -> None:
    assert author_of(short_task(Sums, "sums", data=data)) is Sums
    assert author_of(TOY) is None


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
        (
            with_attributes(score=later),
            r"score of the benchmark sums must not be async; write def score\(self",
        ),
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


# -- A benchmark of one file as its author runs it.


SUMS = """
from agentgauge import Score, benchmark


@benchmark("sums", data="sums.jsonl", metrics={"Accuracy": "mean right"}, published="published.json", tags=["level"])
class Sums:
    async def run(self, case):
        return await case.ask(case.sample["question"])

    def score(self, sample, answer):
        right = answer.text.strip() == sample["answer"]
        return Score(right, {"right": right}, explanation=f"expected {sample['answer']}, got {answer.text}")

    def oracle(self, sample):
        return sample["answer"]
"""
SAMPLES = [
    {"id": "one", "question": "What is 1 + 2?", "answer": "3", "level": "easy"},
    {"id": "two", "question": "What is 20 + 22?", "answer": "42", "level": "hard"},
]


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("sums")
    (folder / "sums.py").write_text(SUMS)
    (folder / "sums.jsonl").write_text("\n".join(map(json.dumps, SAMPLES)))
    (folder / "published.json").write_text('[{"model": "an abacus", "Accuracy": 97.5}]')
    return Project(folder)


def test_it_runs_is_resumed_and_scored_again(sums: Project) -> None:
    # what speaks no dialect is the same in all of them
    words = ("sums.py", "--model=oracle", "--dialect=react", "--run-dir=first", "-n", "2", "-k", "easy")
    first = sums.run(*words, data="mini")
    assert first.status == 0 and "sums: 1 planned · 1 passed" in first.output
    done = sums.run("sums.py", "--model=oracle", "--run-dir=run", data="mini")
    assert done.status == 0 and "sums: 2 cases, all data in" in done.output
    assert sums.run("sums.py", "--resume=run", data="auto").status == 0
    again = sums.run("sums.py", "--rescore=run", "--run-dir=again", "-n", "2", data="auto")
    assert again.status == 0
    tasks = [without_times(summary(sums.path / name)["tasks"]["sums"]) for name in ("run", "again")]
    assert tasks[0] == tasks[1] and tasks[0]["metrics"]["Accuracy"]["value"] == 100
    for words in (("report", "run", "--table", "md"), ("compare", "run", "again")):
        shown = agentgauge("--tasks", "sums.py", *words, cwd=sums.path)
        assert shown.status == 0 and "Accuracy" in shown.output, shown.output
        untold = agentgauge(*words, cwd=sums.path)
        assert untold.status == 4 and "agentgauge --tasks sums.py COMMAND" in untold.output
    if "formats" in PLUGINS:
        tables = agentgauge("--tasks", "sums.py", "report", "run", "--format", "csv", "--output", "out", cwd=sums.path)
        assert tables.status == 0 and "sums.Accuracy," in (sums.path / "out" / "metrics.csv").read_text(), tables.output
    board = (sums.path / "run" / "leaderboard.md").read_text()
    assert "| an abacus | 97.50 |" in board and "Not comparable" not in board


def agentgauge(*words: str, cwd: Path) -> Result:
    return python("-m", "agentgauge.cli.main", *words, cwd=cwd)


def test_without_options_it_meets_the_baseline(sums: Project) -> None:
    done = sums.run("sums.py", "--import-mode=importlib", data="mini")
    assert done.status == 0
    assert "sums.py::test_sums[two]" in done.output and "<-" not in done.output
    assert "expected 42, got" in done.output


@pytest.mark.parametrize(
    ("old", "new", "status", "sentence"),
    [
        ("mean right", "right", 4, "ERROR: the metric Accuracy of sums is 'right'; accepted are 'mean VALUE'"),
        ("from agentgauge", "import nowhere\nfrom agentgauge", 2, "No module named 'nowhere'"),
        ("from agentgauge", "import pytest\npytest.importorskip('nowhere')\nfrom agentgauge", 5, "1 skipped"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(sums: Project, tmp_path: Path, old, new, status, sentence) -> None:
    for file in sums.path.glob("*.json*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "sums.py").write_text(SUMS.replace(old, new))
    done = Project(tmp_path).run("sums.py", "--model=oracle", data="mini")
    assert done.status == status and sentence in done.output


@pytest.mark.parametrize(
    ("old", "new", "is_named"),
    [
        ("", "", True),
        ("import Score, benchmark", "import Score, benchmark as made", False),
        ("import Score, benchmark\n\n\n@benchmark", "import Score, benchmark as made\n\n\n@made", True),
        ("from agentgauge import Score, benchmark\n\n\n@", "import agentgauge\n\n\n@agentgauge.", True),
        ("from agentgauge import", "from theirs import  # no agentgauge\\\n", False),
        ("class Sums:", "class Sums", False),
    ],
)
def test_a_file_is_imported_early_only_if_it_holds_a_benchmark(tmp_path: Path, old: str, new: str, is_named) -> None:
    (tmp_path / "sums.py").write_text(SUMS.replace(old, new) if old else SUMS)
    config: Any = SimpleNamespace(
        known_args_namespace=SimpleNamespace(file_or_dir=["sums.py::test_sums", "sums.py", "no.py", "."]),
        invocation_params=SimpleNamespace(dir=tmp_path),
    )
    assert named_files(config) == [tmp_path / "sums.py"] * is_named


def test_it_is_collected_once_in_its_own_file(sums: Project, tmp_path: Path) -> None:
    """Not in a file that imports it, and not again if its file is named twice."""
    for file in sums.path.glob("*.json*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "sums.py").write_text(SUMS)
    (tmp_path / "test_other.py").write_text("import sums\nSums = sums.Sums\ndef test_name(): assert Sums.name\n")
    words = ("--collect-only", "-q", "sums.py", "test_other.py", "--keep-duplicates", "sums.py::test_sums[two]")
    found = [line for line in Project(tmp_path).run(*words, data="mini").output.splitlines() if "::" in line]
    assert sorted(set(found)) == ["sums.py::test_sums[one]", "sums.py::test_sums[two]", "test_other.py::test_name"]
    assert found.count("sums.py::test_sums[one]") == 1


def test_a_test_of_that_name_in_the_file_is_the_author_s_own(sums: Project, tmp_path: Path) -> None:
    for file in sums.path.glob("*.json*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    own = """
from agentgauge import benchmark_task

@benchmark_task("sums")
def test_sums(outcome):
    print("mine")
    outcome.check()
"""
    (tmp_path / "sums.py").write_text(SUMS + own)
    done = Project(tmp_path).run("sums.py", "--model=oracle", "-s", data="mini")
    assert done.status == 0 and done.output.count("mine") == 2


# -- Every sample that a benchmark has is planned, whatever its id is, or the id is refused in one sentence.


SUMS_IDS = """
from pathlib import Path
from agentgauge import Score, benchmark

@benchmark("sums", data="sums.{kind}")
class Sums:
    async def run(self, case):
        case.folder.mkdir(parents=True)
        Path(case.folder, "answer.txt").write_text(case.sample["answer"])
        return await case.ask(case.sample["answer"])

    def score(self, sample, answer):
        return Score(answer.text == sample["answer"])

    def oracle(self, sample):
        return sample["answer"]
"""
ORACLE = ("-q", "sums.py", "--model=oracle")


def write(folder: Path, *ids: str) -> None:
    """A benchmark of one file; each sample has an answer of its own."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "sums.py").write_text(SUMS_IDS.format(kind="jsonl"))
    (folder / "sums.jsonl").write_text(
        "".join(json.dumps({"id": id, "answer": f"answer {number}"}) + "\n" for number, id in enumerate(ids))
    )


def outcomes(folder: Path) -> list[tuple[str, int, str]]:
    return sorted((record["sample"], record["attempt"], record["status"]) for record in records(folder))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "-n"])
def test_attempts_of_samples_with_such_ids_are_all_planned(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    ids = ("x", "x#2", "x#2#2", "x#3")
    write(pytester.path, *ids)
    result = pytester.runpytest_subprocess(*ORACLE, "--attempts=3", "--run-dir=run", *workers)
    assert result.ret == 0
    assert outcomes(pytester.path / "run") == sorted((id, number, "passed") for id in ids for number in (1, 2, 3))
    made = sorted(file.read_text() for file in (pytester.path / "run" / "files").rglob("answer.txt"))
    assert made == sorted(f"answer {number}" for number in range(4) for _ in range(3))
    (pytester.path / "run" / "records.jsonl").write_text("")
    assert pytester.runpytest_subprocess(*ORACLE, "--resume=run").ret == 0
    assert len(outcomes(pytester.path / "run")) == 12


def test_a_test_function_gets_the_name_of_its_case(pytester: pytest.Pytester) -> None:
    write(pytester.path, "x", "x#2")
    (pytester.path / "conftest.py").write_text("from sums import Sums\n")
    pytester.makepyfile(
        """
        from agentgauge.pytest_plugin import benchmark_task

        @benchmark_task("sums")
        def test_name(sample, outcome):
            print("name", repr(sample))
            outcome.check()
        """
    )
    words = ("-p", "no:cacheprovider", "-s", "--model=oracle", "--attempts=2", "--import-mode=prepend")
    result = pytester.runpytest_subprocess(*words, "test_a_test_function_gets_the_name_of_its_case.py")
    names = [line.partition("name ")[2].rstrip(".") for line in result.outlines if "name '" in line]
    assert result.ret == 0 and names == ["'x'", "'x#2'", "'x#2'", "'x#2#2'"]


HALF = r"the id 'b\ud800c' cannot be written everywhere, because it holds half of a character"


@pytest.mark.parametrize(
    ("ids", "said", "data"),
    [
        (("a", "b\ud800c"), HALF, ()),
        (("a", "b\ud800c"), HALF, ("--data=.",)),
        (("a\0",), r"the id 'a\x00' cannot be written everywhere, because it holds a control character", ()),
        (("a\nb",), r"the id 'a\nb' cannot be written everywhere, because it holds a control character", ()),
        (("a\u2028b",), r"the id 'a\u2028b' cannot be written everywhere, because it holds a control character", ()),
        (("a", ""), "sample 2 has the blank id ''; give it another", ()),
        ((" ",), "sample 1 has the blank id ' '; give it another", ()),
        (("a", "a"), "the id 'a' occurs twice; ids must be unique", ()),
    ],
    ids=["half of a character", "--data", "NUL", "line end", "line separator", "empty", "blank", "twice"],
)
def test_an_id_that_cannot_be_written_is_refused_in_one_sentence(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ids: tuple[str, ...], said: str, data: tuple[str, ...]
) -> None:
    monkeypatch.delenv("CI", raising=False)  # there pytest repeats whole sentences in its summary
    write(pytester.path, *ids)
    result = pytester.runpytest_subprocess(*ORACLE, "--run-dir=run", *data)
    assert result.ret in (2, 4)
    output = result.stdout.str() + result.stderr.str()
    assert output.count(said) == 1
    assert "Traceback" not in output and ".py:" not in output
    assert not (pytester.path / "run" / "records.jsonl").exists()


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_every_kind_of_file_is_checked(pytester: pytest.Pytester, kind: str) -> None:
    write(pytester.path)
    (pytester.path / "sums.py").write_text(SUMS_IDS.format(kind=kind))
    text = {"json": '{"a\\nb": {"answer": "3"}}', "csv": 'id,answer\n"a\nb",3\n'}[kind]
    (pytester.path / f"sums.{kind}").write_text(text)
    result = pytester.runpytest_subprocess(*ORACLE)
    assert result.ret == 2
    assert rf"sums.{kind}: the id 'a\nb' cannot be written everywhere" in result.stdout.str()


def test_long_ids_have_folders_of_their_own(pytester: pytest.Pytester) -> None:
    ids = [f"{'é' * 400}{end}" for end in ("1", "2")] + ["../up", "..", "a/b", "a%2Fb", "é"]
    write(pytester.path, *ids)
    assert pytester.runpytest_subprocess(*ORACLE, "--run-dir=run").ret == 0
    made = sorted(file.read_text() for file in (pytester.path / "run" / "files" / "sums").glob("*/answer.txt"))
    assert made == sorted(f"answer {number}" for number in range(len(ids)))
    (pytester.path / "run" / "records.jsonl").write_text("")
    assert pytester.runpytest_subprocess(*ORACLE, "--resume=run").ret == 0
    assert outcomes(pytester.path / "run") == sorted((id, 1, "passed") for id in ids)


# -- Samples of JSON Lines, JSON and CSV, with gold apart.


ROWS = [{"id": "a", "q": "één", "level": "easy"}, {"id": "b", "q": "two,\nlines", "level": "hard"}]


def files(folder: Path, *names: str, gold: str = "", tags: tuple[str, ...] = (), id: str = "id") -> SampleFiles:
    apart = folder / gold if gold else None
    return SampleFiles("toy", [folder / name for name in names], gold=apart, tags=tags, id=id, whole=True)


def loaded(source: SampleFiles, root: Path) -> dict[str, dict]:
    index = source.index(root)
    return {row.id: dict(source.load(index, row, "toy").payload) for row in index.rows}


def lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.jsonl", lines(*ROWS)),
        ("rows.json", json.dumps(ROWS, indent=2, ensure_ascii=False)),
        ("rows.csv", 'id,q,level\na,één,easy\n\nb,"two,\nlines",hard\n'),
        ("rows.csv", '\ufeffid,q,level\r\na,één,easy\r\nb,"two,\nlines",hard'),
    ],
)
def test_each_kind_gives_the_same_samples(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode())
    source = files(tmp_path, name, tags=("level",))
    assert loaded(source, tmp_path) == {row["id"]: row for row in ROWS}
    assert [row.tags for row in source.index(tmp_path).rows] == [("easy",), ("hard",)]
    assert source.find(tmp_path.parent) is None and source.find(tmp_path) == tmp_path


def test_a_cell_may_be_long_and_hold_any_sign(tmp_path: Path) -> None:
    text = "x" * 140_000 + "\u2028\x0b\x85\r"
    (tmp_path / "rows.csv").write_bytes(f'id,q\na,"{text}"\n'.encode())
    assert loaded(files(tmp_path, "rows.csv"), tmp_path) == {"a": {"id": "a", "q": text}}


def test_ids_are_keys_places_or_another_field(tmp_path: Path) -> None:
    (tmp_path / "object.json").write_text('{"x": {"q": 1}, "y": {"q": 2, "id": "z"}}')
    (tmp_path / "list.json").write_text('[{"q": 1, "name": 7}, {"q": 2, "name": 8}]')
    assert list(loaded(files(tmp_path, "object.json"), tmp_path)) == ["x", "z"]
    assert list(loaded(files(tmp_path, "list.json"), tmp_path)) == ["0", "1"]
    assert list(loaded(files(tmp_path, "list.json", id="name"), tmp_path)) == ["7", "8"]


def test_several_files_are_one_data_set_and_gold_is_a_field(tmp_path: Path) -> None:
    (tmp_path / "first.jsonl").write_text(lines({"q": 1}, {"q": 2}))
    (tmp_path / "more.jsonl").write_text(lines({"q": 3}))
    (tmp_path / "gold.json").write_text('{"2": "three", "0": "one", "1": {"a": 2}}')
    for _ in range(2):
        found = loaded(files(tmp_path, "first.jsonl", "more.jsonl", gold="gold.json"), tmp_path)
        assert [sample["gold"] for sample in found.values()] == ["one", {"a": 2}, "three"]
        found["1"]["gold"].clear()  # a case of its own
    (tmp_path / "gold.json").write_text('{"2": "drei", "0": "eins", "1": "zwei"}')
    found = loaded(files(tmp_path, "first.jsonl", "more.jsonl", gold="gold.json"), tmp_path)
    assert [sample["gold"] for sample in found.values()] == ["eins", "zwei", "drei"]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.jsonl", "[1]\n", "toy: sample 1 is not an object with fields"),
        ("a.jsonl", lines({"id": 1}, {"id": 1}), "the id '1' occurs twice"),
        (
            "a.jsonl",
            '{"id": 1}\n{"id" 2}\n',
            "is damaged in line 2: Expecting ':' delimiter at character 7; correct it, or",
        ),
        ("a.csv", "", "must begin with a line of column names"),
        ("a.csv", "id,id\n", "must begin with a line of column names that differ"),
        ("a.csv", "id,q\na\n", "is damaged after byte 5: a row has 1 instead of 2 cells"),
        ("a.csv", "id,q\ra,b\rc,d\r", "has lines that end in a carriage return alone; save it with"),
        ("a.json", '{"a": {"q": %s}}' % ("1" * 5000), "is damaged: it has a number of more than 4300 digits"),
        ("a.json", '{"a": %s' % ("[" * 90_000), "is damaged: it is nested too deep"),
        ("a.csv", 'id,q\na,"b\n', "is damaged after byte 5: unexpected end of data"),
        ("a.jsonl", lines({"level": {"x": 1}}), "level is .*; a field of keywords has a string or a list of strings"),
    ],
)
def test_damaged_data_is_told(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataProblem, match=sentence):
        files(tmp_path, name, tags=("level",)).index(tmp_path)


def test_gold_is_joined_to_any_sample(tmp_path: Path) -> None:
    """To one without fields, and in the place of a field of that name; from a file of another kind."""
    (tmp_path / "a.json").write_text('[ {} , {"gold": 1, "q": "}"} ]')
    (tmp_path / "gold.csv").write_text('id,answer\n0,"a ""b"""\n1,c\n')
    assert loaded(files(tmp_path, "a.json", gold="gold.csv"), tmp_path) == {
        "0": {"gold": {"id": "0", "answer": 'a "b"'}},
        "1": {"gold": {"id": "1", "answer": "c"}, "q": "}"},
    }


def test_gold_that_is_missing_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines({"id": "a"}, {"id": "b"}))
    (tmp_path / "gold.jsonl").write_text(lines({"id": "a"}))
    with pytest.raises(DataProblem, match=r"gold\.jsonl has no entry for the sample 'b'"):
        files(tmp_path, "a.jsonl", gold="gold.jsonl").index(tmp_path)


def test_files_of_two_kinds_and_elsewhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.jsonl", "b.json", "sub/c.jsonl"):
        (tmp_path / name).write_text("")
    with pytest.raises(UsageProblem, match=r"are of several kinds \(.json, .jsonl\)"):
        files(tmp_path, "a.jsonl", "b.json")
    with pytest.raises(UsageProblem, match=r"must lie in .*sub or below"):
        files(tmp_path, "sub/c.jsonl", "a.jsonl")
