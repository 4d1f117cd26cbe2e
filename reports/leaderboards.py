"""The published tables: where their rows are, their columns in the published order, and which figure of ours stands
below each.

The rows themselves are in the benchmarks' folders, ``reference/*.json``, as they were published.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

Figure = tuple[str, str]
"""Ours: a task and its metric, or ``domains`` or ``capabilities`` and a name of ``summary["capabilities"]``."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a published table."""

    key: str  # in the file
    title: str  # as printed
    ours: Figure | None = None  # None: what no run of ours has


@dataclass(frozen=True, slots=True)
class Board:
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
        """The published rows: ``{"model", column title: value or None}``, in the published order."""
        found: Any = _content(*self.file)
        for key in self.place:
            found = found[key]
        return [
            {
                "model": row["model"],
                **{column.title: _scaled(row.get(column.key), self.factor) for column in self.columns},
            }
            for row in found
        ]

    def ours(self, summary: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Column title → ``{"value", "low", "high", "n"}`` of this run; without the columns that it has nothing of."""
        return {
            column.title: found
            for column in self.columns
            if column.ours and (found := _figure(summary, self.benchmark, *column.ours))
        }

    @property
    def tasks(self) -> list[str]:
        """Tasks whose metrics stand in the table themselves."""
        return list(
            dict.fromkeys(column.ours[0] for column in self.columns if column.ours and column.ours[0] not in COMBINED)
        )


COMBINED = ("domains", "capabilities")


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


def _columns(task: str, *pairs: tuple[str, str]) -> tuple[Column, ...]:
    """Columns whose printed name is our metric's."""
    return tuple(Column(key, title, (task, title)) for key, title in pairs)


# -- GTA-Atomic

_ATOMIC_COLUMNS = (
    *(Column(key, key, ("gta_atomic.step", f"{key}Acc")) for key in ("Inst", "Tool", "Arg", "Summ")),
    *(Column(key, key, ("gta_atomic.e2e", key)) for key in "POLC"),
    Column("Ans", "Ans", ("gta_atomic.e2e", "AnsAcc")),
    Column("Ans+I", "Ans+I", ("gta_atomic.e2e", "AnsAcc+I")),
)
_ATOMIC = [
    Board(
        "GTA-Atomic",
        title,
        source,
        date,
        ("bench_gta", "atomic/reference/gta_atomic.json"),
        ("leaderboards", number, "rows"),
        _ATOMIC_COLUMNS,
    )
    for number, (title, source, date) in enumerate(
        (
            ("GTA, mid 2024 (release table)", "README of the benchmark's first release", "2024-07"),
            ("GTA, March 2025", "README of the benchmark", "2025-03"),
            ("GTA-Atomic, February 2026", "README of the benchmark, later edition", "2026-02"),
        )
    )
]

# -- GTA-Workflow

_WORKFLOW = Board(
    "GTA-Workflow",
    "GTA-Workflow (GTA-2), main results",
    "arXiv:2604.15715",
    "2026-04",
    ("bench_gta", "workflow/reference/gta_workflow.json"),
    ("main_results",),
    _columns(
        "gta_workflow",
        ("tool_sr", "Tool SR"),
        ("p_sr", "P-SR"),
        ("o_sr", "O-SR"),
        ("l_sr", "L-SR"),
        ("c_sr", "C-SR"),
        ("root_score", "Root Score"),
        ("leaf_sr", "Leaf SR"),
        ("root_sr", "Root SR"),
    ),
)

# -- WildToolBench

_WILD_TABLES: Mapping[str, tuple[str, tuple[Column, ...]]] = {
    "main": (
        "main results",
        _columns(
            "wild",
            ("single_tool", "Single-Tool"),
            ("multi_tool", "Multi-Tool"),
            ("clarify", "Clarify"),
            ("chat", "Chat"),
            ("task_1", "Task 1"),
            ("task_2", "Task 2"),
            ("task_3", "Task 3"),
            ("task_4", "Task 4"),
            ("task_accuracy", "Task"),
            ("session_accuracy", "Session"),
        ),
    ),
    "tool_orchestration": (
        "tool orchestration",
        _columns(
            "wild",
            ("parallel_accuracy", "Parallel"),
            ("sequential_accuracy", "Sequential"),
            ("mixed_accuracy", "Mixed"),
            ("multi_tool_accuracy", "Multi-Tool"),
            ("progress_sequential", "Progress Sequential"),
            ("progress_mixed", "Progress Mixed"),
            ("progress_overall", "Progress"),
            ("optimal_parallel", "Optimal Parallel"),
            ("optimal_mixed", "Optimal Mixed"),
            ("optimal_overall", "Optimal"),
        ),
    ),
    "error_distribution": (
        "errors",
        _columns(
            "wild",
            ("refusal", "Refusal"),
            ("wrong_name_or_missing_info", "Missing Info"),
            ("wrong_refusal", "Wrong Refusal"),
            ("redundant_call", "Redundant Call"),
            ("call_error", "Call Error"),
            ("early_termination", "Early Termination"),
            ("param_type_error", "Param Type Error"),
            ("param_hallucination", "Param Hallucination"),
            ("param_value_error", "Param Value Error"),
        ),
    ),
}
_WILD = [
    Board(
        "WildToolBench",
        f"WildToolBench, {title} ({words})",
        "arXiv:2604.06185, ICLR 2026",
        "2026",
        ("bench_wild", "reference/wild.json"),
        (edition, table),
        columns,
    )
    for edition, words in (("full", "all models"), ("main_body", "main body"))
    for table, (title, columns) in _WILD_TABLES.items()
]

# -- Apple MMAU

_PAPER = "arXiv:2407.18961"


def _mmau(
    table: str,
    title: str,
    columns: Sequence[Column],
    *,
    source: str = _PAPER,
    date: str = "2024-07",
    factor: float = 1.0,
) -> Board:
    file = ("bench_mmau", "reference/mmau.json")
    return Board("Apple MMAU", title, source, date, file, ("tables", table, "rows"), tuple(columns), factor)


_SKILLS = (
    ("problem_solving_without_tool_use", "Problem-solving w/o tool use"),
    ("problem_solving_with_tool_use", "Problem-solving w/ tool use"),
    ("understanding", "Understanding"),
    ("reasoning", "Reasoning"),
    ("planning", "Planning"),
    ("self_correction_without_tool_use", "Self-correction w/o tool use"),
    ("self_correction_with_tool_use", "Self-correction w/ tool use"),
)
_DOMAINS = (
    ("tool_use", "Tool-use"),
    ("dag_qa", "DAG QA"),
    ("ds_ml", "DS & ML"),
    ("code_contests", "Contest-level coding"),
    ("math", "Math"),
)


def _mmau_task(key: str, title: str, task: str, metric: str = "Accuracy") -> Column:
    return Column(key, title, (f"mmau.{task}", metric))


_MMAU = [
    _mmau("table_2_domain", "MMAU, domains", [Column(key, title, ("domains", key)) for key, title in _DOMAINS]),
    _mmau(
        "table_3_capability",
        "MMAU, capabilities",
        [Column(key, title, ("capabilities", key)) for key, title in _SKILLS],
    ),
    _mmau(
        "table_7_math",
        "MMAU, mathematics",
        [
            _mmau_task("standard", "Standard", "math_standard"),
            _mmau_task("comprehend_plus", "Comprehend+", "math_comprehend"),
            _mmau_task("solver_shift", "Solver-shift", "math_solver"),
            _mmau_task("planner_shift", "Planner-shift", "math_planner"),
        ],
    ),
    _mmau(
        "table_8_tool_use",
        "MMAU, tool use",
        [
            _mmau_task("single_step", "Single-step", "tool_single"),
            _mmau_task("parallel", "Parallel", "tool_parallel"),
            _mmau_task("multi_step_double", "Multi-step, double", "tool_double"),
            _mmau_task("multi_step_triple", "Multi-step, triple", "tool_triple"),
        ],
        factor=100.0,
    ),
    _mmau(
        "table_9_ds_ml",
        "MMAU, data science and machine learning",
        [
            _mmau_task("e2e", "E2E", "ds_e2e"),
            _mmau_task("gpt4_qa", "GPT-4 QA", "ds_codegen"),
            _mmau_task("oracle_execution", "Oracle execution", "ds_oracle"),
            _mmau_task("retry", "Retry", "ds_retry"),
        ],
    ),
    _mmau(
        "table_10_code_contests",
        "MMAU, contest-level coding",
        [
            _mmau_task("e2e_standard", "E2E standard", "contest_standard", "Pass Rate"),
            _mmau_task("problem_parsing", "Problem parsing", "contest_parsing"),
            _mmau_task("planner_shift", "Planner-shift", "contest_planner", "Pass Rate"),
            _mmau_task("solver_shift", "Solver-shift", "contest_solver", "Pass Rate"),
            _mmau_task("retry", "Retry", "contest_retry", "Pass Rate"),
        ],
    ),
    _mmau(
        "leaderboard_readme",
        "MMAU, leaderboard of the release",
        [
            _mmau_task("tool_use_plan", "Tool use, plan", "dag_reasoning"),
            Column("tool_use_execution", "Tool use, execution", ("domains", "tool_use")),
            _mmau_task("math", "Math", "math_standard"),
            _mmau_task("code_contests", "Code contests", "contest_standard", "Pass Rate"),
        ],
        source="README of the reference implementation",
        date="2024",
    ),
]

BOARDS: tuple[Board, ...] = (*_ATOMIC, _WORKFLOW, *_WILD, *_MMAU)
"""Every published table, by benchmark."""

EDITIONS: Mapping[tuple[str, str], str] = {
    **{(board.benchmark, board.title): f"{board.source}, {board.date}" for board in _ATOMIC},
    ("GTA-Workflow", "GTA-Workflow (GTA-2), 2026-04"): f"{_WORKFLOW.source}, {_WORKFLOW.date}",
    **{("WildToolBench", f"paper, {words}"): "arXiv:2604.06185, ICLR 2026" for words in ("all models", "main body")},
    ("Apple MMAU", "paper"): f"{_PAPER}, 2024-07",
    ("Apple MMAU", "leaderboard of the release"): "README of the reference implementation, 2024",
}
"""Where the rows of ``PublishedRows.published_rows`` were published: benchmark and edition → source and date."""
