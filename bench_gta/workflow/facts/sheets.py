"""The cells of a workbook, with formulas worked out that were never opened in a spreadsheet program (``facts_child``;
GTA-Workflow spec 3.2, "Ours")."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from bench_gta.workflow.facts.formulas import Formulas

MOST_ROWS = 200_000  # of a sheet
Rows = list[tuple[Any, ...]]


def read_sheets(path: Path) -> dict[str, Rows]:
    """Sheet → rows of values, the empty ones too. Libraries write formulas without their results. Those are worked out
    here, as far as ``Formulas`` can; one that it cannot is shown as it is written."""
    values = _cells(path, results=True)
    formulas = _cells(path, results=False)
    if not any(
        _without_result(value, cell) for title in values for value, cell in _pairs(values[title], formulas[title])
    ):
        return values
    worked = Formulas(_merged(values, formulas))
    return {
        title: [
            tuple(worked.value(title, place, number) for place in range(1, len(row) + 1))
            for number, row in enumerate(rows, start=1)
        ]
        for title, rows in formulas.items()
    }


def _merged(values: Mapping[str, Rows], formulas: Mapping[str, Rows]) -> dict[str, Rows]:
    """The results where there are any, and else what is written in the cell."""
    return {
        title: [
            tuple(written if value is None else value for value, written in zip(*both, strict=True))
            for both in zip(values[title], formulas[title], strict=True)
        ]
        for title in values
    }


def _without_result(value: Any, written: Any) -> bool:
    return value is None and isinstance(written, str) and written.startswith("=")


def _pairs(values: Rows, formulas: Rows) -> list[tuple[Any, Any]]:
    return [pair for both in zip(values, formulas, strict=True) for pair in zip(*both, strict=True)]


def _cells(path: Path, *, results: bool) -> dict[str, Rows]:
    from openpyxl import load_workbook

    with path.open("rb") as stream:
        book = load_workbook(stream, read_only=True, data_only=results, keep_links=False)
        rows = {}
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # the size that a file claims may be anything
            rows[sheet.title] = list(islice(sheet.iter_rows(values_only=True), MOST_ROWS))
        return rows
