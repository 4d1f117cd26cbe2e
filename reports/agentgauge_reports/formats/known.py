"""The formats of other programs, and what their writers share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from agentgauge.core.registry import Registry
from agentgauge.core.text import digest
from agentgauge.core.types import Json
from agentgauge_reports.load import Omitted, Run

Writer = Callable[[Path, Path, Omitted, Registry], list[Path]]
"""Writes a finished run, the first path, to the second one; with the tasks that are known. Returns the files written.
Raises UsageProblem."""


class Format(NamedTuple):
    writer: str  # module of this folder and its Writer
    help: str
    place: str = "DIR"  # to write to


FORMATS: Mapping[str, Format] = {
    "parquet": Format("tables.write_parquet", "tables of cases, calls and figures"),
    "csv": Format("tables.write_csv", "the same tables for a spreadsheet"),
    "eval": Format("evallog.write", "a log of inspect_ai", "FILE.eval"),
    "every-eval-ever": Format("every_eval_ever.write", "the shared schema of this name"),
    "atif": Format("atif.write", "a trajectory for each case"),
}


def writer(name: str) -> Writer:
    """The writer of one of FORMATS."""
    module, _, function = FORMATS[name].writer.partition(".")
    return cast("Writer", getattr(import_module(f"{__package__}.{module}"), function))


# -- what the writers share

_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
"""Characters that end a line for some readers of JSON Lines, and need no escape in JSON."""


def run_id(run: Run) -> str:
    """The id of a run: the same every time that the run is written."""
    return digest(["run", run.about["configs"], run.about["started"]])


def encoded(value: Json, *, indent: int | None = None) -> bytes:
    """JSON in UTF-8, without a line end where there is no ``indent``. A lone surrogate, which a model may write,
    becomes a question mark: readers refuse it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return text.translate(_LINE_ENDS).encode("utf-8", "replace")
