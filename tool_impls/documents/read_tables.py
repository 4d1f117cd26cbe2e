"""Reading tables: ReadCSV and ReadXLSX (GTA tools spec 5.2)."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.documents.guard import check_office, check_size, reading
from tool_impls.documents.reading import ReadingTool
from tool_impls.documents.tables import MAX_ROWS
from tool_impls.options import Option

if TYPE_CHECKING:
    from tool_impls.settings import ToolSettings

ALL_SHEETS = Option("all_sheets", "bool", True, "show every sheet under its name, not only the first", released=False)
ENCODING = Option("encoding", "text", "gb18030", "what a file is read as that is neither UTF-8 nor marked as UTF-16")
MAX_CELLS = 4_000_000  # of one sheet, empty ones included; what holds any text is cut long before
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class ReadCSV(ReadingTool):
    """Shows a CSV file. Values stay as they are written; only needless quotes and empty lines are removed."""

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
            "".encode(name)
        except LookupError:
            return base.unavailable(f"encoding in [tools.{cls.meta.name}] names none that Python knows: {name}")
        return base.READY

    def apply(self, folder: Path, /, csv_file: Path) -> str:
        check_size(csv_file)
        text = decode(csv_file.read_bytes(), self.option("encoding"))
        with reading("a CSV file"):
            rows = csv.reader(StringIO(text, newline=""))
            return self.shown(row_text(row) for row in rows if row)


class ReadXLSX(ReadingTool):
    """Shows a workbook, with the values that the program which saved it computed. A formula without a value is shown
    itself.
    """

    meta = base.tool(
        "ReadXLSX",
        "Shows the content of an Excel workbook as lines of comma-separated values.",
        (Parameter("file", "file", "The workbook (.xlsx).", filetype="file"),),
        base.TEXT_OUT,
    )
    packages = ("openpyxl",)
    options = (*ReadingTool.options, ALL_SHEETS)

    def apply(self, folder: Path, /, file: Path) -> str:
        check_office(file, "an XLSX workbook")
        with reading("an XLSX workbook"), file.open("rb") as stream, file.open("rb") as again:
            values = _workbook(stream, data_only=True)
            formulas = _workbook(again, data_only=False)
            sheets = list(zip(values.worksheets, formulas.worksheets, strict=True))
            if not sheets:
                raise ToolError("the workbook has no sheet with cells")
            return self.shown(_sheets(sheets if self.option("all_sheets") else sheets[:1]))


def _workbook(stream: IO[bytes], data_only: bool) -> Any:
    """The workbook. Chart sheets are not shown, so they may hold charts that openpyxl cannot read."""
    # The package before its parts: of two threads that import it at once, one would end with a deadlock (Python 3.11).
    import openpyxl

    class Reader(openpyxl.reader.excel.ExcelReader):  # type: ignore[misc]  # it has no types
        def read_chartsheet(self, sheet: Any, rel: Any) -> None:
            with suppress(Exception):
                super().read_chartsheet(sheet, rel)

    reader = Reader(stream, read_only=True, data_only=data_only, keep_links=False)
    reader.read()
    return reader.wb


def decode(data: bytes, other: str) -> str:
    """The text of a file. Raises ToolError where it is text in none of the known encodings."""
    named = next((name for mark, name in MARKS.items() if data.startswith(mark)), None)
    for name in (named,) if named else ("utf-8", other):
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise ToolError(f"the file is no text in UTF-8, UTF-16 or {other}; save it as UTF-8")


def row_text(row: Sequence[str]) -> str:
    """A row as CSV, without the line end."""
    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(row)  # it quotes only the line end that is the row's
    return buffer.getvalue()[:-1]


def _sheets(sheets: Sequence[tuple[Any, Any]]) -> Iterator[str]:
    for index, (values, formulas) in enumerate(sheets):
        if len(sheets) > 1:
            yield f"{chr(10) if index else ''}Sheet {values.title}:"
        for sheet in (values, formulas):
            sheet.reset_dimensions()  # the size that a file claims may be anything
        rows = (sheet.iter_rows(values_only=True) for sheet in (values, formulas))
        yield from _rows(zip_longest(*rows, fillvalue=()))


def _rows(pairs: Iterable[tuple[Sequence[Any], Sequence[Any]]]) -> Iterator[str]:
    """Rows as CSV. Empty cells at the end of a row and empty rows at the end of a sheet are left out.

    Raises ToolError for more rows or cells than a sheet may have, which a file can claim in a few letters.
    """
    empty = cells_seen = 0
    for row, (values, formulas) in enumerate(pairs, start=1):
        cells_seen += len(values)
        if row > MAX_ROWS or cells_seen > MAX_CELLS:
            found = f"{MAX_ROWS:,} rows or {MAX_CELLS:,} cells, nearly all empty"
            raise ToolError(f"a sheet has more than {found}; delete what is empty")
        cells = [_cell(value, formula) for value, formula in zip_longest(values, formulas)]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            empty += 1
            continue
        yield from [""] * empty
        empty = 0
        yield row_text(cells)


def _cell(value: Any, formula: Any) -> str:
    if value is None:
        value = getattr(formula, "text", formula)  # array formulas come as an object
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    return "" if value is None else str(value)
