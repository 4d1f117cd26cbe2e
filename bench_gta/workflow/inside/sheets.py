"""The cells of a workbook, with plain formulas worked out that have no stored results: numbers, cells, ranges, + - * /
^ % and a few functions (docs/benchmarks/gta_workflow.md#judges).

formula: sum       sum: product {+|- product}      product: power {*|/ power}      power: sign {^ sign}
sign: {+|-} part {%}      part: number | cell | range (as an argument) | function(…) | ( sum )
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tool_impls.documents.package import Package
from tool_impls.documents.read_tables import WorkbookCell, WorkbookSheet, sheets, shown

DEEPEST = 50  # cells that lead to one another, or brackets in brackets
MOST_CELLS = 200_000  # of all ranges of a formula
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)|(?P<name>[A-Za-z][A-Za-z.]*)(?=\()
    |(?P<cell>(?:(?:'(?:[^']|'')+'|\w+)!)?\$?[A-Za-z]{1,3}\$?\d{1,7})|(?P<sign>[-+*/^%(),;:]))""",
    re.VERBOSE,
)
_CELL = re.compile(r"(?:(?P<sheet>.+)!)?\$?(?P<column>[A-Za-z]+)\$?(?P<row>\d+)")


class UnsupportedFormula(Exception):
    """The formula needs more than this module computes."""


FUNCTIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "SUM": sum,
    "AVERAGE": lambda values: sum(values) / len(values),
    "MIN": min,
    "MAX": max,
    "COUNT": len,
    "ABS": lambda values: abs(values[0]),
    "ROUND": lambda values: round(values[0] + (1e-12 if values[0] > 0 else -1e-12), int(values[1])),
}
OPERATORS: Mapping[str, tuple[int, Callable[[float, float], float]]] = {
    "+": (1, operator.add),
    "-": (1, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "^": (3, operator.pow),
}
"""How closely each binds, and what it does."""


class Formulas:
    """The cells of a workbook: sheet → rows of their values or, where a value is not known, of their formulas."""

    def __init__(self, cells: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        self._cells = {title.casefold(): rows for title, rows in cells.items()}
        self._known: dict[tuple[str, int, int], Any] = {}
        self._open: list[tuple[str, int, int]] = []

    def value(self, sheet: str, column: int, row: int) -> Any:
        """The value that a cell shows (column and row from 1): a formula that cannot be computed as it is written, an
        empty cell as None.
        """
        written = self._written(sheet, column, row)
        try:
            return self._value(sheet, column, row)
        except UnsupportedFormula:
            return written

    def _written(self, sheet: str, column: int, row: int) -> Any:
        rows = self._cells.get(sheet.casefold(), ())
        return rows[row - 1][column - 1] if 0 < row <= len(rows) and 0 < column <= len(rows[row - 1]) else None

    def _value(self, sheet: str, column: int, row: int) -> Any:
        written, place = self._written(sheet, column, row), (sheet.casefold(), column, row)
        if not (isinstance(written, str) and written.startswith("=")):
            return written
        if place not in self._known:
            if place in self._open or len(self._open) >= DEEPEST:
                raise UnsupportedFormula
            self._open.append(place)
            try:
                found = round(_FormulaReader(written[1:], sheet, self._value).result(), 10)
                self._known[place] = int(found) if found.is_integer() else found
            except (ArithmeticError, ValueError, IndexError, TypeError, RecursionError) as error:
                raise UnsupportedFormula from error
            finally:
                self._open.pop()
        return self._known[place]


class _FormulaReader:
    """Reads one formula from left to right."""

    def __init__(self, formula: str, sheet: str, value: Callable[[str, int, int], Any]) -> None:
        self._sheet, self._value, self._cells = sheet, value, 0
        self._tokens = list(_tokens(formula))

    def result(self) -> float:
        found = self._sum()
        if self._tokens:
            raise UnsupportedFormula
        return float(found)

    def _next(self, *signs: str) -> str:
        """Take the next token if it is one of the signs; empty if it is not."""
        return self._tokens.pop(0)[1] if self._tokens and self._tokens[0][1] in signs else ""

    def _sum(self, least: int = 1) -> float:
        """A part with all operators behind it that bind as closely as ``least``, those of a kind from left to right."""
        total = self._signed()
        while self._tokens and (found := OPERATORS.get(self._tokens[0][1])) and found[0] >= least:
            self._tokens.pop(0)
            total = float(found[1](total, self._sum(found[0] + 1)))
        return total

    def _signed(self) -> float:
        factor = 1.0
        while sign := self._next("+", "-"):
            factor *= 1 if sign == "+" else -1
        value = factor * self._part()
        while self._next("%"):
            value /= 100
        return value

    def _part(self) -> float:
        kind, text = self._tokens.pop(0)
        if kind == "number":
            return float(text)
        if kind == "cell":
            return _number(self._value(*self._place(text)))
        if text == "(":
            inner = self._sum()
        elif kind == "name" and text.upper() in FUNCTIONS and self._next("("):
            inner = FUNCTIONS[text.upper()](self._arguments())
        else:
            raise UnsupportedFormula
        if not self._next(")"):
            raise UnsupportedFormula
        return inner

    def _arguments(self) -> list[float]:
        values = self._argument()
        while self._next(",", ";"):
            values += self._argument()
        return values

    def _argument(self) -> list[float]:
        if len(self._tokens) < 3 or self._tokens[0][0] != "cell" or self._tokens[1][1] != ":":
            return [self._sum()]
        (_, first), _, (_, last) = self._tokens[:3]
        del self._tokens[:3]
        sheet, left, top = self._place(first)
        _, right, bottom = self._place(last)
        self._cells += (right - left + 1) * (bottom - top + 1)
        if self._cells > MOST_CELLS:
            raise UnsupportedFormula
        found = (self._value(sheet, column, row) for row in range(top, bottom + 1) for column in range(left, right + 1))
        return [float(value) for value in found if isinstance(value, int | float) and not isinstance(value, bool)]

    def _place(self, cell: str) -> tuple[str, int, int]:
        found = _CELL.fullmatch(cell)
        if found is None:
            raise UnsupportedFormula
        column = 0
        for letter in found["column"].upper():
            column = 26 * column + ord(letter) - ord("A") + 1
        sheet = found["sheet"] or self._sheet
        return sheet.strip("'").replace("''", "'"), column, int(found["row"])


def _tokens(formula: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    formula = formula.strip()
    while at < len(formula):
        found = _TOKEN.match(formula, at)
        if found is None or found.lastgroup is None:
            raise UnsupportedFormula
        tokens.append((found.lastgroup, found[found.lastgroup]))
        at = found.end()
    return tokens


def _number(value: Any) -> float:
    """A cell's value in a sum: an empty cell is 0, a text cannot be reckoned with."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnsupportedFormula
    return float(value)


MOST_ROWS = 200_000  # of a sheet


def read_sheets(path: Path) -> dict[str, list[list[str]]]:
    """Heading of a sheet → rows of texts, the empty ones too. Libraries write formulas without their results. Those are
    worked out here, as far as ``Formulas`` can; one that it cannot is shown as it is written."""
    with Package(path) as package:
        found = {sheet: list(islice(sheet.rows(), MOST_ROWS)) for sheet in sheets(package)}
    formulas = Formulas({sheet.title: [list(map(_known, row)) for row in rows] for sheet, rows in found.items()})

    def text(sheet: WorkbookSheet, row: int, column: int, cell: WorkbookCell) -> str:
        is_open = cell.value is None and cell.formula
        return shown(formulas.value(sheet.title, column, row) if is_open else cell.value, cell.percent)

    return {
        sheet.heading: [
            [text(sheet, number, place, cell) for place, cell in enumerate(row, start=1)]
            for number, row in enumerate(rows, start=1)
        ]
        for sheet, rows in found.items()
    }


def _known(cell: WorkbookCell) -> Any:
    """The result where there is any, and else what is written in the cell."""
    return cell.formula or None if cell.value is None else cell.value
