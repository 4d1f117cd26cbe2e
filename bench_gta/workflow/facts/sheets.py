"""The cells of a workbook, with formulas worked out that have no stored results (GTA-Workflow spec 3.2, "Ours")."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from bench_gta.workflow.facts.formulas import Formulas
from tool_impls.documents.package import Package
from tool_impls.documents.workbook import Cell, Sheet, sheets, shown

MOST_ROWS = 200_000  # of a sheet


def read_sheets(path: Path) -> dict[str, list[list[str]]]:
    """Heading of a sheet → rows of texts, the empty ones too. Libraries write formulas without their results. Those are
    worked out here, as far as ``Formulas`` can; one that it cannot is shown as it is written."""
    with Package(path) as package:
        found = {sheet: list(islice(sheet.rows(), MOST_ROWS)) for sheet in sheets(package)}
    formulas = Formulas({sheet.title: [list(map(_known, row)) for row in rows] for sheet, rows in found.items()})

    def text(sheet: Sheet, row: int, column: int, cell: Cell) -> str:
        is_open = cell.value is None and cell.formula
        return shown(formulas.value(sheet.title, column, row) if is_open else cell.value, cell.percent)

    return {
        sheet.heading: [
            [text(sheet, number, place, cell) for place, cell in enumerate(row, start=1)]
            for number, row in enumerate(rows, start=1)
        ]
        for sheet, rows in found.items()
    }


def _known(cell: Cell) -> Any:
    """The result where there is any, and else what is written in the cell."""
    return cell.formula or None if cell.value is None else cell.value
