"""CSV that a spreadsheet shows and does not calculate."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from typing import Any, TextIO

_UNSAFE = re.compile(r"^[=+@\t\n＝＋＠－]|^-(?!\d+(\.\d+)?\Z)|\r")
"""A text that a spreadsheet takes for a formula, or that has a bare carriage return: the csv module writes that without
quotes before Python 3.13, and a reader takes it for the end of a row."""


def write_rows(stream: TextIO, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows to a stream that was opened with ``newline=""``. Lists and unsafe texts are written as JSON."""
    csv.writer(stream, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    is_unsafe = isinstance(value, str) and _UNSAFE.search(value)
    return json.dumps(value, ensure_ascii=False) if is_unsafe or isinstance(value, list) else value
