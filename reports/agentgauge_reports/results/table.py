"""Rows of one kind, which can be iterated, and turned into a frame of pandas or polars."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any, Generic, TypeVar, get_type_hints

from agentgauge.core.errors import UsageProblem

Row = TypeVar("Row")

_PANDAS: Mapping[Any, str] = {
    bool: "bool",
    bool | None: "boolean",
    int: "int64",
    int | None: "Int64",
    float: "float64",
    float | None: "float64",
}
"""Type of a field → dtype. All other columns hold objects."""


class Table(Generic[Row]):
    """Rows, each a frozen data class. Iterating reads them anew, so that a table of a long run takes no memory."""

    def __init__(self, kind: type[Row], rows: Callable[[], Iterable[Row]]) -> None:
        """``kind``: the data class. ``rows``: called for each iteration of the table."""
        self.kind = kind
        self.names = tuple(field.name for field in fields(kind))  # type: ignore[arg-type]
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows())

    def to_pandas(self) -> Any:
        """The rows as a ``pandas.DataFrame``, a column a field; see ``columns``.

        Raises UsageProblem if pandas is not installed.
        """
        pandas = _package("pandas")
        hints = get_type_hints(self.kind)
        return pandas.DataFrame(
            {
                name: pandas.Series(values, dtype=_PANDAS.get(hints[name], None if values else "object"))
                for name, values in self.columns().items()
            }
        )

    def to_polars(self) -> Any:
        """The rows as a ``polars.DataFrame``, a column a field; see ``columns``.

        Raises UsageProblem if polars is not installed.
        """
        polars = _package("polars")
        kinds = {
            **dict.fromkeys((bool, bool | None), polars.Boolean),
            **dict.fromkeys((int, int | None), polars.Int64),
            **dict.fromkeys((float, float | None), polars.Float64),
            tuple[str, ...]: polars.List(polars.String),
        }
        hints = get_type_hints(self.kind)
        return polars.DataFrame(
            self.columns(), schema={name: kinds.get(hints[name], polars.String) for name in self.names}
        )

    def columns(self) -> dict[str, list[Any]]:
        """Field → the values of all rows. Tuples are lists, mappings are JSON texts."""
        found: dict[str, list[Any]] = {name: [] for name in self.names}
        for row in self:
            for name, value in cells(row):
                found[name].append(value)
        return found


class RowList(Table[Row]):
    """Rows that need no records: they have a length, and can be indexed."""

    def __init__(self, kind: type[Row], count: int, row: Callable[[int], Row]) -> None:
        """``row``: called with an index from 0 for each access to that row."""
        self._places = range(count)
        self._row = row
        super().__init__(kind, lambda: map(row, self._places))

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: int) -> Row:
        """Raises IndexError."""
        return self._row(self._places[place])


def cells(row: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of each column of a row: see ``Table.columns``. A lone surrogate, which a model may write, becomes
    a question mark."""
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, Mapping):
            value = json.dumps(dict(value))
        elif isinstance(value, str) and not value.isascii():
            value = value.encode("utf-8", "replace").decode()
        yield field.name, list(value) if isinstance(value, tuple) else value


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageProblem(
            f"{name} is not installed, which makes frames of a run; pip install 'agentgauge[frames]', or iterate the"
            " rows, which needs no package"
        ) from None
