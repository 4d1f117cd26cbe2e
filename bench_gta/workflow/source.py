"""Where the data of GTA-Workflow lies, how it is read, and which leaves the embedded judge can judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.index import Entry, Index, Row
from agentgauge.core.task import DataSource
from agentgauge.core.types import Sample
from bench_gta.tools import WORKFLOW_CATEGORIES
from bench_gta.workflow import data, rules
from bench_gta.workflow.judge import check_of
from bench_gta.workflow.tree import Node, leaves, parse


class WorkflowData(DataSource):
    name = "gta_workflow"
    folders = ("gta_dataset_v2",)
    files = (data.DATASET, data.TOOLMETA)
    bundled = Path(__file__).with_name("mini")

    def index(self, root: Path) -> Index:
        return data.index(root)

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return data.load(index, row, task)

    def labels_of(self, row: Row) -> Sequence[str]:
        """The category of the task, then those of its tools."""
        category = next((tag for tag in row.tags if tag in data.CATEGORIES_OF_TASKS.values()), "other")
        return [category, *(tag for tag in WORKFLOW_CATEGORIES if tag in row.tags)]

    def check(self, folder: Path) -> tuple[list[str], list[str]]:
        problems, odd = super().check(folder)
        root = self.find(folder)
        assert root is not None
        for entry in data.entries(root / data.DATASET):
            for node in _leaves(entry):
                try:
                    if "check" in node.raw:
                        rules.validate(node.raw["check"])
                except DataProblem as problem:
                    problems.append(f"{root / data.DATASET}: task {entry.key!r}, leaf {node.id!r}: {problem}")
        return problems, [*odd, *data.strange(root)]


def require_conditions(root: Path) -> None:
    """The embedded judge needs conditions at every leaf, and official data has none. Raises UsageProblem."""
    for entry in data.entries(root / data.DATASET):
        for node in _leaves(entry):
            try:
                rules.validate(check_of(node))
            except DataProblem as problem:
                raise UsageProblem(f"{root / data.DATASET}: task {entry.key!r}, leaf {node.id!r}: {problem}") from None


def _leaves(entry: Entry) -> list[Node]:
    return leaves(parse(entry.value.get("sub_tasks", [])))
