"""The cells of a workbook, with formulas worked out that have no stored results (GTA-Workflow spec 3.2, "Ours")."""

from __future__ import annotations

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
    rows_of = {title: list(zip(values[title], formulas[title], strict=True)) for title in values}
    if not any(_lacks_result(*row) for rows in rows_of.values() for row in rows):
        return values
    worked = Formulas({title: [_known(*row) for row in rows] for title, rows in rows_of.items()})
    return {
        title: [
            tuple(worked.value(title, place, number) for place in range(1, len(row) + 1))
            for number, row in enumerate(rows, start=1)
        ]
        for title, rows in formulas.items()
    }


def _lacks_result(values: tuple[Any, ...], formulas: tuple[Any, ...]) -> bool:
    cells = zip(values, formulas, strict=True)
    return any(value is None and isinstance(cell, str) and cell.startswith("=") for value, cell in cells)


def _known(values: tuple[Any, ...], formulas: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results where there are any, and else what is written in the cell."""
    return tuple(written if value is None else value for value, written in zip(values, formulas, strict=True))


def _cells(path: Path, *, results: bool) -> dict[str, Rows]:
    from openpyxl import load_workbook

    with path.open("rb") as stream:
        book = load_workbook(stream, read_only=True, data_only=results, keep_links=False)
        rows = {}
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # the size that a file claims may be anything
            rows[sheet.title] = list(islice(sheet.iter_rows(values_only=True), MOST_ROWS))
        return rows
