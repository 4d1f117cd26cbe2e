"""Scores as a task gives them, checked: whether figures can be made of them."""

from __future__ import annotations

from collections.abc import Mapping

from agentgauge.core.errors import Fault
from agentgauge.core.index import Index, Row
from agentgauge.core.task import Task
from agentgauge.core.types import MOST, Score, Scoring


def broken_score(task: Task, index: Index, row: Row, scoring: Scoring, similarity: str) -> Score:
    """The values of a broken case where it counts as in the original."""
    return checked(task, task.score(task.data.load(index, row, task.name), None, scoring, similarity))


def checked(task: Task, score: Score) -> Score:
    """The return value of a task's ``score``, checked. Raises Fault if no figures can be made of it."""
    wrong = ""
    if not isinstance(score, Score):
        wrong = f"returned {score!r}; return a Score"
    elif not isinstance(score.passed, bool):
        wrong = f"returned a Score with passed {score.passed!r}; it must be True or False"
    elif not isinstance(score.values, Mapping) or isinstance(score.labels, str):
        wrong = "returned a Score whose values are not a mapping, or whose labels are not a tuple of texts"
    elif strange := [name for name, value in score.values.items() if not _is_number(value)]:
        value = score.values[strange[0]]
        wrong = f"returned a Score with {strange[0]} {value!r} among its values; these are numbers up to {MOST:.0e}"
    if wrong:
        raise Fault(f"{task.name}: score {wrong}", cause="internal error")
    return score


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and -MOST <= value <= MOST
