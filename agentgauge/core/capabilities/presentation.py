"""How reports show a task: titles, columns, notes, artifacts of a case."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from agentgauge.core.estimate import estimate
from agentgauge.core.task import Task
from agentgauge.core.types import Json, Score, Scoring


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
