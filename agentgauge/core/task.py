"""A task: where its data lies, how a sample is run and scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from agentgauge.core.case import Case
from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.index import Index, Row
from agentgauge.core.types import Json, Sample, Score, Scoring

# -- Where the data of a task lies, and how it is read.


class DataSource(ABC):
    """A data set in its official layout, and a bundled one in the same layout."""

    name: str  # folder name of the official data below a data folder: "gta_atomic"
    folders: tuple[str, ...] = ()  # further such names: those that the original's archives and repositories unpack to
    files: tuple[str, ...]  # files that must lie there, relative: ("dataset.json", "toolmeta.json")
    bundled: Path  # folder of the bundled data set
    in_run_folder = False  # the samples come into being with a run, and lie in its folder
    group = "group"  # what a group of samples is called: "session"
    whole = False  # the bundled data set is the official one, and no small one in its place

    def find(self, folder: Path) -> Path | None:
        """The first of the candidate folders that has the data. None if none has."""
        return next((root for root in self.candidate_folders(folder) if self.is_in(root)), None)

    def candidate_folders(self, folder: Path) -> list[Path]:
        """``folder`` itself, its folder ``name`` or one of ``folders``, and one of ``folders`` within each of these."""
        first = [folder, *(folder / name for name in (self.name, *self.folders))]
        return list(dict.fromkeys([*first, *(root / name for root in first[1:] for name in self.folders)]))

    def is_in(self, root: Path) -> bool:
        """Whether the data lies directly in this folder."""
        return all((root / file).is_file() for file in self.files)

    @abstractmethod
    def index(self, root: Path) -> Index:
        """List the samples below ``root``. Raises DataProblem when they are missing or damaged."""

    @abstractmethod
    def load(self, index: Index, row: Row, task: str) -> Sample:
        """Read one sample, for the task of that name."""

    def group_of(self, row: Row) -> str:
        """The group of samples that must run on one machine, such as a session; a single sample's group is its id.

        Figures over groups (``MetricFormula.join``) count a group only if all of its samples in the data set are there;
        for these the name is that of ``Score.group``.
        """
        return row.id

    def labels_of(self, row: Row) -> Sequence[str]:
        """The labels whose shares ``--limit`` keeps, the primary one first; by default the first keyword alone."""
        return row.tags[:1]

    def differences(self, root: Path) -> Sequence[str]:
        """How the layout below ``root`` differs from the official one; one sentence each. The data is read anyway."""
        return self.index(root).differences

    def left_out(self, root: Path) -> Sequence[str]:
        """The samples below ``root`` that an option leaves out, with the reason; one sentence each."""
        return ()

    def check(self, folder: Path) -> tuple[list[str], list[str]]:
        """The problems of the data in ``folder``, and its oddities that are no problems; one sentence each.

        Raises UsageProblem where there is none, DataProblem where nothing can be read.
        """
        root = self.find(folder)
        if root is None:
            raise UsageProblem(f"{folder} holds no data of {self.name}; looked for {', '.join(self.files)}")
        return [], [f"{root}: {text}" for text in self.differences(root)]


# -- The interface of every task of a benchmark: a name, data, ``run``, ``score`` and metrics.
#
# Everything else is a capability: a base class in ``agentgauge.core.capabilities``, which the task's class inherits
# besides ``Task``. Code that needs a capability checks ``isinstance(task, RealTools)``.


class Task(ABC):
    """A task of a benchmark. The result of every method depends only on its arguments and the task's options."""

    name: str  # "gta_atomic.step"
    data: DataSource
    dialects: tuple[str, ...] = ("native",)  # that ``run`` speaks; others change nothing of what it sends and reads
    runs_code = False  # programs that a model wrote, in the sandbox
    scores_in_thread = False  # ``score`` may take longer than some milliseconds, and other cases must not wait for it
    expected_requests: float = 1.0  # of a case, on average: what balances shards, the same on any machine

    @abstractmethod
    async def run(self, case: Case) -> Json:
        """Solve one sample and return the benchmark's own prediction. A Fault is not caught here."""

    @abstractmethod
    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        """Score a prediction whose paths start with ROOT_TOKEN.

        ``output`` is None for a broken case, which counts as in the original.

        ``similarity``: the similarity backend; empty for a task without the capability ``Similarity``.
        """

    @abstractmethod
    def metrics(self, scoring: Scoring) -> MetricFormula:
        """The formula that computes the table's metrics from sums of the samples' values, in the order of the
        columns.
        """
