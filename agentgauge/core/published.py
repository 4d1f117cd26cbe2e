"""Published figures of other models, in tables as they were printed, and whether a run is comparable with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.presentation import nothing
from agentgauge.core.task_options import Chosen


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


@dataclass(frozen=True, kw_only=True)
class Published:
    """A task's published figures, as ``rows`` or as ``leaderboards``."""

    dialects: tuple[str, ...]  # that they were made with; the first one made most of them
    rows: Sequence[Mapping[str, Any]] = ()
    """``{"edition", "model", column: value}``. Reports make a table of each edition."""
    leaderboards: Callable[[], Sequence[Leaderboard]] = nothing
    """The benchmark's published tables as they were printed; reports show these instead of ``rows``. Each task of the
    benchmark returns the same tables."""
    not_comparable: Callable[[Chosen], Sequence[str]] = nothing
    """``(chosen)``: reasons why figures of a run with these options are not comparable with published ones, besides the
    reasons that apply to every task."""
    not_official: Callable[[Sequence[str]], Sequence[str]] = nothing
    """``(differences)``: those of the data that make figures not comparable with published ones."""
