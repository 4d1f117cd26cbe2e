"""``leaderboard.md``: this run's row between the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import PublishedRows, RealTools, presentation_of
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task
from agentgauge.core.tools import by_state
from reports.leaderboards import EDITIONS


def leaderboard(summary: Mapping[str, Any]) -> str:
    """A Markdown page with one table per benchmark and published edition."""
    run = summary["run"]
    by_benchmark: dict[str, list[Task]] = {}
    for name in summary["tasks"]:
        task = find_task(name)
        by_benchmark.setdefault(presentation_of(task).benchmark, []).append(task)
    parts = [f"# {run['model']}", ""]
    for benchmark, tasks in by_benchmark.items():
        parts += [f"## {benchmark}", "", *_notes(summary, tasks), ""]
        ours: dict[str, float | None] = {}
        for task in tasks:
            metrics = summary["tasks"][task.name]["metrics"]
            shown = presentation_of(task)
            ours |= {
                shown.leaderboard_columns.get(name, name): metrics[name]["value"]
                for name in shown.published
                if name in metrics
            }
        combined = summary["capabilities"].get(benchmark, {})
        if combined:
            parts += [*_combined(combined), ""]
        columns = list(ours)
        rows = [row for task in tasks if isinstance(task, PublishedRows) for row in task.published_rows()]
        for edition in dict.fromkeys(row["edition"] for row in rows):
            published = _joined([row for row in rows if row["edition"] == edition])
            source = EDITIONS.get((benchmark, edition))
            parts += [f"### {edition}", "", *([f"Published rows: {source}.", ""] if source else [])]
            parts += [*_table(columns, [{"model": f"**{run['model']} (this run)**", **ours}, *published]), ""]
        if not rows:
            parts += [*_table(columns, [{"model": f"**{run['model']} (this run)**", **ours}]), ""]
    return "\n".join(parts)


def _combined(parts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = ["![capabilities](capabilities.svg)", "", "| made of several tasks | value | missing |", "|---|---|---|"]
    for part, scores in parts.items():
        for name, score in scores.items():
            lines.append(f"| {part}: {name} | {number(score['value'])} | {', '.join(score['missing'])} |")
    return lines


def _notes(summary: Mapping[str, Any], tasks: Sequence[Task]) -> list[str]:
    """What a reader must know before comparing the rows."""
    run, notes = summary["run"], []
    for task in tasks:
        part = summary["tasks"][task.name]
        done = part["passed"] + part["wrong"]
        notes.append(
            f"- `{task.name}`: {done} of {part['planned']} cases scored, {part['broken']} broken, {part['missing']}"
            " missing."
        )
        notes += [f"- {note}" for note in task_notes(task, part)]
        notes += [f"- **Not comparable:** {reason}." for reason in not_comparable(run, task, part)]
    return list(dict.fromkeys(notes))


def task_notes(task: Task, part: Mapping[str, Any]) -> list[str]:
    """What a reader of a task's row must know, one sentence each."""
    found = list(presentation_of(task).notes(part["metrics"]))
    if count := part.get("stops"):  # runs of earlier versions do not count them
        cases = "1 case" if count == 1 else f"{count} cases"
        found.append(
            f"{task.name}: the published evaluator stops on replies of {cases} (`stops`); they count as invalid here"
        )
    if uncounted := part.get("uncounted"):
        cases = "1 broken case is" if uncounted["cases"] == 1 else f"{uncounted['cases']} broken cases are"
        found.append(
            f"{task.name}: {cases} in no figure: counting them as the original does failed ({uncounted['why']})"
        )
    return found


def not_comparable(run: Mapping[str, Any], task: Task, part: Mapping[str, Any]) -> list[str]:
    """Why this run's row of a task may not stand beside published ones. Empty if it may, or if there are none."""
    if not isinstance(task, PublishedRows):
        return []
    reasons = []
    if not run["data"][task.name]["official"]:
        reasons.append("bundled samples instead of the official data")
    if not part["comparable"]:
        reasons.append(f"similarity {part['similarity']} instead of the published model")
    if run["dialect"] not in task.published_dialects:
        reasons.append(f"dialect {run['dialect']} instead of {task.published_dialects[0]}")
    if run["scoring"] != "parity":
        reasons.append("strict scoring")
    if isinstance(task, RealTools):
        reasons += by_state(run["tools"], reasons=False)
    reasons += task.not_comparable(run["options"])
    reasons += task.not_official(run["data"][task.name].get("differences", ()))
    if left_out := run["data"][task.name]["left_out"]:
        reasons.append(f"{len(left_out)} left out as invalid")
    if part["planned"] < run["data"][task.name]["samples"] or part["missing"]:
        reasons.append("not every sample was run")
    return reasons


def _joined(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of several tasks for one model, side by side."""
    joined: dict[str, dict[str, Any]] = {}
    for row in rows:
        joined.setdefault(row["model"], {}).update(row)
    return list(joined.values())


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    head = ["| model | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    return head + [
        f"| {row['model']} | " + " | ".join(number(row.get(column)) for column in columns) + " |" for row in rows
    ]


def number(value: float | None, *, count: bool = False) -> str:
    """Two decimals, as published; a count without; a dash where there is no value."""
    return "–" if value is None else f"{value:.0f}" if count else f"{value:.2f}"
