"""A task is validated when it is announced: one sentence says what is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentgauge.core.capabilities import Presentation, presentation_of
from agentgauge.core.data_source import DataSource
from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.task import Task
from agentgauge.core.task_registry import announce, find_task, known_tasks
from agentgauge.core.types import Score


class Data(DataSource):
    name = "least"
    files = ("least.jsonl",)

    def __init__(self, bundled) -> None:
        self.bundled = bundled

    def index(self, root):
        raise NotImplementedError

    def load(self, index, row, task):
        raise NotImplementedError


class NoFolder(Data):
    def __init__(self) -> None: ...


class Least(Task):
    """Nothing but the required part."""

    async def run(self, case):
        return (await case.ask([])).text

    def score(self, sample, output, scoring, similarity):
        return Score(True, {})

    def metrics(self, scoring):
        return MetricFormula(lambda sums: {"Acc": None, "Calls": sums.get("calls", 0.0)}, {"Acc": ("all",)})


class Shown(Least, Presentation):
    benchmark = "Least"
    title = "shown"
    columns = ("Acc",)
    published = ("Acc",)


def made(kind: type[Task] = Least, **attributes: object) -> Task:
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
        "data", "dialects", "metrics", "name", "run", "runs_code", "score", "scores_in_thread"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (made(), "the task Least lacks data, name; see"),
        (made(name="a", data=NoFolder()), "the task a lacks data.bundled; see"),
        (made(name="a b", data=Data("")), "the task name 'a b' makes no marker"),
        (made(Shown, name="a", data=Data(""), columns=()), "the task a lacks Acc among its columns"),
        (Least, "is no task; announce an object of a class that inherits Task"),
    ],
)
def test_what_is_missing_is_said_at_once(task, sentence) -> None:
    with pytest.raises(UsageProblem, match=sentence):
        announce(task)
    assert "a" not in known_tasks()


def test_a_method_that_is_missing_is_named() -> None:
    class Half(Task):
        async def run(self, case):
            return None

    with pytest.raises(TypeError, match="metrics, score"):
        Half()
