"""Tests of a project as a task: each leaves a record like a benchmark's case.

pytest runs them, so ``run`` is never called. Their samples are the run's plan, and have no data but their name.
"""

from __future__ import annotations

from pathlib import Path

from agentgauge.core.case import Case
from agentgauge.core.estimate import MetricFormula, Values
from agentgauge.core.index import Index, Row
from agentgauge.core.presentation import Presentation, kinds
from agentgauge.core.task import DataSource, RealTools, Task
from agentgauge.core.types import Json, Sample, Score, Scoring
from agentgauge.store import RunFolder


class PlannedTests(DataSource):
    name = "tests"
    files = ("planned.json",)
    bundled = Path(__file__).parent
    in_run_folder = True

    def __init__(self, task: str) -> None:
        self._task = task

    def index(self, root: Path) -> Index:
        """The tests that the run in ``root`` has planned."""
        folder = RunFolder(root)
        names = [sample for task, sample, _ in folder.plan() if task == self._task] if folder.has_plan else []
        rows = [Row(name, (), position) for position, name in enumerate(names)]
        return Index(root, folder.path / "planned.json", "the tests of the run", tuple(rows))

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return Sample(row.id, task, row.tags, {}, index.root, row.position)


def task_of_tests(name: str, *, title: str, column: str = "Passed", tools: RealTools | None = None) -> Task:
    """A record's ``output`` is ``{"passed": bool, "explanation": str, "labels": [str]}``. ``column``: the figure's name
    on the leaderboard."""
    return Task(
        name=name,
        data=PlannedTests(name),
        run=_run,
        score=_score,
        metrics=_metrics,
        tools=tools,
        presentation=Presentation(
            benchmark="Own tests",
            title=title,
            columns=("Passed",),
            leaderboard_columns={"Passed": column},
            kinds=kinds(fixture="error in setup, error in teardown"),
        ),
    )


async def _run(case: Case) -> Json:
    raise NotImplementedError("pytest runs the tests of a project")


def _score(sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
    passed = bool(output and output["passed"])
    explanation, labels = (output["explanation"], tuple(output["labels"])) if output else ("", ())
    return Score(passed, {"passed": float(passed), "all": 1.0}, labels, explanation)


def _metrics(scoring: Scoring) -> MetricFormula:
    return MetricFormula(_figures, {})  # without an interval: a project's tests are no sample of others


def _figures(sums: Values) -> dict[str, float | None]:
    return {"Passed": 100 * sums["passed"] / sums["all"] if sums.get("all") else None}
