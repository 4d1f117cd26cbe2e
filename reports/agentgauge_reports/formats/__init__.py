"""A run in the formats of other programs: ``agentgauge report RUN --format NAME``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from agentgauge_reports.unshown import Unshown

Writer = Callable[[Path, Path, Unshown], list[Path]]
"""Writes a finished run, the first path, to the second one. Returns the files written. Raises UsageProblem."""

FORMATS: Mapping[str, str] = {
    "parquet": "parquet_files",
    "csv": "csv_files",
    "eval": "evallog",
    "every-eval-ever": "every_eval_ever",
    "atif": "atif",
}
"""Name → module of this folder, whose ``write`` is a Writer."""


def writer(name: str) -> Writer:
    """The writer of one of FORMATS."""
    return cast("Writer", import_module(f"{__name__}.{FORMATS[name]}").write)
