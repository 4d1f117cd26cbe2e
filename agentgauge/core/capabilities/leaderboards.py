"""Published tables of figures; each column names the task's figure that is shown in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a published table."""

    key: str  # in the rows
    title: str  # as printed
    part: str  # a task; or a part of what ``CombinedScores.combine`` makes: "domains"
    name: str  # the task's metric; or a score of that part


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A published table."""

    title: str  # unique within the benchmark
    source: str
    date: str  # of publication: year, or year and month
    columns: tuple[Column, ...]  # in the order in which they were printed
    rows: Sequence[Mapping[str, Any]]  # ``{"model": name, key of a column: value or None}``, as printed
    factor: float = 1.0  # of the printed values, to the unit of ours


def columns_of(task: str, titles: str) -> tuple[Column, ...]:
    """Columns whose printed name is that of the task's metric: see ``titles_and_keys``."""
    return tuple(Column(key, title, task, title) for title, key in titles_and_keys(titles))


def titles_and_keys(text: str) -> list[tuple[str, str]]:
    """Titles and keys of columns, from ``Title | Title = key``. A key not given is the title in lower case with
    underscores.
    """
    parts = (part.partition(" = ") for part in text.split(" | "))
    return [(title, key or re.sub(r"\W+", "_", title.lower())) for title, _, key in parts]
