"""A run's cases, calls and figures as CSV and as Parquet, a file each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from agentgauge.core.registry import Registry
from agentgauge_reports.export import empty_folder
from agentgauge_reports.load import Omitted, load_run
from agentgauge_reports.results import FinishedRun
from agentgauge_reports.rows import RowTable, cells, write_rows


def run_tables(run: Path, output: Path, omitted: Omitted, tasks: Registry) -> Iterator[tuple[str, RowTable[Any]]]:
    """The name and the rows of each table. Makes the folder ``output`` first. Raises UsageProblem."""
    empty_folder(output)
    loaded = load_run(run, tasks=tasks, tolerant=True)
    omitted.problems += loaded.problems
    finished = FinishedRun(loaded, omitted)
    yield from (("samples", finished.samples), ("calls", finished.calls), ("metrics", finished.metrics))


def write_csv(run: Path, output: Path, omitted: Omitted, tasks: Registry) -> list[Path]:
    """Write ``samples.csv``, ``calls.csv`` and ``metrics.csv`` below ``output``.

    Lists, mappings, and texts that are unsafe in a spreadsheet are written as JSON.
    """
    written = []
    for name, table in run_tables(run, output, omitted, tasks):
        written.append(output / f"{name}.csv")
        with written[-1].open("w", encoding="utf-8", newline="") as stream:
            write_rows(stream, chain([table.names], ([value for _, value in cells(row)] for row in table)))
    return written


def write_parquet(run: Path, output: Path, omitted: Omitted, tasks: Registry) -> list[Path]:
    """Write ``samples.parquet``, ``calls.parquet`` and ``metrics.parquet`` below ``output``.

    Raises UsageProblem where polars is not installed.
    """
    written = []
    for name, table in run_tables(run, output, omitted, tasks):
        written.append(output / f"{name}.parquet")
        table.to_polars().write_parquet(written[-1])
    return written
