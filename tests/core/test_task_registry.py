"""Tasks as they are announced: checks, the registry, and the public names."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import agentgauge
from agentgauge.core.announcement import import_file
from agentgauge.core.capabilities import (
    Breakdowns,
    CombinedScores,
    Oracle,
    OwnOptions,
    PredictionFiles,
    Presentation,
    PublishedRows,
    TaskOption,
    presentation_of,
)
from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.task import DataSource, Task
from agentgauge.core.task_registry import announce, find_task, known_options, known_tasks
from agentgauge.core.types import Score
from agentgauge.core.validation import complete
from agentgauge.run.solve import checked
from tests.docs.pages import ROOT
from tests.plugin.toy import Toy

# -- A task is validated when it is announced: one sentence says what is missing.


INNER = """
from pathlib import Path
from agentgauge import announce
from tests.core.test_task_registry import Data, made
announce(made(name="least.inner", data=Data(Path(__file__))))
"""


class Data(DataSource):
    name = "least"
    files = ("least.jsonl",)

    def __init__(self, bundled) -> None:
        self.bundled = bundled

    def index(self, root):
        raise NotImplementedError

    def load(self, index, row, task):
        raise NotImplementedError


class Least(Task):
    """Nothing but the required part."""

    async def run(self, case):
        return (await case.ask([])).text

    def score(self, sample, output, scoring, similarity):
        return Score(True, {})

    def metrics(self, scoring):
        return MetricFormula(lambda sums: {"Acc": None, "Calls": sums.get("calls", 0.0)}, {"Acc": ("all",)})


def made(kind: Callable[[], Task] = Least, **attributes: object) -> Task:
    task = kind()
    vars(task).update(attributes)
    return task


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = dict(known_tasks())
    yield
    known_tasks().clear()
    known_tasks().update(before)


def test_the_required_part_is_enough(tmp_path) -> None:
    announce(made(name="least.one", data=Data(tmp_path)))
    shown = presentation_of(find_task("least.one"))
    assert (shown.benchmark, shown.title, shown.columns) == ("least.one", "least.one", ("Acc", "Calls"))
    assert (shown.notes({}), shown.artifacts({}, None, "parity"), shown.category(("a",))) == ((), (), "least.one")


def test_the_required_part_is_small() -> None:
    assert sorted(name for name in vars(Task) | Task.__annotations__ if not name.startswith("_")) == [
        "data", "dialects", "expected_requests", "metrics", "name", "run", "runs_code", "score", "scores_in_thread"
    ]  # fmt: skip


class Optional(Least, OwnOptions):
    def __init__(self, *options: TaskOption) -> None:
        self.options = options


def test_an_option_means_one_thing(tmp_path) -> None:
    """Two tasks may share it; another's, or one that every run has, is refused when options are asked for."""
    mood = TaskOption("--least-mood", "good or bad (default: good)", ("good", "bad"))
    one = made(name="least.one", data=Data(tmp_path), kind=lambda: Optional(mood))
    announce(one, made(name="least.two", data=Data(tmp_path), kind=lambda: Optional(mood)))
    assert known_options()["--least-mood"] is mood
    with pytest.raises(UsageProblem, match=r"the task least\.one has an option --least-mood, which every run has"):
        known_options(reserved=("--least-mood",))
    other = TaskOption("--least-mood", "calm or not (default: calm)", ("calm", "not"))
    announce(made(name="least.two", data=Data(tmp_path), kind=lambda: Optional(other)))
    with pytest.raises(UsageProblem, match=r"--least-mood is an option of the tasks least\.one and least\.two, which"):
        known_options()


def test_a_method_that_is_missing_is_named() -> None:
    class Half(Task):
        async def run(self, case):
            return None

    with pytest.raises(TypeError, match="metrics, score"):
        Half()


def test_a_file_is_imported_by_its_name_on_the_path_else_alone(tmp_path, monkeypatch) -> None:
    (tmp_path / "loose" / "deep").mkdir(parents=True)
    (tmp_path / "loose" / "deep" / "tasks_of_ours.py").write_text("from . import beside_it\n")
    (tmp_path / "loose" / "deep" / "beside_it.py").write_text("")
    (tmp_path / "loose" / "alone-1.py").write_text("from dataclasses import dataclass\n@dataclass\nclass One: ...\n")
    import_file(tmp_path / "loose" / "alone-1.py")
    with pytest.raises(UsageProblem, match=r"tasks_of_ours.py announces tasks and cannot be imported .*ImportError"):
        import_file(tmp_path / "loose" / "deep" / "tasks_of_ours.py")
    monkeypatch.syspath_prepend(tmp_path)
    import_file(tmp_path / "loose" / "deep" / "tasks_of_ours.py")
    assert "loose.deep.beside_it" in sys.modules
    (tmp_path / "loose" / "fails-1.py").write_text("1 / 0\n")
    with pytest.raises(UsageProblem, match="ZeroDivisionError"):
        import_file(tmp_path / "loose" / "fails-1.py")
    assert "fails-1" not in sys.modules  # so that the next import fails as well
    with pytest.raises(UsageProblem, match="is not a Python file; name one"):
        import_file(tmp_path / "absent.py")


# -- A task is looked at when it is announced: one sentence says what would fail later, and what would be right.


class BadData(DataSource):
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
    data = BadData()
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


def made_validation(**attributes: object) -> Task:
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
    assert complete(task := made_validation()) is task
    for each in known_tasks().values():
        complete(each)


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        # attributes
        ({"data": NoFolder()}, "lacks data.bundled"),
        ({"data": "whole.jsonl"}, "has data 'whole.jsonl'; it must be an object of a class that inherits DataSource"),
        ({"name": "a b"}, "has a name that cannot be a pytest marker; use letters, digits, underscores and dots"),
        ({"title": None}, "has title None; it must be a string"),
        ({"dialects": "native"}, "has dialects 'native'; it must be a tuple of strings"),
        (
            {"data": type("D", (BadData,), {"files": "x.jsonl"})()},
            "has data.files 'x.jsonl'; it must be a tuple of strings",
        ),
        ({"data": type("D", (BadData,), {"bundled": "mini"})()}, "has data.bundled 'mini'; it must be a Path"),
        # methods
        ({"run": lambda self, case: {}}, "has run without async; write async def run"),
        ({"score": waits}, "has score with async; write def score"),
        ({"score": lambda self, sample, output: 1}, "it is called as (sample, output, scoring, similarity)"),
        ({"oracle": lambda self, sample, request: 1}, "it is called as (sample, request, one_call=…)"),
        ({"oracle": "gold"}, "has oracle 'gold'; it must be a function"),
        ({"category": lambda self: "all"}, "has category with other parameters (too many positional arguments)"),
        ({"data": type("D", (BadData,), {"load": lambda self, row: 1})()}, "has data.load with other parameters"),
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
        complete(made_validation(**attributes))
    assert str(told.value).startswith("the task ")
    assert str(told.value).endswith("; see docs/adding-a-benchmark.md")


def test_a_class_is_no_task() -> None:
    with pytest.raises(UsageProblem, match="is not a task; announce an object of a class that inherits Task"):
        complete(Whole)


# -- What a task's ``score`` returns is looked at, since figures are made of it when all requests are paid for.


def test_a_score_is_passed_on() -> None:
    assert checked(Toy(), score := Score(True, {"right": True, "all": 1}, ("late",))) is score


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
        checked(Toy(), returned)


# -- What users import from ``agentgauge``.


NAMES = [
    "Agent",
    "AgentAnswer",
    "AgentTask",
    "Artifact",
    "Breakdown",
    "Breakdowns",
    "Case",
    "Cell",
    "ChatReply",
    "ChatRequest",
    "Column",
    "CombinedScores",
    "Conversation",
    "ConversationCall",
    "DataProblem",
    "DataSource",
    "Entry",
    "ExternalAgents",
    "Fault",
    "Footnote",
    "Index",
    "Leaderboard",
    "MetricFormula",
    "Oracle",
    "Outcome",
    "OwnOptions",
    "Pictures",
    "PredictionFiles",
    "Presentation",
    "Prompts",
    "Provider",
    "PublishedRows",
    "Quirks",
    "ROOT_TOKEN",
    "RUN_TOKEN",
    "RealTools",
    "Row",
    "Sample",
    "SampleFiles",
    "Sampling",
    "Score",
    "Similarity",
    "SimulatedUser",
    "Task",
    "TaskOption",
    "Tool",
    "ToolBox",
    "ToolCall",
    "ToolError",
    "ToolOutput",
    "ToolUse",
    "UsageProblem",
    "announce",
    "benchmark",
    "benchmark_task",
    "build_index",
    "compare",
    "line_entries",
    "list_entries",
    "object_entries",
    "read_run",
    "role_option",
]


def test_the_names_are_these() -> None:
    assert sorted(agentgauge.__all__) == dir(agentgauge) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_there(name: str) -> None:
    assert getattr(agentgauge, name) is not None


def test_an_unknown_name_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Recipe'"):
        agentgauge.Recipe  # noqa: B018


def test_an_import_loads_nothing_else() -> None:
    code = "import sys, agentgauge; print(*[name for name in sys.modules if name.partition('.')[0] == 'agentgauge'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["agentgauge"]


def test_the_classes_load_nothing_heavy() -> None:
    heavy = ("pytest", "openai", "aiohttp", "numpy", "torch", "httpx")
    for_tests = ("benchmark", "benchmark_task", "Outcome")
    names = [name for name in NAMES if name not in for_tests]
    code = f"import sys; from agentgauge import {', '.join(names)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(heavy) & set(done.stdout.split())


def test_nothing_inside_imports_them() -> None:
    """Submodules such as ``from agentgauge import sandbox`` are no names of it."""
    imported = re.compile(r"^ *(?:import agentgauge$|from agentgauge import ([^\n#]+))", re.MULTILINE)
    folders = ("agentgauge", "bench_gta", "bench_mmau", "bench_wild", "bundled_data", "reports", "tool_impls")
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        if "new_benchmark" in path.parts:
            continue  # what `agentgauge new` writes is a user's
        for found in imported.finditer(path.read_text(encoding="utf-8")):
            assert found[1] and not set(re.findall(r"\w+", found[1])) & set(NAMES), f"{path}: {found[0]}"
