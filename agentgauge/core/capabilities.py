"""What a task may offer beyond the required methods: one class a capability, which a task inherits."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, ChatRequest, Message
from agentgauge.core.config import Config
from agentgauge.core.estimate import estimate
from agentgauge.core.index import Index, Row
from agentgauge.core.task import Task
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from agentgauge.core.types import Json, Sample, Score, Scoring

# -- Command line options of a task.


@dataclass(frozen=True, slots=True)
class TaskOption:
    """A command line option of a benchmark. Tasks that share an option use the same object."""

    name: str  # "--wild-language"
    help: str
    accepted: tuple[str, ...] = ()  # the first is the default; none: a switch, or any text where there is a ``default``
    default: str | None = None
    asks: bool = True  # requests to a model depend on it, so that stored transcripts are bound to the value
    model: bool = False  # the value is the name of a model with a role of its own; ``same`` is the tested model
    metavar: str = "NAME"  # what stands for the value in texts, where ``accepted`` does not
    matters: bool = True  # the outcome of a case depends on it
    instead: tuple[str, ...] = ()  # of a model option, values that name no model: the benchmark itself has the role
    requests: float = 0.0  # of a model option: how many of a case's expected requests go to this role
    pictures: bool = False  # of a model option: its model is shown pictures, so one that sees none is refused


SAME = "same"
"""The value of a model option that stands for the tested model."""


def role_option(role: str) -> TaskOption:
    """The option that names the model of a role: ``--user-model`` for ``user``. Tasks with the same role share it."""
    text = f"model with the role {role} in benchmarks that have one (default: {SAME}, the tested model)"
    return TaskOption(f"--{role}-model", text, default=SAME, model=True)


Chosen = Mapping[str, str | bool]
"""Option name to value."""


class OwnOptions(ABC):
    """Capability: the task has command line options."""

    options: tuple[TaskOption, ...]

    def configure(self, chosen: Chosen) -> None:  # noqa: B027 - ``run`` may read the options of a case's models alone
        """Store the values of ``options``. Called first in every process of a run."""

    def check_options(self, root: Path) -> None:  # noqa: B027 - most options fit all data
        """Raise UsageProblem if an option does not fit the data below ``root``. Called before the first request."""


def options_of(task: object) -> tuple[TaskOption, ...]:
    """A task's options; none for a task without this capability."""
    return task.options if isinstance(task, OwnOptions) else ()


# -- Kinds of failures that all benchmarks share; ``Presentation.kinds`` sorts a task's labels and causes.


FAULTS: Mapping[str, str] = {
    "reply_cut": "Reply was cut",
    "wrong_tool": "Wrong tool",
    "wrong_argument": "Wrong argument",
    "missing_call": "Missing call",
    "extra_call": "Extra call",
    "stopped_early": "Stopped early",
    "wrong_answer": "Wrong answer",
    "failed_code": "Code that fails",
    "format": "Unreadable reply",
    "refused": "Refused",
    "partial": "Partly right",
    "other": "Other",
}
"""Kinds of wrong cases with words for a person, in the order of tables."""

BREAKS: Mapping[str, str] = {
    "endpoint": "Model endpoint",
    "agent": "Agent program",
    "tool": "Tool or tool server",
    "judge": "Judge",
    "sandbox": "Sandbox",
    "data": "Data",
    "disk": "Disk or run folder",
    "fixture": "Set-up or teardown of a test",
    "internal": "Internal error",
}
"""Kinds of broken cases. Some benchmarks count such a case as wrong and give it a label."""


def kinds(**labels: str) -> Mapping[str, str]:
    """Label or cause → kind. The argument has kind → its labels and causes, separated by commas."""
    return {label: kind for kind, text in labels.items() for label in text.split(", ")}


# -- How reports show a task: titles, columns, notes, artifacts of a case.


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file or page of a case that reports show."""

    name: str
    path: str = ""  # of a file; may start with RUN_TOKEN or ROOT_TOKEN
    html: str = ""


class Presentation(ABC):
    """Capability: the task has its own titles, columns and headline figure in reports."""

    benchmark: str  # "GTA-Atomic": title in reports
    title: str  # "step by step"
    columns: tuple[str, ...]  # metric names in the order of the table
    counts: frozenset[str] = frozenset()  # the figures among these that are counts, not percentages
    published: tuple[str, ...]  # of these, the columns of the published table
    headline: str = ""  # of these, the figure that says how good a model is; "": the first
    second_headline: str = ""  # of these, a figure that is shown below the headline; "": none
    leaderboard_columns: Mapping[str, str] = {}  # column → its name on the leaderboard; others have the same name there
    skills: Mapping[str, Sequence[str]] = {}  # skill → keywords of the cases that show it; none: all cases
    citation: str = ""  # of the benchmark's paper, as a BibTeX entry
    kinds: Mapping[str, str] = {}  # label, or cause of a broken case → its kind, of FAULTS or BREAKS

    def notes(self, metrics: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
        """Notes for a reader of the table, one sentence each. ``metrics``: as in ``summary.json``."""
        return ()

    def doubts(self, part: Mapping[str, Any]) -> Sequence[str]:
        """Why the figures say less than they seem to, one sentence each, shown before all figures: a judge whose
        replies cannot be read. ``part``: the task's part of ``summary.json``."""
        return ()

    def artifacts(self, output: Json, score: Score | None, scoring: Scoring) -> Sequence[Artifact]:
        """The files and pages of a case that reports show besides its transcript. Paths are as in ``output``."""
        return ()

    def category(self, tags: Sequence[str]) -> str:
        """Heading of a case in reports, below the task's title."""
        return self.title


class _Plain(Presentation):
    """A task under its own name, with all its metrics."""

    def __init__(self, task: Task) -> None:
        self.benchmark = self.title = task.name
        self.columns = self.published = tuple(estimate((), task.metrics("parity")))


def headline_of(task: Task) -> str:
    """The figure that represents the task in the overview, in sorted tables and in scores over several tasks."""
    shown = presentation_of(task)
    return shown.headline or shown.published[0]


@cache
def presentation_of(task: Task) -> Presentation:
    """The task itself where it has this capability, otherwise its name and its metrics."""
    return task if isinstance(task, Presentation) else _Plain(task)


# -- Tables of a task's figures beyond its published columns, as plain data, because reports know no benchmark.


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a breakdown."""

    value: float | None  # per cent, or a count in a column of ``counts``; None: there is nothing to count
    n: int  # what it rests on: the denominator of a share


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A table of figures by row and column."""

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
    """Capability: the task has tables beyond its published one."""

    @abstractmethod
    def breakdowns(self, scores: Sequence[Score], scoring: Scoring) -> Sequence[Breakdown]:
        """Tables for the page and for ``report --table``. ``scores``: one per sample, the attempts averaged."""


# -- Scores that a benchmark makes of several of its tasks.


class CombinedScores(ABC):
    """Capability of each task of a benchmark: further scores are computed from several of its tasks."""

    combined_headline: str = ""  # what reports call the last of these scores, the headline figure; "": its own name

    @abstractmethod
    def combine(self, scores: Mapping[str, float | None]) -> dict[str, dict[str, dict[str, Any]]]:
        """Scores computed from the tasks' first published columns: part → name → ``{"value", "missing"}``.

        ``scores`` has the tasks of this benchmark that were run. A score with missing tasks has no value.
        """


# -- Published tables of figures; each column names the task's figure that is shown in it.


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a published table."""

    key: str  # in the rows
    title: str  # as printed
    part: str = (
        ""  # a task, or a part of what ``CombinedScores.combine`` makes: "domains"; empty: no run has the figure
    )
    name: str = ""  # the task's metric, or a score of that part


@dataclass(frozen=True, slots=True)
class Footnote:
    """What a reader must know about some figures of a published table: that they are inconsistent, and how that is
    known.

    With ``models`` and ``columns`` it belongs to these figures, with one of the two to the names of rows or columns,
    with neither to the whole table. Published figures stay as they are printed.
    """

    text: str
    models: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # keys
    mark: str = ""  # that the publication prints at the figures; empty: reports choose a sign


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A published table."""

    title: str  # unique within the benchmark
    source: str
    date: str  # of publication: year, or year and month
    columns: tuple[Column, ...]  # in the order in which they were printed
    rows: Sequence[Mapping[str, Any]]  # ``{"model": name, key of a column: value or None}``, as printed
    factor: float = 1.0  # of the printed values, to the unit of ours
    footnotes: tuple[Footnote, ...] = ()


def footnotes_of(published: Mapping[str, Any], table: str) -> tuple[Footnote, ...]:
    """The footnotes of a table, from a file of published tables: ``{"footnotes": [{"tables", "note", and perhaps
    "models", "columns", "mark"}]}``.
    """
    listed: Iterable[Mapping[str, Any]] = published["footnotes"]
    return tuple(
        Footnote(one["note"], tuple(one.get("models", ())), tuple(one.get("columns", ())), one.get("mark", ""))
        for one in listed
        if table in one["tables"]
    )


def columns_of(task: str, titles: str) -> tuple[Column, ...]:
    """Columns whose printed name is that of the task's metric: see ``titles_and_keys``."""
    return tuple(Column(key, title, task, title) for title, key in titles_and_keys(titles))


def titles_and_keys(text: str) -> list[tuple[str, str]]:
    """Titles and keys of columns, from ``Title | Title = key``. A key not given is the title in lower case with
    underscores.
    """
    parts = (part.partition(" = ") for part in text.split(" | "))
    return [(title, key or re.sub(r"\W+", "_", title.lower())) for title, _, key in parts]


# -- Published figures of other models, and whether a run is comparable with them.


class PublishedRows(ABC):
    """Capability: the task has published figures, as ``published_rows`` or as ``leaderboards``."""

    published_dialects: tuple[str, ...]  # that they were made with; the first one made most of them

    def published_rows(self) -> list[Mapping[str, Any]]:
        """Published rows: ``{"edition", "model", column: value}``. Reports make a table of each edition."""
        return []

    def leaderboards(self) -> Sequence[Leaderboard]:
        """The benchmark's published tables as they were printed; reports show these instead of ``published_rows``. Each
        task of the benchmark returns the same tables."""
        return ()

    def not_comparable(self, chosen: Chosen) -> Sequence[str]:
        """Reasons why figures of a run with these options are not comparable with published ones, besides the reasons
        that apply to every task."""
        return ()

    def not_official(self, differences: Sequence[str]) -> Sequence[str]:
        """The ``differences`` of the data that make figures not comparable with published ones."""
        return ()


# -- Gold replies, which the embedded model ``oracle`` gives.


class Oracle(ABC):
    """Capability: the task can be run with ``--model=oracle``, the upper bound and a check of the data."""

    @abstractmethod
    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        """Answer a request with the gold: text and native calls, which the server puts into the run's dialect.

        ``one_call``: that dialect allows one call a reply.
        """


# -- Tasks on which an agent program can be tested in the model's place.


@dataclass(frozen=True, slots=True)
class AgentTask:
    """The task of an agent program."""

    messages: Sequence[Message]  # OpenAI's chat form, the last one is the user's
    files: Sequence[Path] = ()  # absolute; the agent may read them where they are
    tools: Mapping[str, Tool] = field(default_factory=dict)  # real tools, which the tool server runs for it
    functions: Sequence[Mapping[str, Any]] = ()  # OpenAI's function tools; they are never run: the answer states calls


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a real tool by an agent program."""

    name: str
    arguments: Json  # the object, or the raw text where it could not be read
    outputs: tuple[ToolOutput, ...] | None  # None: the call failed
    problem: Literal["", "ARGS_ERROR", "API_ERROR"] = ""
    message: str = ""  # why the call failed, in the words that the agent got


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The answer of an agent program."""

    reply: ChatReply  # its text, or the calls of functions that it states; no text: it gave no answer
    uses: tuple[ToolUse, ...] = ()  # its calls of real tools, in order


class Agent(Protocol):
    """Starts the agent program on a task and returns its answer. Raises Fault."""

    async def __call__(self, case: Case, task: AgentTask, /) -> AgentAnswer: ...


class ExternalAgents(ABC):
    """Capability: an agent program can solve the task's samples in the model's place (``--agent``)."""

    @abstractmethod
    async def run_agent(self, case: Case, agent: Agent) -> Json:
        """Solve one sample with an agent. Returns the prediction that ``run`` would, so that ``score`` is the same.

        ``agent`` may be called several times: each call is a new process that knows only its own messages. A Fault is
        not caught here.
        """


# -- Cases that show pictures to a model.


class Pictures(ABC):
    """Capability: some cases show pictures to a model. A model that sees none does not get these cases."""

    without_pictures: frozenset[str] = frozenset()  # the columns whose figures need none of these cases

    @abstractmethod
    def shown_to(self, tags: Sequence[str]) -> str | None:
        """The role whose model is shown the pictures of a case with these keywords: empty for the tested model, else
        the option that names the role's model. None for a case without pictures."""


# -- Files of predictions in the original benchmark's layouts: read and written.


Exporter = Callable[..., list[str]]
"""``(results, folder, *, model, scoring)``: writes predictions below ``folder``, and returns notes for a reader of the
files, one sentence each.

``results``: tuples of a sample, its prediction with the paths of this machine, and the folder of the files that were
made for it.
"""


class PredictionFiles(ABC):
    """Capability: ``agentgauge score`` reads the original's prediction files, ``report --format`` writes them."""

    samples_needed = True  # beside predictions, to score these; False: predictions hold what is needed

    @abstractmethod
    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        """Score the original benchmark's own files: {"metrics": {name: value}, "samples": [...]}."""

    @abstractmethod
    def exporters(self) -> Mapping[str, Exporter]:
        """The functions that write a run in the original's layouts, by the layout's name."""


# -- Texts that a task sends, and that a folder of the user may replace.


class Prompts(ABC):
    """Capability: the task's wording has a version, so that records of two wordings are not mixed."""

    @abstractmethod
    def prompt_version(self, folder: Path | None) -> str:
        """Fingerprint of the texts that are sent; ``folder`` replaces some. Raises UsageProblem for unusable ones."""

    def prompt_note(self, version: str, chosen: Chosen) -> str:
        """What a reader of the figures must know of the wording with this version, one sentence; "": nothing."""
        return ""


def prompt_version(task: object, folder: Path | None) -> str:
    """Fingerprint of a task's texts; ``1`` for a task without this capability."""
    return task.prompt_version(folder) if isinstance(task, Prompts) else "1"


# -- Real tools, which a tool server runs.


class OfferedTools(Protocol):
    """The tools of one call of an agent program."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    @property
    def files(self) -> Mapping[str, Path]:
        """File by the name that the agent's task uses."""

    async def call(self, name: str, arguments: Mapping[str, Any], /) -> Sequence[ToolOutput]:
        """Run a tool on arguments in the types of its inputs. Raises ToolError, ToolFault."""

    def refused(self, name: str, arguments: Mapping[str, Any], reason: str, /) -> None:
        """Log a call that does not reach ``call``."""


class ToolGateway(Protocol):
    """A server on this machine that offers agent programs tools by the Model Context Protocol."""

    url: str
    port: int

    def offer(self, offered: OfferedTools, token: str) -> None:
        """Offer tools to clients that have the token."""

    def close_session(self, token: str) -> None:
        """Refuse the token from now on, and cancel its calls."""

    async def close(self) -> None: ...


class RealTools(ABC):
    """Capability: the task's cases call tools of a tool server with ``case.use``."""

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
        """A client for a tool server."""

    async def gateway(self) -> ToolGateway | None:
        """A new server for agent programs; None where the tools are not offered by that protocol."""
        return None

    def prepare_check(self) -> None:  # noqa: B027 - there may be nothing to load
        """Load the modules that make ``check_tools`` slow, before the selected cases are known."""


# -- Comparing texts by a similarity backend.


class Similarity(ABC):
    """Capability: ``score`` compares texts with a similarity backend, such as ``trigram`` or ``mpnet``."""

    @abstractmethod
    def default_similarity(self, *, official: bool) -> str:
        """The backend where none is configured. ``official``: the data is the user's."""

    @abstractmethod
    def check_similarity(self, similarity: str) -> None:
        """Raises UsageProblem where a backend is unknown or not installed. Cheap: nothing is loaded."""

    @abstractmethod
    def comparable(self, similarity: str) -> bool:
        """Whether scores with this backend are comparable with published ones."""

    def similarity_server(self, similarity: str) -> list[str]:
        """The command of a server that compares texts for all workers, so that no worker loads a model; it prints
        ``{"url": ...}`` when it is ready, and ``score`` is then given ``backend@url``. Empty for a backend that loads
        no model; with any other one ``score`` runs in a thread.
        """
        return []

    def similarity_device(self, similarity: str) -> str:
        """Where that server runs the model, in words for the head of a run; empty for a backend that loads no model."""
        return ""


# -- What a task may have besides the required part of ``Task``: a base class each, which the task's class inherits.
