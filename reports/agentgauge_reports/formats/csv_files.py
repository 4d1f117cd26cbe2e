"""A run's cases, calls and figures as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from agentgauge_reports.formats.run_tables import run_tables
from agentgauge_reports.results.table import cells
from agentgauge_reports.unshown import Unshown

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet takes for a formula."""


def write(run: Path, output: Path, unshown: Unshown) -> list[Path]:
    """Write ``samples.csv``, ``calls.csv`` and ``metrics.csv`` below ``output``.

    Lists and mappings are JSON, and so is a text that a spreadsheet would take for a formula.
    """
    written = []
    for name, table in run_tables(run, output, unshown):
        written.append(output / f"{name}.csv")
        with written[-1].open("w", encoding="utf-8", newline="") as stream:
            rows = csv.writer(stream, lineterminator="\n")
            rows.writerow(table.names)
            rows.writerows([_cell(value) for _, value in cells(row)] for row in table)
    return written


def _cell(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return json.dumps(value, ensure_ascii=False) if is_formula or isinstance(value, list) else value
