"""A task is looked at when it is announced: one sentence says what would fail later, and what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentgauge.core.capabilities import (
    Breakdowns,
    CombinedScores,
    Oracle,
    OwnOptions,
    PredictionFiles,
    Presentation,
    PublishedRows,
    TaskOption,
)
from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.task import DataSource, Task
from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Score
from agentgauge.core.validation import complete


class Data(DataSource):
    name = "whole"
    files = ("whole.jsonl",)
    bundled = Path("whole")

    def index(self, root):
        raise NotImplementedError

    def load(self, index, row, task):
        raise NotImplementedError


LEADERBOARD = {"Acc": "Accuracy"}


class NoFolder(DataSource):
    name = "no_folder"
    files = ()
    index = load = None


class Whole(
    Task, Presentation, PublishedRows, OwnOptions, CombinedScores, PredictionFiles, Breakdowns, Oracle
):  # every capability whose parts can be looked at without data
    name = "whole"
    data = Data()
    benchmark = "Whole"
    title = "all of it"
    columns = ("Acc", "Calls")
    counts = frozenset({"Calls"})
    published = ("Acc",)
    leaderboard_columns = LEADERBOARD
    published_dialects = ("native",)
    options = (TaskOption("--whole-mood", "good or bad (default: good)", ("good", "bad")),)

    async def run(self, case):
        return (await case.ask([])).text

    def score(self, sample, output, scoring, similarity):
        return Score(True, {})

    def metrics(self, scoring):
        return MetricFormula(lambda sums: {"Acc": None, "Calls": sums.get("calls", 0.0)}, {"Acc": ("all",)})

    def published_rows(self):
        return [{"edition": "paper", "model": "best", "Accuracy": 90.5}]

    def combine(self, scores):
        return {"domains": {"all": {"value": None, "missing": []}}}

    def score_files(self, samples, predictions, *, scoring, similarity):
        return {}

    def exporters(self):
        return {"whole": lambda results, folder, *, model, scoring: []}

    def breakdowns(self, scores, scoring):
        return ()

    def oracle(self, sample, request, *, one_call=False):
        raise NotImplementedError


def made(**attributes: object) -> Task:
    """A whole task, with some of its attributes replaced."""
    return type("Made", (Whole,), {"__module__": __name__, **attributes})()


async def waits(self, *arguments):
    return None


def fails(*arguments):
    raise KeyError("right")


def raising(formula):
    return lambda self, scoring: MetricFormula(formula)


def row(**figures: object):
    return lambda self: [{"edition": "paper", "model": "best", **figures}]


def option(name: str = "--mood", text: str = "mood", **more: object) -> tuple[TaskOption, ...]:
    return (TaskOption(name, text, **more),)


def test_a_whole_task_is_accepted() -> None:
    assert complete(task := made()) is task
    for each in known_tasks().values():
        complete(each)


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        # attributes
        ({"data": NoFolder()}, "lacks data.bundled"),
        ({"data": "whole.jsonl"}, "has data 'whole.jsonl'; it must be an object of a class that inherits DataSource"),
        ({"name": "a b"}, "has a name that cannot be a pytest marker; use letters, digits, underscores and dots"),
        ({"title": None}, "has title None; it must be a text"),
        ({"dialects": "native"}, "has dialects 'native'; it must be a tuple of texts"),
        ({"data": type("D", (Data,), {"files": "x.jsonl"})()}, "has data.files 'x.jsonl'; it must be a tuple of texts"),
        ({"data": type("D", (Data,), {"bundled": "mini"})()}, "has data.bundled 'mini'; it must be a Path"),
        # methods
        ({"run": lambda self, case: {}}, "has run without async; write async def run"),
        ({"score": waits}, "has score with async; write def score"),
        ({"score": lambda self, sample, output: 1}, "it is called as (sample, output, scoring, similarity)"),
        ({"oracle": lambda self, sample, request: 1}, "it is called as (sample, request, one_call=…)"),
        ({"oracle": "gold"}, "has oracle 'gold'; it must be a function"),
        ({"category": lambda self: "all"}, "has category with other parameters (too many positional arguments)"),
        ({"data": type("D", (Data,), {"load": lambda self, row: 1})()}, "has data.load with other parameters"),
        ({"exporters": lambda self: {"x": lambda results, folder: []}}, "has the exporter x with other parameters"),
        # figures
        ({"metrics": fails}, "fails at metrics('parity'), before any case: KeyError: 'right'"),
        ({"metrics": lambda self, scoring: {}}, "has metrics that return {}; return a MetricFormula"),
        ({"metrics": raising(fails)}, "fails at its metrics of no sample, before any case: KeyError: 'right'"),
        ({"metrics": raising(lambda sums: {})}, "has metrics that return {} for no samples; return figures by name"),
        ({"metrics": raising(lambda sums: {"F1": 1.0})}, "publishes Acc, which its metrics do not compute"),
        (
            {"metrics": lambda self, scoring: MetricFormula(lambda sums: {"Acc": None}, {"acc": ("all",)})},
            "has rests_on or scale for acc, which is not a figure; figures are Acc",
        ),
        ({"headline": "Other"}, "has the headline Other, which it does not publish"),
        ({"second_headline": "Other"}, "has the headline Other, which it does not publish"),
        ({"published": ()}, "publishes no column; its headline is one of ``published``"),
        ({"columns": ()}, "lacks Acc, Calls among its columns; add them to ``columns``"),
        ({"leaderboard_columns": {"Accuracy": "Acc"}}, "lacks Accuracy among its columns"),
        # published rows
        ({"published_dialects": ()}, "has no published_dialects"),
        ({"published_dialects": ("native", "qwen")}, "has published_dialects qwen, which it does not support"),
        ({"published_rows": fails}, "fails at published_rows(), before any case: KeyError: 'right'"),
        ({"published_rows": lambda self: [{"model": "best"}]}, "has a published row without edition: {"),
        ({"published_rows": row(Acc=1)}, "has a published row of best with Acc, which is not a published column"),
        ({"published_rows": row(Accuracy="90")}, "has a published row of best with Accuracy '90'; it must be a number"),
        # options
        ({"options": option()[0]}, "it must be a tuple of TaskOption"),
        ({"options": option("mood")}, "has an option 'mood'; write it as --some-name"),
        ({"options": option(text=" ")}, "has the option --mood without help"),
        ({"options": option(accepted=("good",), default="good")}, "with ``accepted`` and ``default``"),
        ({"options": option(model=True)}, "has the option --mood of a model without ``default``"),
        # the rest
        ({"combine": lambda self, scores: {"all": {"x": 1.0}}}, "returns the combined score all: x 1.0; return"),
        ({"breakdowns": fails}, "fails at breakdowns((), \"parity\"), before any case: KeyError: 'right'"),
    ],
)  # fmt: skip
def test_what_would_fail_later_is_told_at_once(attributes, sentence) -> None:
    with pytest.raises(UsageProblem, match=re.escape(sentence)) as told:
        complete(made(**attributes))
    assert str(told.value).startswith("the task ")
    assert str(told.value).endswith("; see docs/adding-a-benchmark.md")


def test_a_class_is_no_task() -> None:
    with pytest.raises(UsageProblem, match="is not a task; announce an object of a class that inherits Task"):
        complete(Whole)
