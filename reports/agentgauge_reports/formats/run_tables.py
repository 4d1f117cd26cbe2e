"""A run's cases, calls and figures: the tables that CSV and Parquet write, a file each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentgauge_reports.formats.output import empty_folder
from agentgauge_reports.load import load_run
from agentgauge_reports.results.run import FinishedRun
from agentgauge_reports.results.table import Table
from agentgauge_reports.unshown import Unshown


def run_tables(run: Path, output: Path, unshown: Unshown) -> Iterator[tuple[str, Table[Any]]]:
    """The name and the rows of each table. Makes the folder ``output`` first. Raises UsageProblem."""
    empty_folder(output)
    loaded = load_run(run, tolerant=True)
    unshown.problems += loaded.problems
    finished = FinishedRun(loaded, unshown)
    yield from (("samples", finished.samples), ("calls", finished.calls), ("metrics", finished.metrics))
