"""The headline figure of each benchmark, which says how good a model is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentgauge.core.capabilities import CombinedScores, headline_of, presentation_of
from agentgauge.core.task import Task
from agentgauge_reports.leaderboard import combined_value, interval, not_selected, number
from agentgauge_reports.leaderboards import mostly_broken


@dataclass(frozen=True, slots=True)
class Headline:
    """A headline figure. ``value`` and the interval are None if the run lacks a part of the figure."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int | None  # samples; None for a score over several tasks
    why: str = ""  # why it has no value: of a figure over groups, and of a score over several tasks

    def texts(self) -> tuple[str, str]:
        """Value and interval as tables show them."""
        is_part = self.n is None and self.value is None
        return "incomplete" if is_part else number(self.value), interval(self.low, self.high)


def headline(summary: Mapping[str, Any], benchmark: str, tasks: Sequence[Task]) -> Headline | None:
    """The headline of a benchmark: the last of its combined scores, which covers all of its tasks; the last one that
    the run has all tasks of, if some were not selected; without one the headline of its tasks. ``tasks``: the
    benchmark's tasks in the run. None if the run has no figure."""
    scores = [item for part in summary["capabilities"].get(benchmark, {}).values() for item in part.items()]
    selected = [(name, score) for name, score in scores if not not_selected(score)]
    if selected:
        name, score = selected[-1]
        of_all = tasks[0].combined_headline if isinstance(tasks[0], CombinedScores) and score is scores[-1][1] else ""
        return Headline(of_all or name, score["value"], score.get("low"), score.get("high"), None, _lacks(score))
    found = task_headline(summary, tasks)
    is_part = found is not None and bool(scores) and len(tasks) > 1
    return replace(found, name=f"{leading(tasks).name.partition('.')[2]} {found.name}") if found and is_part else found


def _lacks(score: Mapping[str, Any]) -> str:
    return combined_value(score).partition(", ")[2] if score["value"] is None else ""


def headlines(summary: Mapping[str, Any], benchmark: str, tasks: Sequence[Task]) -> list[Headline | None]:
    """The headline of a benchmark, and the second one if the benchmark names one."""
    task = leading(tasks)
    second = _figure(summary, task, [presentation_of(task).second_headline])
    return [headline(summary, benchmark, tasks), *([second] if second else [])]


def leading(tasks: Sequence[Task]) -> Task:
    """The first task that names its headline, else the first."""
    return next((task for task in tasks if presentation_of(task).headline), tasks[0])


def task_headline(summary: Mapping[str, Any], tasks: Sequence[Task]) -> Headline | None:
    """The figure of the leading task; None if most of its cases are broken."""
    task = leading(tasks)
    return _figure(summary, task, [headline_of(task), *presentation_of(task).published])


def _figure(summary: Mapping[str, Any], task: Task, wanted: Sequence[str]) -> Headline | None:
    """The first of the ``wanted`` figures that a task has."""
    part = summary["tasks"][task.name]
    name = next((each for each in wanted if each in part["metrics"]), "")
    if not name or mostly_broken(part):
        return None
    metric = part["metrics"][name]
    return Headline(name, metric["value"], metric["low"], metric["high"], metric["n"], metric.get("why", ""))
