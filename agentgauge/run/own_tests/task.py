"""A project's own tests that use the fixtures of AgentGauge, as a task: each leaves a record like a benchmark's case.

pytest runs them, so ``run`` is never called. Their samples are the run's plan, and have no data but their name.
"""

from __future__ import annotations

from pathlib import Path

from agentgauge.core.capabilities import Presentation, kinds
from agentgauge.core.case import Case
from agentgauge.core.estimate import MetricFormula, Values
from agentgauge.core.index import Index, Row
from agentgauge.core.task import DataSource, Task
from agentgauge.core.types import Json, Sample, Score, Scoring
from agentgauge.store import RunFolder


class OwnTestsData(DataSource):
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


class OwnTests(Task, Presentation):
    """A record's ``output`` is ``{"passed": bool, "explanation": str, "labels": [str]}``."""

    name = "tests"
    data = OwnTestsData(name)
    benchmark = "Own tests"
    title = "tests"
    columns = ("Passed",)
    published = ("Passed",)
    kinds = kinds(fixture="error in setup, error in teardown")

    async def run(self, case: Case) -> Json:
        raise NotImplementedError("pytest runs the tests of a project")

    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        passed = bool(output and output["passed"])
        explanation, labels = (output["explanation"], tuple(output["labels"])) if output else ("", ())
        return Score(passed, {"passed": float(passed), "all": 1.0}, labels, explanation)

    def metrics(self, scoring: Scoring) -> MetricFormula:
        return MetricFormula(_figures, {})  # without an interval: a project's tests are no sample of others


def _figures(sums: Values) -> dict[str, float | None]:
    return {"Passed": 100 * sums["passed"] / sums["all"] if sums.get("all") else None}


TASKS = (OwnTests(),)
