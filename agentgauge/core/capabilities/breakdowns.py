"""Tables of a task's figures beyond its published columns, as plain data, because reports know no benchmark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from agentgauge.core.types import Json, Score, Scoring


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
