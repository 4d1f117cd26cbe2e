"""Writing tables: CsvFileGenerator and XlsxFileGenerator (docs/benchmarks/tools.md#writing-documents)."""

from __future__ import annotations

import csv
import json
import math
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import file_name
from tool_impls.documents.plain_text import clean, columns
from tool_impls.documents.writing import FILENAME, OUTPUT_DIR, FileGenerator, without_times, write_text

Scalar = str | int | float | bool | None

MAX_ROWS, MAX_COLUMNS, MAX_CELL = 1_048_576, 16_384, 32_767  # of a sheet; the last in characters
MAX_CELLS = 2_000_000
WIDEST = 60  # characters of a column
DATA = base.text("data_str", "The table as JSON: a list of rows, each a list of texts, numbers, true, false or null.")


class CsvFileGenerator(FileGenerator):
    """Writes a CSV file. Values are written as the JSON has them, numbers to the last digit; null is an empty field."""

    meta = base.tool(
        "CsvFileGenerator",
        "Makes a CSV file from a table.",
        (DATA, FILENAME, OUTPUT_DIR),
        Parameter("file", filetype="text/csv"),
    )
    library = "csv"

    def apply(self, folder: Path, /, data_str: str, filename: str, output_dir: str | None = None) -> Path:
        path = folder / file_name(filename, "table", ".csv")
        text = StringIO()
        csv.writer(text).writerows(read_rows(data_str, literal=True))
        return write_text(path, text.getvalue(), "data_str")


class XlsxFileGenerator(FileGenerator):
    """Writes a workbook. Texts stay texts, even if they look like formulas. Columns are as wide as their content."""

    meta = base.tool(
        "XlsxFileGenerator",
        "Makes an Excel workbook with one sheet from a table. Texts that look like formulas stay texts.",
        (DATA, FILENAME, OUTPUT_DIR),
        Parameter("file", filetype="office/xlsx"),
    )
    packages = ("openpyxl",)

    def apply(self, folder: Path, /, data_str: str, filename: str, output_dir: str | None = None) -> Path:
        path = folder / file_name(filename, "table", ".xlsx")
        rows = read_rows(data_str)
        _check_sheet(rows)
        _workbook(rows).save(path)
        without_times(path)
        return path


class _Literal(str):
    """A number as it is written."""


def read_rows(data_str: str, literal: bool = False) -> list[list[Scalar]]:
    """The table in a JSON text. ``literal``: keep numbers as they are written. Raises ToolError that names the wrong
    row.
    """
    number: Any = _Literal if literal else None
    try:
        rows = json.loads(data_str, parse_int=number, parse_float=number, parse_constant=_no_number)
    except ValueError as error:
        advice = 'give a list of rows such as [["name", "age"], ["Li", 30]]'
        raise ToolError(f"data_str is not valid JSON ({error}); {advice}") from None
    except RecursionError:
        advice = "give a list of rows, each a list of texts and numbers"
        raise ToolError(f"data_str is nested too deeply; {advice}") from None
    if not isinstance(rows, list):
        raise ToolError(f"data_str must be a list of rows; got {_kind(rows)}")
    for index, row in enumerate(rows, start=1):
        if not isinstance(row, list):
            raise ToolError(f"row {index} of data_str must be a list of values; got {_kind(row)}")
        for column, value in enumerate(row, start=1):
            place = f"row {index}, column {column} of data_str"
            if isinstance(value, list | dict):
                raise ToolError(f"{place} must be a string, a number, true, false or null; got {_kind(value)}")
            if isinstance(value, float) and not math.isfinite(value):
                raise ToolError(f"{place} is a number too large to store; give it as a text")
    return rows


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _kind(value: Any) -> str:
    known = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return known.get(type(value), "a number")


def _check_sheet(rows: list[list[Scalar]]) -> None:
    columns = max(map(len, rows), default=0)
    if len(rows) > MAX_ROWS or columns > MAX_COLUMNS:
        most = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns"
        raise ToolError(f"a sheet holds {most}; got {len(rows):,} and {columns:,}")
    if (cells := sum(map(len, rows))) > MAX_CELLS:
        raise ToolError(f"the table has {cells:,} cells; at most {MAX_CELLS:,} fit in one file, so split it")
    for index, row in enumerate(rows, start=1):
        if any(isinstance(value, str) and len(value) > MAX_CELL for value in row):
            problem = f"a text of more than {MAX_CELL:,} characters, which no cell can hold"
            raise ToolError(f"row {index} has {problem}; shorten it")


def _workbook(rows: list[list[Scalar]]) -> Any:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils import get_column_letter

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sheet")
    widths: dict[int, int] = {}
    for row in rows:
        for column, value in enumerate(row, start=1):
            lines = ("" if value is None else str(value)).split("\n")
            widths[column] = max(widths.get(column, 0), *map(columns, lines))
    for column, width in widths.items():
        sheet.column_dimensions[get_column_letter(column)].width = max(9, min(width, WIDEST) + 2)
    for row in rows:
        cells = []
        for value in row:
            cell = WriteOnlyCell(sheet, clean(value) if isinstance(value, str) else value)
            if isinstance(value, str) and cell.data_type != "s":  # a formula or an error by its looks
                cell.data_type = "s"
                cell.quotePrefix = True  # keeps it a text when a user edits it
            cells.append(cell)
        sheet.append(cells)
    return book
