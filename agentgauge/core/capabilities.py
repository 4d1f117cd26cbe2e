"""What a task may have besides the required part of ``Task``: a base class each, which the task's class inherits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.config import Config
from agentgauge.core.estimate import estimate
from agentgauge.core.index import Index, Row
from agentgauge.core.task import Task
from agentgauge.core.tools import ToolBox
from agentgauge.core.types import Json, Sample, Score, Scoring


@dataclass(frozen=True, slots=True)
class TaskOption:
    """A command line option that a benchmark brings along. Tasks may share one: it is then the same object."""

    name: str  # "--wild-language"
    help: str
    accepted: tuple[str, ...] = ()  # the first is the default; none: a switch, or any text where there is a ``default``
    default: str | None = None
    asks: bool = True  # requests to a model depend on it, so that stored transcripts are bound to the value
    model: bool = False  # the value is the name of a model with a role of its own; ``same`` is the tested model
    metavar: str = "NAME"  # what stands for the value in texts, where ``accepted`` does not
    matters: bool = True  # the outcome of a case depends on it
    instead: tuple[str, ...] = ()  # of a model option, values that name no model: the benchmark itself has the role


SAME = "same"
"""The value of a model option that stands for the tested model."""


Chosen = Mapping[str, str | bool]
"""Option name to value."""


class OwnOptions(ABC):
    """For a task with command line options of its own."""

    options: tuple[TaskOption, ...]

    def configure(self, chosen: Chosen) -> None:  # noqa: B027 - ``run`` may read the options of a case's models alone
        """Take over the values of ``options``. Comes before anything else in every process of a run."""

    def check_options(self, root: Path) -> None:  # noqa: B027 - most options fit all data
        """Raises UsageProblem where an option does not go with the data below ``root``. Comes before the first
        request."""


def options_of(task: object) -> tuple[TaskOption, ...]:
    """A task's options; none for a task without this capability."""
    return task.options if isinstance(task, OwnOptions) else ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something that reports show of a case: a file, or a page that stands for the case itself."""

    name: str
    path: str = ""  # of a file; may start with RUN_TOKEN or ROOT_TOKEN
    html: str = ""


class Presentation(ABC):
    """For a task that reports show under titles of its own."""

    benchmark: str  # "GTA-Atomic": title in reports
    title: str  # "step by step"
    columns: tuple[str, ...]  # metric names in the order of the table
    counts: frozenset[str] = frozenset()  # of these, those that count something and are no percentages
    published: tuple[str, ...]  # of these, the columns of the published table; the first is the task's headline
    leaderboard_columns: Mapping[str, str] = {}  # column → its name on the leaderboard; others have the same name there

    def notes(self, metrics: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
        """What a reader of the table must know, one sentence each. ``metrics``: as in ``summary.json``."""
        return ()

    def artifacts(self, output: Json, score: Score | None, scoring: Scoring) -> Sequence[Artifact]:
        """What a person should see of a case in reports, besides its transcript. Paths as in ``output``."""
        return ()

    def category(self, tags: Sequence[str]) -> str:
        """Heading of a case in reports, below the task's title."""
        return self.title


class _Plain(Presentation):
    """A task under its own name, with all its metrics."""

    def __init__(self, task: Task) -> None:
        self.benchmark = self.title = task.name
        self.columns = self.published = tuple(estimate((), task.metrics("parity")))


@cache
def presentation_of(task: Task) -> Presentation:
    """The task itself where it has this capability, otherwise its name and its metrics."""
    return task if isinstance(task, Presentation) else _Plain(task)


@dataclass(frozen=True, slots=True)
class Cell:
    value: float | None  # per cent, or a count in a column of ``counts``; None: there is nothing to count
    n: int  # what it rests on: the denominator of a share


@dataclass(frozen=True, slots=True)
class Breakdown:
    title: str  # unique within the task
    what: str  # heading of the column that names the rows: "action type"
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[Cell, ...]]  # name → one cell for each column, in the order in which they are shown
    counts: tuple[str, ...] = ()  # columns that count something and are no percentages
    heat: bool = False  # whether reports colour the cells by their value
    note: str = ""  # what a reader must know: what a value is, what n counts

    def to_json(self) -> dict[str, Json]:
        """For ``summary.json``: ``rows`` is a list of ``{"name", "cells": [{"value", "n"}]}``."""
        return {
            "title": self.title,
            "what": self.what,
            "columns": list(self.columns),
            "rows": [{"name": name, "cells": [asdict(cell) for cell in cells]} for name, cells in self.rows.items()],
            "counts": list(self.counts),
            "heat": self.heat,
            "note": self.note,
        }


class Breakdowns(ABC):
    """For a task with tables beyond its published one."""

    @abstractmethod
    def breakdowns(self, scores: Sequence[Score], scoring: Scoring) -> Sequence[Breakdown]:
        """Tables for the page and for ``report --table``. ``scores``: one per sample, the attempts averaged."""


class CombinedScores(ABC):
    """For each task of a benchmark whose tasks are combined to further scores."""

    @abstractmethod
    def combine(self, scores: Mapping[str, float | None]) -> dict[str, dict[str, dict[str, Any]]]:
        """What the benchmark makes of its tasks' first published columns: part → name → ``{"value", "missing"}``.

        ``scores`` has the tasks of this benchmark that were run. A score with missing tasks has no value.
        """


class Oracle(ABC):
    """For a task that can be run with ``--model=oracle``: the upper bound, and a check of the data."""

    @abstractmethod
    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        """Answer a request with the gold: text and native calls, which the server puts into the run's dialect.

        ``one_call``: that dialect has room for one call a reply.
        """


Exporter = Callable[..., list[str]]
"""``(results, folder, *, model, scoring)``: writes predictions below ``folder``, and returns what a reader must know of
the files, one sentence each.

``results``: tuples of a sample, its prediction with the paths of this machine, and the folder of the files that were
made for it.
"""


class PredictionFiles(ABC):
    """For a task whose original has prediction files: ``agentgauge score`` reads, ``report --format`` writes them."""

    samples_needed = True  # beside predictions, to score these; False: predictions hold what is needed

    @abstractmethod
    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        """Score the original benchmark's own files: {"metrics": {name: value}, "samples": [...]}."""

    @abstractmethod
    def exporters(self) -> Mapping[str, Exporter]:
        """What writes a run in each layout that the task has, by the layout's name."""


class Prompts(ABC):
    """For a task whose wording is versioned, so that records of two wordings are not mixed."""

    @abstractmethod
    def prompt_version(self, folder: Path | None) -> str:
        """Fingerprint of the texts that are sent; ``folder`` replaces some. Raises UsageProblem for unusable ones."""


def prompt_version(task: object, folder: Path | None) -> str:
    """Fingerprint of a task's texts; ``1`` for a task without this capability."""
    return task.prompt_version(folder) if isinstance(task, Prompts) else "1"


class PublishedRows(ABC):
    """For a task with published figures."""

    published_dialects: tuple[str, ...]  # that they were made with; the first one made most of them

    @abstractmethod
    def published_rows(self) -> list[Mapping[str, Any]]:
        """{"edition", "model", column: value}."""

    def not_comparable(self, chosen: Chosen) -> Sequence[str]:
        """Reasons, besides those that hold for every task, why figures of a run with these options may not stand
        beside published ones."""
        return ()

    def not_official(self, differences: Sequence[str]) -> Sequence[str]:
        """Of the data's ``differences`` those for which figures may not stand beside published ones."""
        return ()


class RealTools(ABC):
    """For a task whose cases call tools of a tool server with ``case.use``."""

    @abstractmethod
    def tools_of(self, index: Index, row: Row) -> tuple[str, ...]:
        """Names of the real tools that a sample offers."""

    @abstractmethod
    def check_tools(
        self, names: Sequence[str], config: Config, *, scoring: Scoring, allow_unsafe: bool, server: str | None
    ) -> Mapping[str, Mapping[str, Json]]:
        """What identifies each tool of the run's own server, or of ``server``: its ``state`` (ready, basic, disabled,
        ``substitute: what``) and whatever else may change its answers. Empty where a server does not say.

        Raises ToolUnavailable, and UsageProblem where a tool runs a model's code and this machine cannot confine it.
        """

    @abstractmethod
    def tool_server(self, config: Config, *, scoring: Scoring, allow_unsafe: bool) -> list[str]:
        """The command that starts a tool server. It listens on the socket of
        ``agentgauge.core.service_process.given_listener``, and prints that address as ``{"url": ...}`` when ready."""

    @abstractmethod
    def toolbox(self, url: str) -> ToolBox:
        """A client for a tool server."""

    def prepare_check(self) -> None:  # noqa: B027 - there may be nothing to load
        """Load what ``check_tools`` takes its time for, before it is known which cases run."""


class Similarity(ABC):
    """For a task whose ``score`` compares texts; a backend is a name such as ``trigram`` or ``mpnet``."""

    @abstractmethod
    def default_similarity(self, *, official: bool) -> str:
        """The backend where none is configured. ``official``: the data is the user's."""

    @abstractmethod
    def check_similarity(self, similarity: str) -> None:
        """Raises UsageProblem where a backend is unknown or not installed. Cheap: nothing is loaded."""

    @abstractmethod
    def comparable(self, similarity: str) -> bool:
        """Whether scores with this backend may stand beside published ones."""

    def similarity_server(self, similarity: str) -> list[str]:
        """The command of a server that compares texts for all workers, so that no worker loads a model; it prints
        ``{"url": ...}`` when it is ready, and ``score`` is then given ``backend@url``. Empty for a backend that loads
        no model; with any other one ``score`` runs in a thread.
        """
        return []
