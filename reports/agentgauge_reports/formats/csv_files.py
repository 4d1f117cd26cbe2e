"""A run's cases, calls and figures as CSV."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from agentgauge_reports.formats.run_tables import run_tables
from agentgauge_reports.results.spreadsheet import write_rows
from agentgauge_reports.results.table import cells
from agentgauge_reports.unshown import Unshown


def write(run: Path, output: Path, unshown: Unshown) -> list[Path]:
    """Write ``samples.csv``, ``calls.csv`` and ``metrics.csv`` below ``output``.

    Lists, mappings, and texts that are unsafe in a spreadsheet are written as JSON.
    """
    written = []
    for name, table in run_tables(run, output, unshown):
        written.append(output / f"{name}.csv")
        with written[-1].open("w", encoding="utf-8", newline="") as stream:
            write_rows(stream, chain([table.names], ([value for _, value in cells(row)] for row in table)))
    return written
