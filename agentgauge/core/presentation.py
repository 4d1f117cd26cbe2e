"""How reports show a task: titles, columns, kinds of failures, tables beyond the published one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from agentgauge.core.types import Json, Score, Scoring

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


# -- Titles, columns, notes, artifacts of a case.


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file or page of a case that reports show."""

    name: str
    path: str = ""  # of a file; may start with RUN_TOKEN or ROOT_TOKEN
    html: str = ""


SEVERITIES = ("blocker", "critical", "normal", "minor", "trivial")
"""How much a wrong case of a task matters, in Allure's words: ``blocker`` for safety, ``critical`` for a task whose
figure stands for the benchmark."""


def nothing(*_: Any) -> tuple[()]:
    """What a task says that has nothing to say."""
    return ()


InWords = Callable[[Mapping[str, Json], Json], str]
"""``(action, observation)``: an action of the gold that is no call, for a person; empty for a call."""


def no_words(action: Mapping[str, Json], observation: Json) -> str:
    """Of a task whose gold has calls only."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """A task's titles, columns and headline figure. ``published`` is by default all columns, ``headline`` the first of
    these."""

    benchmark: str  # "GTA-Atomic": title in reports
    title: str  # "step by step"
    columns: tuple[str, ...]  # metric names in the order of the table
    counts: frozenset[str] = frozenset()  # the figures among these that are counts, not percentages
    published: tuple[str, ...] = ()  # of these, the columns of the published table
    headline: str = ""  # of these, the figure that says how good a model is
    second_headline: str = ""  # of these, a figure that is shown below the headline; "": none
    leaderboard_columns: Mapping[str, str] = field(default_factory=dict)  # column → its name there, where it differs
    skills: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # skill → keywords of the cases that show it; none: all cases
    citation: str = ""  # of the benchmark's paper, as a BibTeX entry
    severity: str = "normal"  # one of SEVERITIES: how much a wrong case matters
    kinds: Mapping[str, str] = field(
        default_factory=dict
    )  # label, or cause of a broken case → its kind, of FAULTS or BREAKS

    passes: str = ""  # what every passed case has done, and what is not judged: a sentence for a case without one
    in_words: InWords = no_words

    notes: Callable[[Mapping[str, Mapping[str, Any]]], Sequence[str]] = nothing
    """``(metrics)``, as in ``summary.json``: notes for a reader of the table, one sentence each."""
    doubts: Callable[[Mapping[str, Any]], Sequence[str]] = nothing
    """``(part)``, the task's part of ``summary.json``: why the figures say less than they seem to, one sentence each,
    shown before all figures: a judge whose replies cannot be read."""
    artifacts: Callable[[Json, Score | None, Scoring], Sequence[Artifact]] = nothing
    """``(output, score, scoring)``: the files and pages of a case that reports show besides its transcript. Paths are
    as in ``output``."""
    category: Callable[[Sequence[str]], str] | None = None
    """``(tags)``: the heading of a case in reports, below the task's title; None or empty: that title."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "published", self.published or self.columns)
        object.__setattr__(self, "headline", self.headline or next(iter(self.published), ""))

    def category_of(self, tags: Sequence[str]) -> str:
        return (self.category(tags) if self.category else "") or self.title


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


# -- Scores that a benchmark makes of several of its tasks.


@dataclass(frozen=True)
class CombinedScores:
    """Of each task of a benchmark: further scores are computed from several of its tasks."""

    combine: Callable[[Mapping[str, float | None]], dict[str, dict[str, dict[str, Any]]]]
    """``(scores)``, the first published column of each task of this benchmark that was run: part → name →
    ``{"value", "missing"}``. A score with missing tasks has no value."""
    headline: str = ""  # what reports call the last of these scores, the headline figure; "": its own name
