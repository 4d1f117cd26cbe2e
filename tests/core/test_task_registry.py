"""A task is validated when it is announced: one sentence says what is missing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator

import pytest

from agentgauge.core.announcement import import_file
from agentgauge.core.capabilities import OwnOptions, TaskOption, presentation_of
from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.task import DataSource, Task
from agentgauge.core.task_registry import announce, announced_in, find_task, known_options, known_tasks
from agentgauge.core.types import Score

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


def test_another_process_needs_the_file_that_announces(tmp_path, monkeypatch) -> None:
    """The innermost module that is being imported; a call from anywhere else is repeated by no import."""
    inner = tmp_path / "inner_announcing.py"
    inner.write_text(INNER)
    (tmp_path / "outer_announcing.py").write_text("import inner_announcing\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("outer_announcing")
    assert announced_in(["least.inner", "wild"]) == [inner]
    announce(made(name="least.one", data=Data(tmp_path)))
    with pytest.raises(UsageProblem, match=r"does not know the task least\.one: call announce\(\) at the top level"):
        announced_in(["least.inner", "least.one"])


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
