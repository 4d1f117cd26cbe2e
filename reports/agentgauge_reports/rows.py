"""The rows of a finished run, and tables of them, which can be iterated, turned into a frame of pandas or polars, and
written as CSV.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Generic, TextIO, TypeVar, get_type_hints

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Status


@dataclass(frozen=True, slots=True)
class SampleResult:
    """How one attempt at a sample ended: a case of the run."""

    task: str  # "wild"
    sample: str  # the data set's own id
    attempt: int  # from 1
    status: Status
    passed: bool | None  # None where the case is broken or missing
    labels: tuple[str, ...]  # the benchmark's own, why it is wrong
    kind: str  # why it did not pass, in words that all benchmarks share; "" where it passed or is missing
    tags: tuple[str, ...]  # the keywords of ``-k``
    values: Mapping[str, float]  # what the sample adds to the sums that figures are made of
    group: str  # samples of one group depend on each other; "": independent of all others
    error: str | None  # why it is broken
    requests: int
    cut_replies: int | None  # of the tested model, cut at a token limit; None where it is not known
    prompt_tokens: int
    completion_tokens: int
    usd: float  # US dollars; 0 where the model's prices are not known
    cached_requests: int  # of the requests: answered from the folder of --cache
    seconds: float
    working_seconds: float  # without waiting for slots; the same in runs of earlier versions
    finished: float  # seconds since the epoch; 0 where it is missing


@dataclass(frozen=True, slots=True)
class CallResult:
    """One exchange of a case with a model or with a tool. The messages of a request are in the case's record."""

    task: str
    sample: str
    attempt: int
    number: int  # within the case, from 1
    is_tool: bool
    name: str  # of the model or of the tool
    role: str  # of a model other than the tested one: "judge"
    start: float  # seconds since the epoch
    seconds: float  # without waiting for slots
    cached: float | None  # seconds of the first answer, where it came from the folder of --cache
    arguments: str | None  # of a tool's call, as JSON
    output: str  # the model's text, or the texts that the tool gave
    tool_calls: str | None  # that the model asked for, as JSON
    error: str | None


@dataclass(frozen=True, slots=True)
class MetricResult:
    """One figure of the run with its 95 % interval. Shares are in per cent."""

    key: str  # "wild.Task": the task and the name, or the benchmark and the name
    benchmark: str  # "WildToolBench"
    task: str  # "" for a score that the benchmark makes of several tasks
    name: str  # "Task", "pass@3", "pass^3"; "domains.math" of several tasks
    value: float | None  # None where nothing counts for it
    low: float | None
    high: float | None
    n: int | None  # samples that it rests on; None for a score of several tasks
    broken: int | None  # of these, broken cases, which count as the original counts them
    value_clean: float | None  # without broken cases; None where it does not differ, or where no other case counts
    low_clean: float | None
    high_clean: float | None
    n_clean: int | None
    is_headline: bool  # it stands for its task
    is_count: bool  # it counts something and is no share
    is_comparable: bool  # the run's figures of the task may stand beside published ones
    limit: str  # "--limit=16" where this option chose the samples; "": it left none out
    warning: str  # why the task's figures say nothing of the model, as where most of its cases are broken; else ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the 95 % interval; None if the figure has no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


# -- tables

AnyRow = TypeVar("AnyRow")

_PANDAS: Mapping[Any, str] = {
    bool: "bool",
    bool | None: "boolean",
    int: "int64",
    int | None: "Int64",
    float: "float64",
    float | None: "float64",
}
"""Type of a field → dtype. All other columns hold objects."""


class RowTable(Generic[AnyRow]):
    """Rows, each a frozen data class. Iterating reads them anew, so that a table of a long run takes no memory."""

    def __init__(self, kind: type[AnyRow], rows: Callable[[], Iterable[AnyRow]]) -> None:
        """``kind``: the data class. ``rows``: called for each iteration of the table."""
        self.kind = kind
        self.names = tuple(field.name for field in fields(kind))  # type: ignore[arg-type]
        self._rows = rows

    def __iter__(self) -> Iterator[AnyRow]:
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


class RowList(RowTable[AnyRow]):
    """Rows that need no records: they have a length, and can be indexed."""

    def __init__(self, kind: type[AnyRow], count: int, row: Callable[[int], AnyRow]) -> None:
        """``row``: called with an index from 0 for each access to that row."""
        self._places = range(count)
        self._row = row
        super().__init__(kind, lambda: map(row, self._places))

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: int) -> AnyRow:
        """Raises IndexError."""
        return self._row(self._places[place])


def cells(row: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of each column of a row: see ``RowTable.columns``.

    A lone surrogate, which a model may write, becomes a question mark.
    """
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


# -- CSV that a spreadsheet shows and does not calculate

_UNSAFE = re.compile(r"^[=+@\t\n＝＋＠－]|^-(?!\d+(\.\d+)?\Z)|\r")
"""A text that a spreadsheet takes for a formula, or that has a bare carriage return: the csv module writes that without
quotes before Python 3.13, and a reader takes it for the end of a row."""


def write_rows(stream: TextIO, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows to a stream that was opened with ``newline=""``. Lists and unsafe texts are written as JSON."""
    csv.writer(stream, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    is_unsafe = isinstance(value, str) and _UNSAFE.search(value)
    return json.dumps(value, ensure_ascii=False) if is_unsafe or isinstance(value, list) else value
