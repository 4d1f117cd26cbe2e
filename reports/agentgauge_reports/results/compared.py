"""The comparison of runs with the first of them, as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from agentgauge_reports.results.run import FinishedRun
from agentgauge_reports.results.table import RowList


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """One figure in two runs, on the samples that both finished. Shares are in per cent, differences in points."""

    run: str  # the folder of the later run
    model: str
    key: str  # "wild.Task"
    task: str
    name: str
    a: float | None  # in the first run
    b: float | None  # in this one
    difference: float | None  # b - a
    low: float | None  # 95 % interval of the difference, not corrected for other figures
    high: float | None
    p: float | None  # of no difference, two-sided; None for a count
    p_holm: float | None  # the same, corrected for all tests of the comparison
    significant: bool
    detectable: float | None  # true difference that these samples show in about four of five cases
    differing: int  # pairs that differ
    n: int
    is_count: bool


class Comparison(RowList[FigureDifference]):
    """The differences of every figure. ``warnings``: the differences besides the model, a sentence each, which begins
    with the folder of the later run."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        """``found``: the data that ``agentgauge compare --format json`` writes."""
        folders = {run["letter"]: run["path"] for run in found["runs"]}
        self.warnings: Sequence[str] = [
            f"{folders[one['run']]}: {each}" for one in found["comparisons"] for each in one["warnings"]
        ]
        rows = list(_rows(found))
        super().__init__(FigureDifference, len(rows), rows.__getitem__)


def compare(first: FinishedRun | str | PathLike[str], *others: FinishedRun | str | PathLike[str]) -> Comparison:
    """Compare runs with the first of them, as ``agentgauge compare`` does: runs, or their folders.

    Raises UsageProblem for fewer than two runs, more than 26, a folder that is no finished run, and runs without a
    common task.
    """
    from agentgauge_reports.comparison.compare import compare as compare_folders

    folders = [run.path if isinstance(run, FinishedRun) else Path(run) for run in (first, *others)]
    return Comparison(compare_folders(folders, Path()))


def _rows(found: Mapping[str, Any]) -> Iterator[FigureDifference]:
    runs = {run["letter"]: run for run in found["runs"]}
    for one in found["comparisons"]:
        for task, compared in one["tasks"].items():
            for name, figure in compared["figures"].items():
                yield FigureDifference(
                    run=runs[one["run"]]["path"],
                    model=runs[one["run"]]["model"],
                    key=f"{task}.{name}",
                    task=task,
                    name=name,
                    is_count=figure["count"],
                    **{key: figure[key] for key in _KEYS},
                )


_KEYS = ("a", "b", "difference", "low", "high", "p", "p_holm", "significant", "detectable", "differing", "n")
