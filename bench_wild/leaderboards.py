"""The published tables of WildToolBench, and their paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import Column, Leaderboard, columns_of, footnotes_of

CITATION = """\
@inproceedings{yu2026wildtoolbench,
  title = {Benchmarking {LLM} Tool-Use in the Wild},
  author = {Yu, Peijie and Liu, Wei and Yang, Yifan and Li, Jinjian and Zhang, Zelong and Feng, Xiao and Zhang, Feng},
  booktitle = {The Fourteenth International Conference on Learning Representations},
  year = {2026},
  eprint = {2604.06185},
  archivePrefix = {arXiv},
}"""
"""The paper, as BibTeX; authors in the order of the release."""

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


_SUBTYPES = (
    Column("overall", "Overall", "wild", "Subsequent Turn"),
    *columns_of("wild", "Partial Information | Coreferential Reference | Long-Range Dependency"),
)
_PAPER = ("arXiv:2604.06185, ICLR 2026", "2026")


def leaderboards(published: Mapping[str, Any]) -> Sequence[Leaderboard]:
    """``published``: the content of ``reference/wild.json``."""
    printed = [
        Leaderboard(
            f"WildToolBench, {title} ({words})",
            *_PAPER,
            columns_of("wild", columns),
            published[edition][table],
            footnotes=footnotes_of(published, f"{edition}.{table}"),
        )
        for edition, words in (("full", "all models"), ("main_body", "main body"))
        for table, title, columns in _TABLES
    ]
    drawn = "turn_subtypes_from_figure"
    title = "WildToolBench, turn subtypes (read from a figure, one decimal)"
    return [
        *printed,
        Leaderboard(title, *_PAPER, _SUBTYPES, published[drawn], footnotes=footnotes_of(published, drawn)),
    ]
