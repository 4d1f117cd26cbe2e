"""From scores to WildToolBench's tables (docs/benchmarks/wild.md#metrics; for the earlier evaluator
docs/benchmarks/wild.md#evaluator-of-2025).

Every task contributes counters; the tables are functions of their sums by session, so that intervals take into account
that the tasks of a session are dependent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentgauge.core.estimate import MetricFormula, totals
from agentgauge.core.types import Scoring
from bench_wild.fixes import PARITY, Fix, Fixes, fixes_of
from bench_wild.labels import (
    CHAT,
    CLARIFY,
    COREFERENTIAL,
    FIRST_TURN,
    LONG_RANGE,
    MIXED,
    PARALLEL,
    PARTIAL,
    SEQUENTIAL,
    SINGLE,
)

Values = Mapping[str, float]

STRUCTURED = (PARALLEL, SEQUENTIAL, MIXED)
MULTI = "Multi-Tool"
POSITIONS = range(4)
TASKS_PER_SESSION = len(POSITIONS)

Kinds = tuple[str, ...]
"""Kinds of tasks, each a counter of its own; for every kind there is a second counter of what is done well in it."""

_ACCURACY: Mapping[str, Kinds] = {
    **{name: (name,) for name in (SINGLE, MULTI, CLARIFY, CHAT)},
    **{f"Task {place + 1}": (f"position {place}",) for place in POSITIONS},
    "Task": ("task",),
    "Session": ("session",),
    "Parallel": (PARALLEL,),
    "Sequential": (SEQUENTIAL,),
    "Mixed": (MIXED,),
}
_PROGRESS: Mapping[str, Kinds] = {
    "Progress": (f"steps {SEQUENTIAL}", f"steps {MIXED}"),
    "Progress Sequential": (f"steps {SEQUENTIAL}",),
    "Progress Mixed": (f"steps {MIXED}",),
    "Completed Nodes": (f"nodes {SEQUENTIAL}", f"nodes {MIXED}"),
}
"""The last is ours: the paper's definition, which the evaluator of April 2026 does not compute."""

_OPTIMAL: Mapping[str, Kinds] = {
    "Optimal": (f"path {PARALLEL}", f"path {MIXED}"),
    "Optimal Parallel": (f"path {PARALLEL}",),
    "Optimal Mixed": (f"path {MIXED}",),
}
_TURNS: Mapping[str, Kinds] = {
    FIRST_TURN: ("position 0",),
    "Subsequent Turn": tuple(f"position {place}" for place in POSITIONS[1:]),
    **{name: (name,) for name in (COREFERENTIAL, PARTIAL, LONG_RANGE)},
}
_RATES: Mapping[str, Kinds] = {**_ACCURACY, **_PROGRESS, **_OPTIMAL, **_TURNS}

COLUMNS = tuple(_RATES)
"""In the order of the leaderboards: types, positions, totals; orchestration; turn subtypes."""

PUBLISHED_AS: Mapping[str, str] = {
    "single_tool": SINGLE,
    "multi_tool": MULTI,
    "clarify": CLARIFY,
    "chat": CHAT,
    **{f"task_{place + 1}": f"Task {place + 1}" for place in POSITIONS},
    "task_accuracy": "Task",
    "session_accuracy": "Session",
    "parallel_accuracy": "Parallel",
    "sequential_accuracy": "Sequential",
    "mixed_accuracy": "Mixed",
    "progress_sequential": "Progress Sequential",
    "progress_mixed": "Progress Mixed",
    "progress_overall": "Progress",
    "optimal_parallel": "Optimal Parallel",
    "optimal_mixed": "Optimal Mixed",
    "optimal_overall": "Optimal",
    "partial_information": PARTIAL,
    "coreferential_reference": COREFERENTIAL,
    "long_range_dependency": LONG_RANGE,
}
"""Names in the published figures → column."""

ERROR_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "Refusal": ("reject tool calling",),
    "Missing Info": ("missing information in tool calling",),
    "Wrong Refusal": ("call function without reject",),
    "Redundant Call": ("redundant tool calling",),
    "Call Error": ("call the wrong function", "function name hallucination"),
    "Early Termination": ("early stop",),
    "Param Type Error": ("type error", "miss required params"),
    "Param Hallucination": ("param hallucination", "param value hallucination"),
    "Param Value Error": ("param value error",),
}
"""Columns of the published table of errors, with the classes of the earlier evaluator that they take together.

The classes' assignment follows the main-body table, as far as it is known (docs/benchmarks/wild.md#error-classes).
"""

ERROR_CLASSES = tuple(name for names in ERROR_COLUMNS.values() for name in names)

PARAMETER_KINDS = (
    "string",
    "string enum",
    "integer",
    "integer enum",
    "float",
    "boolean",
    "array",
    "object",
    "nested object",
    "other",
)
"""Kinds of parameters, by their schema, that the earlier evaluator counts wrong values of."""

DONE = " done"

ACTION = "action" + DONE
"""Tasks with the right actions, whatever their arguments. Scores of earlier versions of AgentGauge lack it."""

TRUE_FIRST = "true first"
"""First tasks that the earlier release calls multi-turn."""

MESSAGES, SEQUENCE = "messages ", "sequence "
"""Begin the counters by the number of messages that a task begins with, and by the action types up to the task."""

PARAMETER_TYPE = "parameter type "
"""Begins the counters of wrong parameters by the signature of their schema (earlier evaluator)."""


def task_values(
    *,
    type: str,
    position: int,
    subtype: str,
    structure: str | None,
    correct: bool,
    optimal: bool,
    steps: tuple[float, float],
    nodes: tuple[float, float],
    action: bool | None = None,
) -> dict[str, float]:
    """A task's contributions.

    ``type`` is a fine type or ``Multi-Tool``. ``structure``, one of STRUCTURED or None, decides about the columns of
    orchestration; by the evaluator of April 2026 it is the type. ``steps`` and ``nodes`` are pairs, done and to do, by
    the evaluator's definition and by the paper's. ``action``: whether the actions are right, regardless of their
    arguments; None if that is not known.
    """
    kinds = ["task", MULTI if MULTI in type else type, f"position {position}", *([structure] if structure else [])]
    if subtype != FIRST_TURN:
        kinds += [subtype] if position else [subtype, TRUE_FIRST]
    values: dict[str, float] = {} if action is None else {ACTION: float(action)}
    for kind in kinds:
        values |= {kind: 1.0, kind + DONE: float(correct)}
    if structure in (PARALLEL, MIXED):
        values |= {f"path {structure}": 1.0, f"path {structure}{DONE}": float(optimal)}
    if structure in (SEQUENTIAL, MIXED):
        for name, (done, of) in (("steps", steps), ("nodes", nodes)):
            values |= {f"{name} {structure}": float(of), f"{name} {structure}{DONE}": float(done)}
    return values


def situation_values(types: Sequence[str], messages: int, done: float) -> dict[str, float]:
    """A task's contributions by the types of the tasks up to it, and by the number of messages that it begins with."""
    sequence = ", ".join(MULTI if MULTI in type else type for type in types)
    kinds = (f"{MESSAGES}{messages}", f"{SEQUENCE}{sequence}")
    return dict.fromkeys(kinds, 1.0) | {kind + DONE: done for kind in kinds}


def session_values(tasks: Sequence[Values], fixes: Fixes) -> dict[str, float]:
    """A session's contributions: its tasks', and whether all of them are correct.

    Where tasks are means of several attempts, the session's is the chance that attempts put together at random are all
    correct. In a file of results, a session without any is a correct one, as upstream, unless Fix.WHOLE_SESSIONS.
    """
    values = totals(tasks)
    if Fix.WHOLE_SESSIONS not in fixes or len(tasks) == TASKS_PER_SESSION:
        values |= {"session": 1.0, "session" + DONE: math.prod(task["task" + DONE] for task in tasks)}
    return values


def formula(scoring: Scoring) -> MetricFormula:
    """The tables' row in percent. Sessions are the independent units, because the tasks of a session are dependent.

    With scores of the earlier evaluator there are further its error columns, in percent of all errors, and counts of
    wrong values by kind of parameter.
    """
    fixes = fixes_of(scoring)
    columns = _columns(fixes)
    return MetricFormula(
        lambda sums: _percentages(sums, columns),
        {**columns, **dict.fromkeys(ERROR_COLUMNS, ("errors",))},
        join=lambda tasks: session_values(tasks, PARITY),  # which sessions are whole, the run knows
    )


def _columns(fixes: Fixes) -> Mapping[str, Kinds]:
    if Fix.NODE_PROGRESS not in fixes:
        return _RATES
    return {name: tuple(kind.replace("steps ", "nodes ") for kind in kinds) for name, kinds in _RATES.items()}


def _percentages(sums: Values, columns: Mapping[str, Kinds]) -> dict[str, float | None]:
    values = {name: _percent(*_parts(sums, kinds)) for name, kinds in columns.items()}
    if "errors" in sums:
        for name, classes in ERROR_COLUMNS.items():
            values[name] = _percent(
                math.fsum(sums.get(f"error {each}", 0.0) for each in classes), sums.get("errors", 0.0)
            )
        values |= {f"Wrong Values, {kind}": sums.get(f"parameter {kind}", 0.0) for kind in PARAMETER_KINDS}
    return values


def _parts(sums: Values, kinds: Iterable[str]) -> tuple[float, float]:
    kinds = tuple(kinds)
    return math.fsum(sums.get(kind + DONE, 0.0) for kind in kinds), math.fsum(sums.get(kind, 0.0) for kind in kinds)


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


# -- the original's metric file


def official(sessions: Sequence[Values], model: str) -> dict[str, Any]:
    """The content of ``Wild-Tool-Bench_metric.json``: fractions with their counters, 0 where there is nothing."""
    sums = totals(sessions)

    def entry(
        *kinds: str, names: tuple[str, str, str] = ("accuracy", "correct_count", "total_count")
    ) -> dict[str, float]:
        part, whole = _parts(sums, kinds)
        return dict(zip(names, (part / whole if whole else 0.0, round(part), round(whole)), strict=True))

    progress = ("rate", "complete_step", "total_step")
    return {
        "model_name": model,
        "total_info": {"task": entry("task"), "session": entry("session")},
        "task_type_info": {name: entry(name) for name in (SINGLE, MULTI, *STRUCTURED, CLARIFY, CHAT)},
        "layer_info": {str(place): entry(f"position {place}") for place in POSITIONS},
        "turn_subtype_info": {name: entry(*kinds) for name, kinds in _TURNS.items()},
        "optimal_info": {
            "Total": entry(*_OPTIMAL["Optimal"]),
            PARALLEL: entry(f"path {PARALLEL}"),
            MIXED: entry(f"path {MIXED}"),
        },
        "progress_info": {
            "Total": entry(*_PROGRESS["Progress"], names=progress),
            SEQUENTIAL: entry(f"steps {SEQUENTIAL}", names=progress),
            MIXED: entry(f"steps {MIXED}", names=progress),
        },
    }
