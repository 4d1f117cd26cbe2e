"""What a benchmark has to say to the harness: one ``Task`` per task name.

Tasks are announced under the entry point group ``agentgauge.tasks``; the harness itself knows no benchmark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from agentgauge.core.breakdown import Breakdown
from agentgauge.core.capabilities.own_options import Chosen, TaskOption
from agentgauge.core.capabilities.prediction_files import Exporter
from agentgauge.core.capabilities.presentation import Exhibit
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.config import Config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import Recipe, estimate
from agentgauge.core.index import Index, Row
from agentgauge.core.tools import ToolBox
from agentgauge.core.types import Json, Metric, Sample, Score, Scoring


class Task(ABC):
    """A task of a benchmark. Every method is a function of its arguments and of what ``configure`` was given."""

    name: ClassVar[str]  # "gta_atomic.step"
    benchmark: ClassVar[str]  # "GTA-Atomic": title in reports
    title: ClassVar[str]  # "step by step"
    data_set: ClassVar[str]  # folder name of the official data below a data folder: "gta_atomic"
    folders: ClassVar[
        tuple[str, ...]
    ] = ()  # further such names: those that the original's archives and repositories unpack to
    data_files: ClassVar[tuple[str, ...]]  # files that must lie there, relative: ("dataset.json", "toolmeta.json")
    mini: ClassVar[Path]  # the bundled data set
    columns: ClassVar[tuple[str, ...]]  # metric names in the order of the table
    counts: ClassVar[frozenset[str]] = frozenset()  # of these, those that count something and are no percentages
    published: ClassVar[tuple[str, ...]]  # of these, the columns of the published table
    board: ClassVar[
        Mapping[str, str]
    ] = {}  # column → its name on the leaderboard, where tasks of a benchmark have the same columns
    published_dialect: ClassVar[str]  # that published rows were made with
    published_too: ClassVar[tuple[str, ...]] = ()  # further ones: a model family's rows in its own
    dialects: ClassVar[tuple[str, ...]] = ("native", "react")
    needs_tools: ClassVar[bool] = False  # real tools, that is a tool server
    runs_code: ClassVar[bool] = False  # programs that a model wrote, in the sandbox
    samples_needed: ClassVar[bool] = True  # beside predictions, to score these; False: they hold what is needed
    options: ClassVar[tuple[TaskOption, ...]] = ()
    exported_as: ClassVar[str | None] = None  # name of the original's prediction layout that ``export`` writes

    def configure(self, chosen: Chosen) -> None:  # noqa: B027 - most tasks have no options
        """Take over the values of ``options``. Comes before anything else in every process of a run."""

    def find(self, folder: Path) -> Path | None:
        """Where this task's data lies, the first of ``places`` that has it. None if none has."""
        return next(
            (root for root in self.places(folder) if all((root / file).is_file() for file in self.data_files)), None
        )

    def places(self, folder: Path) -> list[Path]:
        """``folder`` itself, its folder ``data_set`` or one of ``folders``, and one of ``folders`` within each of
        these."""
        first = [folder, *(folder / name for name in (self.data_set, *self.folders))]
        return list(dict.fromkeys([*first, *(root / name for root in first[1:] for name in self.folders)]))

    @abstractmethod
    def index(self, root: Path) -> Index:
        """List the samples below ``root``. Raises DataProblem when they are missing or damaged."""

    def differences(self, root: Path) -> Sequence[str]:
        """How the layout of the data below ``root`` differs from the official one; one sentence each. It is read all
        the same."""
        return self.index(root).differences

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
    def recipe(self, scoring: Scoring) -> Recipe:
        """How the table's row comes from sums of the samples' values: name → figure, in the order of ``columns``."""

    def metrics(self, scores: Sequence[Score], scoring: Scoring) -> dict[str, Metric]:
        """The table's row, with intervals. ``scores``: one per sample, the attempts averaged."""
        return estimate(scores, self.recipe(scoring))

    def breakdowns(self, scores: Sequence[Score], scoring: Scoring) -> Sequence[Breakdown]:
        """Tables of further figures, for the page and ``report --table``. ``scores``: as for ``metrics``."""
        return ()

    @abstractmethod
    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        """Answer a request with the gold: text and native calls, which the server puts into the run's dialect.

        ``one_call``: that dialect has room for one call a reply.
        """

    @abstractmethod
    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        """Score the original benchmark's own files: {"metrics": {name: value}, "samples": [...]}."""

    def export(
        self, results: Iterable[tuple[Sample, Json, Path]], folder: Path, *, model: str, scoring: Scoring
    ) -> list[str]:
        """Write predictions as the original benchmark's own files below ``folder``. Returns what a reader must know of
        them.

        ``results``: samples, predictions with the paths of this machine, and folders of the files that were made for
        them.
        """
        raise UsageProblem(f"{self.name} has no layout of its own to export to")

    def exporters(self) -> Mapping[str, Exporter]:
        """What writes a run in each layout that this task has, by the layout's name: its own one, and any further
        ones."""
        return {self.exported_as: self.export} if self.exported_as else {}

    @abstractmethod
    def prompt_version(self, folder: Path | None) -> str:
        """Fingerprint of the texts that are sent; ``folder`` replaces some. Raises UsageProblem for unusable ones."""

    def not_comparable(self, chosen: Chosen) -> Sequence[str]:
        """Reasons, besides those that hold for every task, why figures of a run with these options may not stand
        beside published ones."""
        return ()

    def not_official(self, differences: Sequence[str]) -> Sequence[str]:
        """Of the data's ``differences`` those for which figures may not stand beside published ones."""
        return ()

    def left_out(self, root: Path) -> Sequence[str]:
        """Which samples below ``root`` an option leaves out, and why; one sentence each."""
        return ()

    def check_data(self, folder: Path) -> tuple[list[str], list[str]]:
        """What is wrong with the data in ``folder``, and what is merely strange about it; one sentence each.

        Raises UsageProblem where there is none, DataProblem where nothing can be read.
        """
        root = self.find(folder)
        if root is None:
            raise UsageProblem(f"{folder} holds no data of {self.name}; looked for {', '.join(self.data_files)}")
        return [], [f"{root}: {text}" for text in self.differences(root)]

    def default_similarity(self, *, official: bool) -> str:
        """The similarity backend where none is configured; empty for a task that uses none. ``official``: the data
        is the user's."""
        return ""

    def check_options(self, root: Path) -> None:  # noqa: B027 - most options fit all data
        """Raises UsageProblem where an option does not go with the data below ``root``. Comes before the first
        request."""

    def check_similarity(self, similarity: str) -> None:  # noqa: B027 - nothing to check where none is used
        """Raises UsageProblem where a similarity backend is unknown or not installed. Cheap: nothing is loaded."""

    def scores_slowly(self, similarity: str) -> bool:
        """Whether ``score`` may take longer than some milliseconds: it then runs in a thread, and others do not wait
        for it."""
        return False

    def similarity_server(self, similarity: str) -> list[str]:
        """The command of a server that compares texts for all workers, so that each need not load a model; it prints
        ``{"url": ...}`` when it is ready, and ``score`` is then given ``backend@url``. Empty where none is worth it.
        """
        return []

    def comparable(self, similarity: str) -> bool:
        """Whether scores with this similarity backend may stand beside published ones."""
        return True

    # -- real tools; only asked where ``needs_tools``

    def tools_of(self, index: Index, row: Row) -> tuple[str, ...]:
        """Names of the real tools that a sample offers."""
        return ()

    def check_tools(
        self, names: Sequence[str], config: Config, *, scoring: Scoring, allow_unsafe: bool, server: str | None
    ) -> Mapping[str, Mapping[str, Json]]:
        """What identifies each tool of the run's own server, or of ``server``: its ``state`` (ready, basic, disabled,
        ``substitute: what``) and whatever else may change its answers. Empty where a server does not tell.

        Raises ToolUnavailable, and UsageProblem where a tool runs a model's code and this machine cannot confine it.
        """
        raise UsageProblem(f"{self.name} uses no tools")

    def get_ready(self) -> None:  # noqa: B027 - it may take no time
        """Load what ``check_tools`` takes its time for, while others are at work and it is not yet known which cases
        run."""

    def tool_server(self, config: Config, *, scoring: Scoring, allow_unsafe: bool) -> list[str]:
        """The command that starts a tool server. It listens on the socket of
        ``agentgauge.core.service_process.given_listener``, and prints that address as ``{"url": ...}`` when it is ready."""
        raise UsageProblem(f"{self.name} uses no tools")

    def toolbox(self, url: str) -> ToolBox:
        """A client for a tool server."""
        raise UsageProblem(f"{self.name} uses no tools")

    def combine(self, scores: Mapping[str, float | None]) -> dict[str, dict[str, dict[str, Any]]]:
        """What the benchmark makes of several tasks' first published columns: part → name → ``{"value", "missing"}``.

        ``scores`` has the tasks of this benchmark that were run. A score with missing tasks has no value.
        """
        return {}

    def remarks(self, metrics: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
        """What a reader of the table must know, one sentence each. ``metrics``: as in ``summary.json``."""
        return ()

    def exhibits(self, output: Json, score: Score | None, scoring: Scoring) -> Sequence[Exhibit]:
        """What a person should see of a case in reports, besides its transcript. Paths as in ``output``."""
        return ()

    def story(self, tags: Sequence[str]) -> str:
        """Heading of a case in reports, below the task's title: its category."""
        return self.title

    def reference_rows(self) -> list[Mapping[str, Any]]:
        """Published rows: {"edition", "model", column: value}."""
        return []
