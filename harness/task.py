"""What a benchmark has to say to the harness: one ``Task`` per task name.

Tasks are announced under the entry point group ``agentgauge.tasks``; the harness itself knows no benchmark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar

from harness.case import Case
from harness.data.index import Index, Row
from harness.errors import UsageProblem
from harness.model.types import ChatReply, ChatRequest
from harness.tools import ToolBox
from harness.types import Json, Metric, Sample, Score, Scoring

ENTRY_POINTS = "agentgauge.tasks"


class Task(ABC):
    """A task of a benchmark. Stateless: every method is a function of its arguments."""

    name: ClassVar[str]  # "gta_atomic.step"
    benchmark: ClassVar[str]  # "GTA-Atomic": title in reports
    title: ClassVar[str]  # "step by step"
    data_set: ClassVar[str]  # folder name of the official data below the data folder: "gta_atomic"
    mini: ClassVar[Path]  # the bundled data set
    columns: ClassVar[tuple[str, ...]]  # metric names in the order of the table
    dialects: ClassVar[tuple[str, ...]] = ("native", "react")
    needs_tools: ClassVar[bool] = False  # real tools, that is a tool server

    @abstractmethod
    def index(self, root: Path) -> Index:
        """List the samples below ``root``. Raises DataProblem when they are missing or damaged."""

    @abstractmethod
    def load(self, index: Index, row: Row) -> Sample:
        """Read one sample."""

    @abstractmethod
    async def run(self, case: Case) -> Json:
        """Solve one sample and return the benchmark's own prediction. Lets Fault through."""

    @abstractmethod
    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        """Score a prediction whose paths start with ROOT_TOKEN. None is a broken case, read as the original would."""

    @abstractmethod
    def metrics(self, scores: Sequence[Score], scoring: Scoring) -> dict[str, Metric]:
        """The table's row, with intervals."""

    @abstractmethod
    def oracle(self, sample: Sample, request: ChatRequest) -> ChatReply:
        """Answer a request with the gold, in the dialect of the request."""

    @abstractmethod
    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        """Score the original benchmark's own files: {"metrics": {name: value}, "samples": [...]}."""

    def toolbox(self, url: str) -> ToolBox:
        """A client for the tool server. Only called where ``needs_tools``."""
        raise UsageProblem(f"{self.name} uses no tools")

    def tools_of(self, sample: Sample) -> tuple[str, ...]:
        """Names of the real tools that a sample offers."""
        return ()

    def reference_rows(self) -> list[Mapping[str, Any]]:
        """Published rows: {"model", "source", column: value}."""
        return []


@cache
def known_tasks() -> Mapping[str, Task]:
    """Every announced task by name."""
    tasks: dict[str, Task] = {}
    for point in entry_points(group=ENTRY_POINTS):
        for task in point.load():
            tasks[task.name] = task
    return tasks


def find_task(name: str) -> Task:
    try:
        return known_tasks()[name]
    except KeyError:
        raise UsageProblem(f"there is no task {name!r}; known are {', '.join(sorted(known_tasks())) or 'none (is AgentGauge installed?)'}") from None
