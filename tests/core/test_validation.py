"""A task is looked at when a registry gets it: one sentence says what would fail later, and what would be right. So is
what its ``score`` returns."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.presentation import CombinedScores
from agentgauge.core.published import Column, Footnote, Leaderboard, Published
from agentgauge.core.registry import Registry
from agentgauge.core.task import DataSource, Pictures, PredictionFiles, Prompts, RealTools, Similarity, Task
from agentgauge.core.task_options import TaskOption
from agentgauge.core.types import Score
from agentgauge.core.validation import complete
from agentgauge.run.scoring import checked
from tests.plugin.toy import TOY, ToyData, toy

# -- A task that is complete.


def whole(**changes: object) -> Task:
    """Every part of a task that can be looked at without data, with some replaced."""
    return toy(
        **{
            "options": option(accepted=("good", "bad")),
            "configured": lambda chosen: whole(**changes),
            "check_options": lambda root: None,
            "published": published(rows=[row(Acc=90.5)], leaderboards=lambda: [BOARD]),
            "breakdowns": lambda scores, scoring: (),
            "combined": CombinedScores(lambda scores: {"domains": {"all": {"value": None, "missing": []}}}),
            "prompts": Prompts(lambda folder: "1"),
            "files": files(),
            "similarity": Compared(),
            "pictures": Pictures(lambda tags: None),
            **changes,
        }
    )


class Compared(Similarity):
    def default(self, *, official):
        return "trigram"

    def check(self, similarity):
        pass

    def comparable(self, similarity):
        return True


def source(**attributes: object) -> DataSource:
    return type("Source", (ToyData,), attributes)()


def returns(figures: object) -> MetricFormula:
    return MetricFormula(lambda sums: figures, {})


def published(*dialects: str, **more: object) -> Published:
    return Published(dialects=dialects or ("native",), **more)


def row(**figures: object) -> dict[str, object]:
    return {"edition": "paper", "model": "best", **figures}


def board(*columns: Column, **more: object) -> Leaderboard:
    return Leaderboard("Table 1", "the paper", "2026", columns or (Column("acc", "Acc", TOY.name, "Acc"),), [], **more)


BOARD = board()


def option(name: str = "--mood", text: str = "mood", **more: object) -> tuple[TaskOption, ...]:
    return (TaskOption(name, text, **more),)


def files(score=lambda samples, predictions, *, scoring, similarity: {}, **exporters: object) -> PredictionFiles:
    return PredictionFiles(score, {"toy": lambda results, folder, *, model, scoring: [], **exporters})


async def waits(*arguments):
    return None


def fails(*arguments):
    raise KeyError("right")


@pytest.mark.parametrize("task", [TOY, whole(), whole(presentation=None, published=None)])
def test_a_complete_task_is_accepted(task: Task) -> None:
    assert complete(task) is task


def test_all_installed_tasks_are_complete() -> None:
    names = {*Registry.installed().names}
    assert {"gta_atomic.e2e", "gta_workflow", "wild", "mmau.tool_single", "tests.tools"} <= names


def test_four_functions_and_data_are_enough() -> None:
    least = complete(Task(name="least.one", data=TOY.data, run=TOY.run, score=TOY.score, metrics=TOY.metrics))
    shown = least.shown
    assert (shown.benchmark, shown.title, shown.columns, shown.headline) == ("least.one", "least.one", ("Acc",), "Acc")
    assert (shown.notes({}), shown.artifacts({}, None, "parity"), shown.category_of(("a",))) == ((), (), "least.one")
    assert least.prompt_version(None) == "1"
    with pytest.raises(TypeError, match="missing 2 required keyword-only arguments: 'score' and 'metrics'"):
        Task(name="half", data=TOY.data, run=TOY.run)


# -- One that is not.


ATTRIBUTES = [
    ({"name": None}, "has name None; it must be a string"),
    ({"name": "a b"}, "has a name that cannot be a pytest marker; use letters, digits, underscores and dots"),
    ({"dialects": "native"}, "has dialects 'native'; it must be a tuple of strings"),
    ({"shown": {"title": None}}, "has presentation.title None; it must be a string"),
    ({"shown": {"columns": "Acc"}}, "has presentation.columns 'Acc'; it must be a tuple of strings"),
    ({"data": "toy.jsonl"}, "has data 'toy.jsonl'; it must be an object of a class that inherits DataSource"),
    (
        {"shown": {"severity": "high"}},
        "has presentation.severity 'high'; it must be one of blocker, critical, normal, minor, trivial",
    ),
    ({"data": source(files="x.jsonl")}, "has data.files 'x.jsonl'; it must be a tuple of strings"),
    ({"data": source(bundled="mini")}, "has data.bundled 'mini'; it must be a Path"),
]

PARTS = [
    ({"presentation": {"title": "all"}}, "has presentation {'title': 'all'}; it must be a Presentation"),
    ({"published": ()}, "has published (); it must be a Published"),
    ({"combined": waits}, "it must be a CombinedScores"),
    ({"prompts": "1"}, "has prompts '1'; it must be a Prompts"),
    ({"files": {}}, "has files {}; it must be a PredictionFiles"),
    ({"tools": RealTools}, "has tools <class 'agentgauge.core.task.RealTools'>; it must be a RealTools"),
    ({"similarity": "mpnet"}, "has similarity 'mpnet'; it must be a Similarity"),
    ({"pictures": True}, "has pictures True; it must be a Pictures"),
]

FUNCTIONS = [
    ({"run": lambda case: {}}, "has run without async; write async def run"),
    ({"score": waits}, "has score with async; write def score"),
    ({"score": lambda sample, output: 1}, "it is called as (sample, output, scoring, similarity)"),
    ({"configured": lambda: TOY}, "has configured with other parameters (too many positional arguments)"),
    ({"check_options": lambda: None}, "has check_options with other parameters"),
    ({"breakdowns": lambda scores: ()}, "it is called as (scores, scoring)"),
    ({"oracle": lambda sample, request: 1}, "it is called as (sample, request, one_call=…)"),
    ({"oracle": "gold"}, "has oracle 'gold'; it must be a function"),
    ({"agents": lambda case, agent: {}}, "has agents without async; write async def agents"),
    ({"shown": {"notes": lambda: ()}}, "has presentation.notes with other parameters"),
    ({"shown": {"doubts": lambda: ()}}, "has presentation.doubts with other parameters"),
    ({"shown": {"artifacts": lambda output: ()}}, "has presentation.artifacts with other parameters"),
    ({"shown": {"category": lambda: "all"}}, "has presentation.category with other parameters"),
    ({"published": published(leaderboards=[])}, "has published.leaderboards []; it must be a function"),
    ({"published": published(not_comparable=lambda: ())}, "has published.not_comparable with other parameters"),
    ({"published": published(not_official=lambda: ())}, "has published.not_official with other parameters"),
    ({"combined": CombinedScores(lambda: {})}, "has combined.combine with other parameters"),
    ({"prompts": Prompts(lambda: "1")}, "has prompts.version with other parameters"),
    ({"prompts": Prompts(lambda folder: "1", lambda version: "")}, "has prompts.note with other parameters"),
    ({"files": files(lambda samples, predictions: {})}, "has files.score with other parameters"),
    ({"files": files(toy=lambda results, folder: [])}, "has the exporter toy with other parameters"),
    ({"pictures": Pictures(lambda: None)}, "has pictures.shown_to with other parameters"),
    ({"data": source(load=lambda self, row: 1)}, "has data.load with other parameters"),
    (
        {"similarity": type("S", (Compared,), {"comparable": lambda self: True})()},
        "has similarity.comparable with other parameters",
    ),
]

FIGURES = [
    ({"metrics": fails}, "fails at metrics('parity'), before any case: KeyError: 'right'"),
    ({"metrics": lambda scoring: {}}, "has metrics that return {}; return a MetricFormula"),
    (
        {"metrics": lambda scoring: MetricFormula(fails, {})},
        "fails at its metrics of no sample, before any case: KeyError: 'right'",
    ),
    ({"metrics": lambda scoring: returns({})}, "has metrics that return {} for no samples; return figures by name"),
    ({"metrics": lambda scoring: returns({"F1": 1.0})}, "publishes Acc, which its metrics do not compute"),
    (
        {"metrics": lambda scoring: MetricFormula(lambda sums: {"Acc": None}, {"acc": ("all",)})},
        "has rests_on or scale for acc, which is not a figure; figures are Acc",
    ),
    ({"shown": {"headline": "Other"}}, "has the headline Other, which it does not publish"),
    ({"shown": {"second_headline": "Other"}}, "has the headline Other, which it does not publish"),
    ({"shown": {"columns": ()}}, "publishes no column; its headline is one of ``published``"),
    ({"shown": {"columns": (), "published": ("Acc",)}}, "lacks Acc among its columns; add them to ``columns``"),
    ({"shown": {"counts": frozenset({"Calls"})}}, "lacks Calls among its columns"),
    ({"shown": {"leaderboard_columns": {"Accuracy": "Acc"}}}, "lacks Accuracy among its columns"),
    ({"shown": {"kinds": {"lost": "bad luck"}}}, "has labels of the kinds bad luck; kinds are reply_cut, wrong_tool"),
    ({"shown": {"skills": {"reading": "odd"}}}, "has the skill reading of 'odd'; it must be a tuple of keywords"),
]

PUBLISHED = [
    ({"published": Published(dialects=())}, "has no published.dialects"),
    ({"published": published("native", "qwen")}, "has published.dialects qwen, which it does not support"),
    ({"published": published(rows=[{"model": "best"}])}, "has a published row without edition: {"),
    (
        {"published": published(rows=[row(F1=1)])},
        "has a published row of best with F1, which is not a published column",
    ),
    ({"published": published(rows=[row(Acc="90")])}, "has a published row of best with Acc '90'; it must be a number"),
    ({"published": published(leaderboards=fails)}, "fails at published.leaderboards(), before any case: KeyError"),
    (
        {"published": published(leaderboards=lambda: [board(Column("f1", "F1", TOY.name, "F1"))])},
        "has a leaderboard 'Table 1' with F1, which is none of its columns",
    ),
    (
        {"published": published(leaderboards=lambda: [board(footnotes=(Footnote("?", models=("none",)),))])},
        "has a leaderboard 'Table 1' with a footnote to none, which it does not have",
    ),
]

OPTIONS = [
    ({"options": option()[0]}, "it must be a tuple of TaskOption"),
    ({"options": option("mood")}, "has an option 'mood'; write it as --some-name"),
    ({"options": option(text=" ")}, "has the option --mood without help"),
    ({"options": option(accepted=("good",), default="good")}, "with ``accepted`` and ``default``"),
    ({"options": option(model=True)}, "has the option --mood of a model without ``default``"),
]

OTHERS = [
    (
        {"combined": CombinedScores(lambda scores: {"all": {"x": 1.0}})},
        "returns the combined score all: x 1.0; return",
    ),
    ({"breakdowns": fails}, "fails at breakdowns((), \"parity\"), before any case: KeyError: 'right'"),
]


@pytest.mark.parametrize(
    ("changes", "sentence"), [*ATTRIBUTES, *PARTS, *FUNCTIONS, *FIGURES, *PUBLISHED, *OPTIONS, *OTHERS]
)
def test_what_would_fail_later_is_told_at_once(changes, sentence) -> None:
    with pytest.raises(UsageProblem, match=re.escape(sentence)) as told:
        complete(toy(**changes))
    assert str(told.value).startswith("the task ")
    assert str(told.value).endswith("; see docs/adding-a-benchmark.md")


def test_what_a_data_source_lacks_is_named() -> None:
    class NoFolder(DataSource):
        name = "no_folder"
        files = ()
        index = load = None

    with pytest.raises(UsageProblem, match=r"the task toy\.say lacks data\.bundled; see"):
        complete(toy(data=NoFolder()))


@pytest.mark.parametrize("other", [Task, SimpleNamespace(name="toy.say"), Path("toy.py")])
def test_anything_else_is_no_task(other) -> None:
    with pytest.raises(UsageProblem, match=r"is not a task; announce an agentgauge\.Task"):
        complete(other)


# -- What a task's ``score`` returns is looked at, since figures are made of it when all requests are paid for.


def test_a_score_is_passed_on() -> None:
    assert checked(TOY, score := Score(True, {"right": True, "all": 1}, ("late",))) is score


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (None, "toy.say: score returned None; return a Score"),
        ({"right": 1.0}, "toy.say: score returned {'right': 1.0}; return a Score"),
        (
            Score(True, {"right": float("nan")}),
            "returned a Score with right nan among its values; these are numbers up to",
        ),
        (Score(True, {"right": 1e300}), "returned a Score with right 1e+300 among its values; these are numbers up to"),
        (Score(True, {"right": "yes"}), "returned a Score with right 'yes' among its values; these are numbers"),
        (Score(True, [("right", 1.0)]), "returned a Score whose values are not a mapping"),
        (Score(False, {}, "wrong_tool"), "or whose labels are not a tuple of texts"),
    ],
)
def test_anything_else_breaks_the_case(returned, sentence) -> None:
    with pytest.raises(Fault, match=re.escape(sentence)):
        checked(TOY, returned)
