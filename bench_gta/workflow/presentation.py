"""What reports show of GTA-Workflow: its kinds of failures, notes and doubts, and the files and the tree of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.presentation import Artifact, kinds
from agentgauge.core.text import counted
from agentgauge.core.types import Json, Score, Scoring
from bench_gta.workflow.data import CATEGORIES_OF_TASKS
from bench_gta.workflow.judge import scored
from bench_gta.workflow.metrics import Thresholds
from bench_gta.workflow.score import page

CITATION = """\
@misc{wang2026gta2,
  title = {{GTA-2}: Benchmarking General Tool Agents from Atomic Tool-Use to Open-Ended Workflows},
  author = {Wang, Jize and Liu, Xuanxuan and Li, Yining and Zhang, Songyang and Wang, Yijun and Shan, Zifei
            and Le, Xinyi and Chen, Cailian and Guan, Xinping and Tao, Dacheng},
  year = {2026},
  eprint = {2604.15715},
  archivePrefix = {arXiv},
}"""

KINDS = kinds(
    wrong_tool="invalid_action",
    stopped_early="no_answer, no_files, no_action",
    format="unreadable_calls",
    failed_code="tool_errors",
    judge="not_judged, unreadable_judgement",
)

SKILLS: Mapping[str, Sequence[str]] = {
    "reasoning": ("logic",),
    "planning": ("planning_decision",),
    "perception": ("perception",),
    "delivery": (
        "creative_design",
        "data_analysis",
        "education_instruction",
        "marketing_strategy",
        "planning_decision",
    ),
}

TITLE = "workflows"

_NO_REPLY = "no reply of the judge could be used, although it was asked again"


def category(tags: Sequence[str]) -> str:
    """The task's category."""
    return next((title for title, tag in CATEGORIES_OF_TASKS.items() if tag in tags), TITLE)


def notes(metrics: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
    """The thresholds, which are not published, and the figures at other thresholds
    (docs/benchmarks/gta_workflow.md#thresholds)."""
    rows = [(column, metrics[column]) for column in ("Leaf SR", "Root SR")]
    if any(metric["value"] is None for _, metric in rows):
        return ()
    used = ", ".join(f"{column} from {metric['threshold']:g}" for column, metric in rows)
    notes = [f"thresholds (of 10, inclusive, our choice): {used}; at other ones:"]
    root = metrics["Root SR"]
    if stored := root.get("stored_votes", 0):
        kept = "were stored ones, which this judge had given before"
        notes.insert(0, f"{stored:g} of {root['votes']:g} verdicts of the judge {kept} (--judge-cache)")
    for column, metric in rows:
        notes.append(f"{column} at " + ", ".join(f"{at}: {value:.2f}" for at, value in metric["at"].items()))
    if otherwise := metrics["Root SR"].get("shown_otherwise", 0):
        shown = "files as the other --scoring shows them; a new run would show other files"
        notes.insert(0, f"{otherwise:.0f} tasks were judged on {shown}")
    return notes


def doubts(part: Mapping[str, Any]) -> Sequence[str]:
    """What makes the verdicts of the judge doubtful."""
    root, found = part["metrics"].get("Root SR", {}), []
    if unreadable := root.get("unreadable", 0):
        found.append(
            f"gta_workflow: {unreadable:g} of {root['votes']:g} replies of the judge hold no score in the form asked"
            " for; they count as 0 or by a number found in them, and say nothing about the agent"
        )
    if broken := part["causes"].get("judge", 0):
        found.append(f"gta_workflow: {broken} of {counted(part['planned'], 'case')} have no verdict: {_NO_REPLY}")
    return found


def artifacts(output: Json, score: Score | None, scoring: Scoring, *, thresholds: Thresholds) -> Sequence[Artifact]:
    """The checkpoint tree, and the deliverables."""
    found = scored(output["full_tree"], output["judged"]["leaves"], strict=scoring == "strict")
    tree = Artifact("checkpoints", html=page(found, output["judged"]["judge"], thresholds))
    return [tree, *(Artifact(Path(path).name, path) for path in output["delivered"])]
