"""Reading tables: ReadCSV and ReadXLSX (GTA tools spec 5.2)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.documents.guard import check_office, check_size, reading
from tool_impls.documents.package import Package
from tool_impls.documents.plain_text import decode, read_csv
from tool_impls.documents.reading import ReadingTool
from tool_impls.documents.tables import MAX_ROWS
from tool_impls.documents.workbook import Cell, Sheet, sheets, shown
from tool_impls.settings import Option

if TYPE_CHECKING:
    from tool_impls.settings import ToolSettings

MOST_EMPTY = 1_000  # empty rows in a row that are shown as empty lines

ALL_SHEETS = Option("all_sheets", "bool", True, "show every sheet under its name, not only the first", released=False)
PERCENT = Option("percent", "bool", True, "show numbers in a format of percentages as such: 47.5%", released=False)
ENCODING = Option("encoding", "text", "", "of a file that is neither UTF-8 nor marked as UTF-16; guessed if not set")


class ReadCSV(ReadingTool):
    """Shows a CSV file. Values stay as they are written, with the file's delimiter; only needless quotes and empty
    lines are removed.
    """

    version = 2
    meta = base.tool(
        "ReadCSV",
        "Shows the content of a CSV file.",
        (Parameter("file", "csv_file", "The CSV file.", filetype="file"),),
        base.TEXT_OUT,
    )
    options = (*ReadingTool.options, ENCODING)
    library = "csv"

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        name = settings.value(cls.meta.name, ENCODING)
        try:
            "".encode(name or "utf-8")
        except LookupError:
            return base.unavailable(f"encoding in [tools.{cls.meta.name}] names none that Python knows: {name}")
        return base.READY

    def apply(self, folder: Path, /, csv_file: Path) -> str:
        check_size(csv_file)
        with reading("a CSV file"):
            delimiter, rows = read_csv(decode(csv_file.read_bytes(), self.option("encoding")))
            return self.shown(row_text(row, delimiter) for row in rows)


class ReadXLSX(ReadingTool):
    """Shows a workbook, with the values that the program which saved it computed. A formula without a value is shown
    itself.
    """

    version = 2
    meta = base.tool(
        "ReadXLSX",
        "Shows the content of an Excel workbook as lines of comma-separated values.",
        (Parameter("file", "file", "The workbook (.xlsx).", filetype="file"),),
        base.TEXT_OUT,
    )
    packages = ("openpyxl",)
    options = (*ReadingTool.options, ALL_SHEETS, PERCENT)

    def apply(self, folder: Path, /, file: Path) -> str:
        check_office(file, "an XLSX workbook", well_formed=False)
        with reading("an XLSX workbook"), Package(file) as package:
            found = sheets(package)
            if not found:
                raise ToolError("the workbook has no sheet with cells")
            return self.shown(self._lines(found if self.option("all_sheets") else found[:1]))

    def _lines(self, found: Sequence[Sheet]) -> Iterator[str]:
        for index, sheet in enumerate(found):
            if len(found) > 1:
                yield f"{chr(10) if index else ''}Sheet {sheet.heading}:"
            yield from _rows(sheet.rows(), self.option("percent"))


def row_text(row: Sequence[str], delimiter: str = ",") -> str:
    """A row as CSV, without the line end."""
    buffer = StringIO()
    # It quotes only the line end that is the row's.
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerow(row)
    return buffer.getvalue()[:-1]


def _rows(rows: Iterable[Sequence[Cell]], percent: bool) -> Iterator[str]:
    """Rows as CSV. Empty cells at the end of a row and empty rows at the end of a sheet are left out.

    Raises ToolError for more rows than a sheet may have, which a file can claim in a few letters.
    """
    empty = 0
    for number, row in enumerate(rows, start=1):
        if number > MAX_ROWS:
            raise ToolError(f"a sheet has more than {MAX_ROWS:,} rows, nearly all empty; delete what is empty")
        cells = [cell.formula if cell.value is None else shown(cell.value, cell.percent and percent) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            empty += 1
            continue
        yield from [f"[{empty:,} empty rows]"] if empty > MOST_EMPTY else [""] * empty
        empty = 0
        yield row_text(cells)
