"""A run's cases, calls and figures as Parquet."""

from __future__ import annotations

from pathlib import Path

from agentgauge_reports.formats.run_tables import run_tables
from agentgauge_reports.unshown import Unshown


def write(run: Path, output: Path, unshown: Unshown) -> list[Path]:
    """Write ``samples.parquet``, ``calls.parquet`` and ``metrics.parquet`` below ``output``.

    Raises UsageProblem where polars is not installed.
    """
    written = []
    for name, table in run_tables(run, output, unshown):
        written.append(output / f"{name}.parquet")
        table.to_polars().write_parquet(written[-1])
    return written
