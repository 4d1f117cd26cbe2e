"""Reading tables: the cells of a workbook, ReadCSV and ReadXLSX (docs/benchmarks/tools.md#reading-documents)."""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from xml.etree.ElementTree import Element

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.documents.package import Package, check_office, check_size, children, local, number, reading, relation
from tool_impls.documents.plain_text import ReadingTool, decode, read_csv
from tool_impls.documents.tables import MAX_ROWS
from tool_impls.settings import Option

if TYPE_CHECKING:
    from tool_impls.settings import ToolSettings


MISSING = "[text missing in the file]"  # a cell that refers to a shared text that is not there
OTHERS = {
    "xl/workbook.bin": "a binary workbook (XLSB)",
    "meta-inf/manifest.xml": "an OpenDocument file",
    "word/document.xml": "a Word document",
    "ppt/presentation.xml": "a PowerPoint presentation",
    "index/document.iwa": "a file of Apple's Numbers",
}
"""A part → the kind of file that has it."""

_REST = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')  # of a number format: texts, fillers, colours, languages
_EAST_ASIAN_DATES = (
    *range(27, 37),
    *range(50, 59),
)  # numbers of formats that files in these languages do not spell out


class WorkbookCell(NamedTuple):
    """``value``: a text, a number, a date …; None in an empty cell and for a formula whose result is not stored."""

    value: Any = None
    formula: str = ""
    percent: bool = False  # shown in hundredths


EMPTY = WorkbookCell()
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Format:
    """What a cell's number format says about its number."""

    date: bool = False
    duration: bool = False
    percent: bool = False


@dataclass(frozen=True, slots=True)
class WorkbookSheet:
    title: str
    hidden: bool
    _part: str = field(repr=False)
    _book: _Book = field(repr=False)

    @property
    def heading(self) -> str:
        return f"{self.title} (hidden)" if self.hidden else self.title

    def rows(self) -> Iterator[list[WorkbookCell]]:
        """The rows, each up to its last cell that is not empty. A file can claim any number of empty ones."""
        return _Rows(self._book).read(self._part)


def sheets(package: Package) -> list[WorkbookSheet]:
    """The sheets that hold cells, in order. They can be read while the package is open.

    Raises ToolError for a file of another kind, and any error of its parsers for damage.
    """
    main = next(iter(package.parts("", "officeDocument")), "xl/workbook.xml")
    other = next((kind for part, kind in OTHERS.items() if package.has(part)), None)
    root = None if other else package.root(main)
    if root is None or local(root) != "workbook":
        found = f"it is {other}; save it as XLSX" if other else "it holds no workbook"
        raise ToolError(f"the file is not an XLSX workbook that can be read: {found}")
    book = _Book(package, main, root)
    found_sheets = []
    for sheet in root.iterfind("{*}sheets/{*}sheet"):
        target = package.relations(main).get(relation(sheet))
        if target is not None and target.kind == "worksheet" and package.has(target.part):
            hidden = sheet.get("state", "visible") != "visible"
            found_sheets.append(WorkbookSheet(sheet.get("name", ""), hidden, target.part, book))
    return found_sheets


def shown(value: Any, percent: bool = False) -> str:
    """A cell's value as text: dates in ISO form, and shares as percentages where their format says so."""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    if isinstance(value, datetime.timedelta):
        minutes, seconds = divmod(abs(value), datetime.timedelta(minutes=1))
        sign = "-" if value < datetime.timedelta() else ""
        return f"{sign}{minutes // 60}:{minutes % 60:02}:{seconds.total_seconds():02g}"
    if percent and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value * 100:.15g}%"
    return "" if value is None else str(value)


class _Book:
    """What the cells of all sheets refer to."""

    def __init__(self, package: Package, main: str, root: Element) -> None:
        # The package before its parts: of two threads that import it at once, one would end with a deadlock
        # (Python 3.11).
        import openpyxl

        dates = openpyxl.utils.datetime
        properties = root.find("{*}workbookPr")
        since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
        self.package = package
        self.epoch = dates.CALENDAR_MAC_1904 if since_1904 else dates.CALENDAR_WINDOWS_1900
        named = {kind: part for _, kind, part in package.relations(main).values() if package.has(part)}
        self.texts = list(self._texts(named.get("sharedStrings", "xl/sharedStrings.xml")))
        self.formats = list(self._formats(package.sound_root(named.get("styles", "xl/styles.xml"))))

    def _texts(self, part: str) -> Iterator[str]:
        for element in self.package.elements(part, "si"):
            yield _text(element)

    def _formats(self, root: Element | None) -> Iterator[Format]:
        if root is None:
            return
        from openpyxl.styles.numbers import BUILTIN_FORMATS

        codes = {str(known): code for known, code in BUILTIN_FORMATS.items()}
        codes |= dict.fromkeys(map(str, _EAST_ASIAN_DATES), "yyyy-mm-dd")
        for own in root.iterfind("{*}numFmts/{*}numFmt"):
            codes[own.get("numFmtId", "")] = own.get("formatCode", "")
        formats = {id_: _format(code) for id_, code in codes.items()}
        for style in root.iterfind("{*}cellXfs/{*}xf"):
            yield formats.get(style.get("numFmtId", ""), Format())


class _Rows:
    """Reads the rows of one sheet."""

    def __init__(self, book: _Book) -> None:
        self._book = book
        self._shared: dict[str, tuple[str, str]] = {}  # number of a shared formula → the formula, and where it stands

    def read(self, part: str) -> Iterator[list[WorkbookCell]]:
        given = 0
        for element in self._book.package.elements(part, "row"):
            place = int(float(element.get("r", given + 1)))
            while given + 1 < place:
                given += 1
                yield []
            given += 1
            yield self._row(element)

    def _row(self, row: Element) -> list[WorkbookCell]:
        from openpyxl.utils import column_index_from_string

        cells: dict[int, WorkbookCell] = {}
        column = 0
        for element in children(row, "c"):
            letters = element.get("r", "").rstrip("0123456789")
            column = column_index_from_string(letters) if letters else column + 1
            if (cell := self._cell(element)) is not EMPTY:
                cells[column] = cell
        return [cells.get(place, EMPTY) for place in range(1, max(cells, default=0) + 1)]

    def _cell(self, element: Element) -> WorkbookCell:
        format_ = _at(self._book.formats, element.get("s", "0"), Format())
        parts = {local(part): part for part in element}
        formula = parts.get("f")
        value = self._value(element.get("t", "n"), parts, format_)
        if formula is None:
            return EMPTY if value is None else WorkbookCell(value, percent=format_.percent)
        return WorkbookCell(value, self._formula(formula, element.get("r", ""), wanted=value is None), format_.percent)

    def _value(self, kind: str, parts: Mapping[str, Element], format_: Format) -> Any:
        if kind == "inlineStr":
            return _text(parts["is"]) if "is" in parts else None
        stored = parts["v"].text if "v" in parts else None
        if not stored:
            return "" if kind == "str" and "f" in parts else None
        if kind == "s":
            return _at(self._book.texts, stored, MISSING)
        if kind == "b":
            return stored.strip() in ("1", "true")
        if kind == "n":
            return self._number(stored, format_)
        if kind == "d":
            from openpyxl.utils.datetime import from_ISO8601

            with suppress(ValueError):
                return from_ISO8601(stored)
        return _unescaped(stored)

    def _number(self, stored: str, format_: Format) -> Any:
        from openpyxl.utils.datetime import from_excel

        value: Any = stored  # what is no number stays as it is written
        with suppress(ValueError):
            value = int(stored) if stored.strip().lstrip("-").isdecimal() else float(stored)
            if format_.duration or (format_.date and value >= 0):
                with suppress(OverflowError):
                    value = from_excel(value, self._book.epoch, timedelta=format_.duration)
        return value

    def _formula(self, element: Element, place: str, wanted: bool) -> str:
        """The formula, if it is ``wanted``. Of shared ones only the first is written out, for its own place."""
        formula = f"={element.text or ''}"
        group = element.get("si", "")
        if element.get("t") == "shared" and element.text:
            self._shared[group] = (formula, place)
        elif wanted and group in self._shared:
            from openpyxl.formula.tokenizer import TokenizerError
            from openpyxl.formula.translate import Translator, TranslatorError

            first, origin = self._shared[group]
            with suppress(TokenizerError, TranslatorError):
                return str(Translator(first, origin).translate_formula(place))
        return formula


def _format(code: str) -> Format:
    from openpyxl.styles.numbers import is_date_format, is_timedelta_format

    return Format(is_date_format(code), is_timedelta_format(code), "%" in _REST.sub("", code.partition(";")[0]))


def _at(known: Sequence[T], place: str, otherwise: T) -> T:
    index = number(place)
    return known[index] if index is not None and index < len(known) else otherwise


def _text(element: Element) -> str:
    """The text of a shared or inline string, without the pronunciation beside it."""
    pieces = (
        piece.text or ""
        for part in element
        for piece in ([part] if local(part) == "t" else part.iterfind("{*}t") if local(part) == "r" else ())
    )
    return _unescaped("".join(pieces))


def _unescaped(text: str) -> str:
    from openpyxl.utils.escape import unescape

    return str(unescape(text)) if "_x" in text else text


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

    def _lines(self, found: Sequence[WorkbookSheet]) -> Iterator[str]:
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


def _rows(rows: Iterable[Sequence[WorkbookCell]], percent: bool) -> Iterator[str]:
    """Rows as CSV. Empty cells at the end of a row and empty rows at the end of a sheet are left out.

    Raises ToolError for more rows than a sheet may have, which a file can claim in a few letters.
    """
    empty = 0
    for place, row in enumerate(rows, start=1):
        if place > MAX_ROWS:
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
