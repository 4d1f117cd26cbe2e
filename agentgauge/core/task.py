"""A task: where its data lies, how a sample is run and scored, and what else it offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agentgauge.core.agents import Agent, ToolGateway
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply
from agentgauge.core.config import Config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula, estimate
from agentgauge.core.index import Index, Row
from agentgauge.core.presentation import Breakdown, CombinedScores, Presentation
from agentgauge.core.published import Published
from agentgauge.core.task_options import Chosen, TaskOption
from agentgauge.core.tools import ToolBox
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


# -- The optional parts of a task.


def _no_note(version: str, chosen: Chosen) -> str:
    return ""


@dataclass(frozen=True)
class Prompts:
    """The task's wording has a version, so that records of two wordings are not mixed."""

    version: Callable[[Path | None], str]
    """``(folder)``: fingerprint of the texts that are sent; ``folder`` replaces some. Raises UsageProblem for unusable
    ones."""
    note: Callable[[str, Chosen], str] = _no_note
    """``(version, chosen)``: what a reader of the figures must know of this wording, one sentence; "": nothing."""


@dataclass(frozen=True)
class Pictures:
    """Some cases show pictures to a model. A model that sees none does not get these cases."""

    shown_to: Callable[[Sequence[str]], str | None]
    """``(tags)``: the role whose model is shown the pictures of a case with these keywords: empty for the tested model,
    else the option that names the role's model. None for a case without pictures."""
    without: frozenset[str] = frozenset()  # the columns whose figures need none of these cases


Exporter = Callable[..., list[str]]
"""``(results, folder, *, model, scoring)``: writes predictions below ``folder``, and returns notes for a reader of the
files, one sentence each.

``results``: tuples of a sample, its prediction with the paths of this machine, and the folder of the files that were
made for it.
"""


@dataclass(frozen=True)
class PredictionFiles:
    """``agentgauge score`` reads the original's prediction files, ``report --format`` writes them."""

    score: Callable[..., Mapping[str, Any]]
    """``(samples, predictions, *, scoring, similarity)``, two paths: scores the original benchmark's own files:
    ``{"metrics": {name: value}, "samples": [...]}``."""
    exporters: Mapping[str, Exporter]  # layout's name → function that writes a run in it
    samples_needed: bool = True  # beside predictions, to score these; False: predictions hold what is needed


class RealTools(ABC):
    """The task's cases call tools of a tool server with ``case.use``."""

    @abstractmethod
    def tools_of(self, index: Index, row: Row) -> tuple[str, ...]:
        """Names of the real tools that a sample offers."""

    @abstractmethod
    def check_tools(
        self, names: Sequence[str], config: Config, *, scoring: Scoring, allow_unsafe: bool, server: str | None
    ) -> Mapping[str, Mapping[str, Json]]:
        """The identity of each tool of the run's own server, or of ``server``: its ``state`` (ready, basic, disabled,
        ``substitute: what``) and everything else that may change its answers. Empty if the server does not report it.

        Raises ToolUnavailable, and UsageProblem if a tool runs a model's code and this machine cannot confine it.
        """

    @abstractmethod
    def tool_server(self, config: Config, *, scoring: Scoring, allow_unsafe: bool) -> list[str]:
        """The command that starts a tool server. It listens on the socket of
        ``agentgauge.core.processes.given_listener``, and prints that address as ``{"url": ...}`` when ready."""

    @abstractmethod
    def toolbox(self, url: str) -> ToolBox:
        """A client for a tool server, whose address may hold the server's token: ``http://:TOKEN@host:port``; else
        the environment holds it."""

    async def gateway(self) -> ToolGateway | None:
        """A new server for agent programs; None where the tools are not offered by that protocol."""
        return None

    def prepare_check(self) -> None:  # noqa: B027 - there may be nothing to load
        """Load the modules that make ``check_tools`` slow, before the selected cases are known."""


class Similarity(ABC):
    """``score`` compares texts with a similarity backend, such as ``trigram`` or ``mpnet``."""

    @abstractmethod
    def default(self, *, official: bool) -> str:
        """The backend where none is configured. ``official``: the data is the user's."""

    @abstractmethod
    def check(self, similarity: str) -> None:
        """Raises UsageProblem where a backend is unknown or not installed. Cheap: nothing is loaded."""

    @abstractmethod
    def comparable(self, similarity: str) -> bool:
        """Whether scores with this backend are comparable with published ones."""

    def server(self, similarity: str) -> list[str]:
        """The command of a server that compares texts for all workers, so that no worker loads a model; it prints
        ``{"url": ...}`` when it is ready, and ``score`` is then given ``backend@url``. Empty for a backend that loads
        no model; with any other one ``score`` runs in a thread.
        """
        return []

    def device(self, similarity: str) -> str:
        """Where that server runs the model, in words for the head of a run; empty for a backend that loads no model."""
        return ""


# -- The task itself.


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """A task of a benchmark: a name, data, ``run``, ``score``, ``metrics``; and the parts that it has. The result of
    every function depends only on its arguments."""

    name: str  # "gta_atomic.step"
    data: DataSource

    run: Callable[[Case], Awaitable[Json]]
    """``async (case)``: solves one sample and returns the benchmark's own prediction. A Fault is not caught here."""
    score: Callable[[Sample, Json | None, Scoring, str], Score]
    """``(sample, output, scoring, similarity)``: scores a prediction whose paths start with ROOT_TOKEN. ``output`` is
    None for a broken case, which counts as in the original. ``similarity``: the backend; empty for a task without the
    part of that name."""
    metrics: Callable[[Scoring], MetricFormula]
    """``(scoring)``: the formula that computes the table's metrics from sums of the samples' values, in the order of
    the columns."""

    dialects: tuple[str, ...] = ("native",)  # that ``run`` speaks; others change nothing of what it sends and reads
    runs_code: bool = False  # programs that a model wrote, in the sandbox
    scores_in_thread: bool = False  # ``score`` may take longer than some milliseconds: other cases must not wait for it
    expected_requests: float = 1.0  # of a case, on average: what balances shards, the same on any machine

    options: tuple[TaskOption, ...] = ()  # of the command line
    configured: Callable[[Chosen], Task] | None = None
    """``(chosen)``: the same task with these values of its options; None where it has none."""
    chosen: Chosen | None = None
    """The values of its options that it was made with: they count where a run names none. None: it was made for no
    values, and a run makes it anew with the defaults or with those that it names."""
    check_options: Callable[[Path], None] | None = None
    """``(root)``: raises UsageProblem if an option does not fit the data below ``root``. Called before the first
    request."""

    presentation: Presentation | None = None  # None: its name and its metrics
    published: Published | None = None  # figures of other models
    breakdowns: Callable[[Sequence[Score], Scoring], Sequence[Breakdown]] | None = None
    """``(scores, scoring)``: tables beyond the published one, for the page and for ``report --table``. ``scores``: one
    per sample, the attempts averaged."""
    combined: CombinedScores | None = None  # scores over several tasks of the benchmark
    prompts: Prompts | None = None  # texts of its own
    files: PredictionFiles | None = None  # the original benchmark's
    oracle: Callable[..., ChatReply] | None = None
    """``(sample, request, *, one_call)``: answers a request with the gold, for ``--model=oracle``, the upper bound and
    a check of the data: text and native calls, which the server puts into the run's dialect. ``one_call``: that dialect
    allows one call a reply."""
    tools: RealTools | None = None
    similarity: Similarity | None = None
    pictures: Pictures | None = None
    agents: Callable[[Case, Agent], Awaitable[Json]] | None = None
    """``async (case, agent)``: solves one sample with an agent program in the model's place (``--agent``), and returns
    the prediction that ``run`` would, so that ``score`` is the same. ``agent`` may be called several times: each call
    is a new process that knows only its own messages. A Fault is not caught here."""

    @cached_property
    def shown(self) -> Presentation:
        """Its presentation, or else its name and its metrics."""
        columns = () if self.presentation else tuple(estimate((), self.metrics("parity")))
        return self.presentation or Presentation(benchmark=self.name, title=self.name, columns=columns)

    def prompt_version(self, folder: Path | None) -> str:
        """Fingerprint of its texts; ``1`` for a task without texts of its own."""
        return self.prompts.version(folder) if self.prompts else "1"


def leading(tasks: Sequence[Task]) -> Task:
    """The first task whose headline is not its first published column, else the first."""
    return next((task for task in tasks if task.shown.headline != task.shown.published[0]), tasks[0])
