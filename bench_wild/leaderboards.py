"""The published tables of WildToolBench."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import Leaderboard, columns_of

_TABLES = (
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


def leaderboards(published: Mapping[str, Any]) -> Sequence[Leaderboard]:
    """``published``: the content of ``reference/wild.json``."""
    return [
        Leaderboard(
            f"WildToolBench, {title} ({words})",
            "arXiv:2604.06185, ICLR 2026",
            "2026",
            columns_of("wild", columns),
            published[edition][table],
        )
        for edition, words in (("full", "all models"), ("main_body", "main body"))
        for table, title, columns in _TABLES
    ]
