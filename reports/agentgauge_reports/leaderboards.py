"""The published tables: where their rows are, their columns in the published order, and which figure of ours stands
below each.

The rows themselves are in the benchmarks' folders, ``reference/*.json``, as they were published.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

Figure = tuple[str, str]
"""Ours: a task and its metric, or ``domains`` or ``capabilities`` and a name of ``summary["capabilities"]``."""

COMBINED = ("domains", "capabilities")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a published table."""

    key: str  # in the file
    title: str  # as printed
    ours: Figure


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A published table."""

    benchmark: str
    title: str
    source: str
    date: str  # of publication: year, or year and month
    file: tuple[str, str]  # package, and path in it
    place: tuple[str | int, ...]  # of the rows in the file
    columns: tuple[Column, ...]
    factor: float = 1.0  # of the printed values, to the unit of ours

    def rows(self) -> list[dict[str, Any]]:
        """The published rows: ``{"model", "this_run": False, "values": {column title: value or None}}``, in order."""
        found: Any = _content(*self.file)
        for key in self.place:
            found = found[key]
        return [
            {
                "model": row["model"],
                "this_run": False,
                "values": {column.title: _scaled(row.get(column.key), self.factor) for column in self.columns},
            }
            for row in found
        ]

    def ours(self, summary: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Column title → ``{"value", "low", "high", "n"}`` of this run; without the columns that it has nothing of."""
        found = {column.title: _figure(summary, self.benchmark, *column.ours) for column in self.columns}
        return {title: figure for title, figure in found.items() if figure}


@cache
def _content(package: str, path: str) -> Any:
    return json.loads(files(package).joinpath(path).read_text(encoding="utf-8"))


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else round(value * factor, 6)


def _figure(summary: Mapping[str, Any], benchmark: str, part: str, name: str) -> dict[str, Any] | None:
    if part in COMBINED:
        score = summary["capabilities"].get(benchmark, {}).get(part, {}).get(name)
        return score and {"value": score["value"], "low": None, "high": None, "n": None}
    metric = summary["tasks"].get(part, {}).get("metrics", {}).get(name)
    return metric and {key: metric[key] for key in ("value", "low", "high", "n")}


def _titles(text: str) -> list[tuple[str, str]]:
    """Titles and keys, from ``Title | Title = key``. A key not given is the title in lower case with underscores."""
    parts = (part.partition(" = ") for part in text.split(" | "))
    return [(title, key or re.sub(r"\W+", "_", title.lower())) for title, _, key in parts]


def _columns(task: str, titles: str) -> tuple[Column, ...]:
    """Columns whose printed name is our metric's."""
    return tuple(Column(key, title, (task, title)) for title, key in _titles(titles))


_ATOMIC = [
    Leaderboard(
        "GTA-Atomic",
        title,
        source,
        date,
        ("bench_gta", "atomic/reference/gta_atomic.json"),
        ("leaderboards", number, "rows"),
        (
            *(Column(key, key, ("gta_atomic.step", f"{key}Acc")) for key in ("Inst", "Tool", "Arg", "Summ")),
            *(Column(key, key, ("gta_atomic.e2e", key)) for key in "POLC"),
            Column("Ans", "Ans", ("gta_atomic.e2e", "AnsAcc")),
            Column("Ans+I", "Ans+I", ("gta_atomic.e2e", "AnsAcc+I")),
        ),
    )
    for number, (title, source, date) in enumerate(
        (
            ("GTA, mid 2024 (release table)", "README of the benchmark's first release", "2024-07"),
            ("GTA, March 2025", "README of the benchmark", "2025-03"),
            ("GTA-Atomic, February 2026", "README of the benchmark, later edition", "2026-02"),
        )
    )
]

_WORKFLOW = Leaderboard(
    "GTA-Workflow",
    "GTA-Workflow (GTA-2), main results",
    "arXiv:2604.15715",
    "2026-04",
    ("bench_gta", "workflow/reference/gta_workflow.json"),
    ("main_results",),
    _columns("gta_workflow", "Tool SR | P-SR | O-SR | L-SR | C-SR | Root Score | Leaf SR | Root SR"),
)

_WILD_TABLES = (
    (
        "main",
        "main results",
        "Single-Tool | Multi-Tool | Clarify | Chat | Task 1 | Task 2 | Task 3 | Task 4 | Task = task_accuracy"
        " | Session = session_accuracy",
    ),
    (
        "tool_orchestration",
        "tool orchestration",
        "Parallel = parallel_accuracy | Sequential = sequential_accuracy | Mixed = mixed_accuracy"
        " | Multi-Tool = multi_tool_accuracy | Progress Sequential | Progress Mixed | Progress = progress_overall"
        " | Optimal Parallel | Optimal Mixed | Optimal = optimal_overall",
    ),
    (
        "error_distribution",
        "errors",
        "Refusal | Missing Info = wrong_name_or_missing_info | Wrong Refusal | Redundant Call | Call Error"
        " | Early Termination | Param Type Error | Param Hallucination | Param Value Error",
    ),
)
_WILD = [
    Leaderboard(
        "WildToolBench",
        f"WildToolBench, {title} ({words})",
        "arXiv:2604.06185, ICLR 2026",
        "2026",
        ("bench_wild", "reference/wild.json"),
        (edition, table),
        _columns("wild", columns),
    )
    for edition, words in (("full", "all models"), ("main_body", "main body"))
    for table, title, columns in _WILD_TABLES
]

_PAPER = "arXiv:2407.18961"
_PASS_RATE = ("contest_standard", "contest_planner", "contest_solver", "contest_retry")


def _mmau(
    table: str, title: str, titles: str, ours: str, source: str = _PAPER, date: str = "2024-07", factor: float = 1.0
) -> Leaderboard:
    """``ours``: one of COMBINED, or the task of each column."""
    columns = _titles(titles)
    figures = [(ours, key) for _, key in columns] if ours in COMBINED else [_mmau_figure(name) for name in ours.split()]
    return Leaderboard(
        "Apple MMAU",
        f"MMAU, {title}",
        source,
        date,
        ("bench_mmau", "reference/mmau.json"),
        ("tables", table, "rows"),
        tuple(Column(key, name, figure) for (name, key), figure in zip(columns, figures, strict=True)),
        factor,
    )


def _mmau_figure(name: str) -> Figure:
    if name == "tool_use":
        return "domains", name
    return f"mmau.{name}", "Pass Rate" if name in _PASS_RATE else "Accuracy"


_MMAU = [
    _mmau(
        "table_2_domain",
        "domains",
        "Tool-use | DAG QA | DS & ML | Contest-level coding = code_contests | Math",
        "domains",
    ),
    _mmau(
        "table_3_capability",
        "capabilities",
        "Problem-solving w/o tool use = problem_solving_without_tool_use"
        " | Problem-solving w/ tool use = problem_solving_with_tool_use | Understanding | Reasoning | Planning"
        " | Self-correction w/o tool use = self_correction_without_tool_use"
        " | Self-correction w/ tool use = self_correction_with_tool_use",
        "capabilities",
    ),
    _mmau(
        "table_7_math",
        "mathematics",
        "Standard | Comprehend+ = comprehend_plus | Solver-shift | Planner-shift",
        "math_standard math_comprehend math_solver math_planner",
    ),
    _mmau(
        "table_8_tool_use",
        "tool use",
        "Single-step | Parallel | Multi-step, double | Multi-step, triple",
        "tool_single tool_parallel tool_double tool_triple",
        factor=100.0,
    ),
    _mmau(
        "table_9_ds_ml",
        "data science and machine learning",
        "E2E | GPT-4 QA = gpt4_qa | Oracle execution | Retry",
        "ds_e2e ds_codegen ds_oracle ds_retry",
    ),
    _mmau(
        "table_10_code_contests",
        "contest-level coding",
        "E2E standard | Problem parsing | Planner-shift | Solver-shift | Retry",
        "contest_standard contest_parsing contest_planner contest_solver contest_retry",
    ),
    _mmau(
        "leaderboard_readme",
        "leaderboard of the release",
        "Tool use, plan | Tool use, execution | Math | Code contests",
        "dag_reasoning tool_use math_standard contest_standard",
        "README of the reference implementation",
        "2024",
    ),
]

LEADERBOARDS: tuple[Leaderboard, ...] = (*_ATOMIC, _WORKFLOW, *_WILD, *_MMAU)
"""Every published table, by benchmark."""


def published_in(benchmark: str, edition: str) -> tuple[str, str]:
    """Source and date of an edition of ``PublishedRows.published_rows``: those of the leaderboard of that name,
    else of the benchmark's first; empty without one."""
    known = [one for one in LEADERBOARDS if one.benchmark == benchmark]
    named = [one for one in known if edition in one.title]
    return next(((one.source, one.date) for one in named or known), ("", ""))
