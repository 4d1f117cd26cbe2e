"""The published tables of WildToolBench, and those that the earlier release prints besides its main table, such as the
matrix of action type and position (docs/benchmarks/wild.md#reports-of-2025).

The latter are made of the tasks' counters (``metrics.task_values``). Upstream adds 0.00001 to most denominators; here
nothing is added.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import fsum
from pathlib import Path
from statistics import variance
from typing import Any

from agentgauge.core.estimate import totals
from agentgauge.core.presentation import Breakdown, Cell
from agentgauge.core.published import Column, Leaderboard, columns_of, footnotes_of
from agentgauge.core.types import Score, Scoring
from bench_wild.evaluator2025 import ARGUMENT_CLASSES
from bench_wild.fixes import Fix, fixes_of
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
    UNKNOWN_SUBTYPE,
)
from bench_wild.metrics import (
    ACTION,
    DONE,
    ERROR_CLASSES,
    MESSAGES,
    MULTI,
    PARAMETER_TYPE,
    POSITIONS,
    SEQUENCE,
    STRUCTURED,
    TRUE_FIRST,
    Values,
)

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
_REFERENCE = Path(__file__).parent / "reference" / "wild.json"
_PAPER = ("arXiv:2604.06185, ICLR 2026", "2026")


def leaderboards() -> Sequence[Leaderboard]:
    published = _published()
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


@cache
def _published() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(_REFERENCE.read_text(encoding="utf-8"))
    return found


ACTIONS = (SINGLE, MULTI, CLARIFY, CHAT)
"""Action types: rows of the matrix."""

ALL = "all"

LEAST = 10
"""Tasks that there must be of a number of messages."""

_FIRST = "position 0"  # counter of a session's first task

_TURNS: Mapping[str, tuple[str, ...]] = {
    "true multi-turn": (COREFERENTIAL, PARTIAL, LONG_RANGE),
    COREFERENTIAL: (COREFERENTIAL,),
    PARTIAL: (PARTIAL,),
    LONG_RANGE: (LONG_RANGE,),
    "pseudo multi-turn": (_FIRST, UNKNOWN_SUBTYPE),  # first tasks as well, but for those that are called true
    FIRST_TURN: (_FIRST,),
    "Independent": (UNKNOWN_SUBTYPE,),
}


def breakdowns(scores: Sequence[Score], scoring: Scoring) -> list[Breakdown]:
    """The tables of a run; errors and parameters only with scores of the earlier evaluator. Empty without scores."""
    if not scores:
        return []
    values = [score.values for score in scores]
    sums = totals(values)
    found = [
        _matrix(
            values,
            "Accuracy by action type and position",
            "task" + DONE,
            "Tasks with the right actions and arguments, in per cent; n counts tasks.",
        )
    ]
    if ACTION in sums:
        note = "Tasks with the right actions, whatever their arguments, in per cent; n counts tasks. The weighted"
        note += " evaluation of the earlier release gives each task the weight 1, so its table is this one."
        found.append(_matrix(values, "Accuracy by action type and position, actions only", ACTION, note))
    found += [_multi_tool(sums, scoring), _turns(sums)]
    found += [table for table in (_by_messages(sums), *_by_sequence(sums)) if table.rows]
    if "errors" in sums:
        found += [_errors(sums), _parameters(sums)]
    return found


def _matrix(values: Sequence[Values], title: str, done: str, note: str) -> Breakdown:
    columns = (*(f"position {place}" for place in POSITIONS), ALL)
    return Breakdown(
        title,
        "action type",
        (*(f"Task {place + 1}" for place in POSITIONS), ALL),
        {
            action: tuple(_cell(values, done, [name for name in (action, column) if name != ALL]) for column in columns)
            for action in (*ACTIONS, ALL)
        },
        heat=True,
        note=note,
    )


def _cell(values: Sequence[Values], done: str, kinds: Sequence[str]) -> Cell:
    """The share of the tasks of all these kinds of which ``done`` counts."""
    members = [each for each in values if all(each.get(kind) for kind in kinds)]
    return _share(fsum(each.get(done, 0.0) for each in members), fsum(each.get("task", 0.0) for each in members))


def _share(part: float, whole: float) -> Cell:
    return Cell(100 * part / whole if whole else None, round(whole))


def _rate(sums: Values, *kinds: str, less: Sequence[str] = ()) -> Cell:
    """What is done of these kinds together, without those of ``less``."""

    def total(suffix: str = "") -> float:
        return sum(sums.get(kind + suffix, 0.0) for kind in kinds) - sum(sums.get(one + suffix, 0.0) for one in less)

    return _share(total(DONE), total())


def _multi_tool(sums: Values, scoring: Scoring) -> Breakdown:
    steps = "nodes" if Fix.NODE_PROGRESS in fixes_of(scoring) else "steps"
    rows: dict[str, tuple[Cell, ...]] = {}
    for name, structures in (*((one, (one,)) for one in STRUCTURED), (ALL, STRUCTURED)):
        progress = [f"{steps} {one}" for one in structures if one in (SEQUENTIAL, MIXED)]
        optimal = [f"path {one}" for one in structures if one in (PARALLEL, MIXED)]
        rows[name] = (_rate(sums, *structures), _rate(sums, *progress), _rate(sums, *optimal))
    note = "In per cent; n counts tasks, for progress the steps that are to be done."
    return Breakdown("Multi-tool calls", "structure", ("Accuracy", "Progress", "Optimal"), rows, note=note)


def _turns(sums: Values) -> Breakdown:
    rows = {}
    for name, kinds in _TURNS.items():
        less = (TRUE_FIRST,) if _FIRST in kinds else ()  # they are in the counter of first tasks
        rows[name] = (_rate(sums, *kinds, less=less),)
    note = "In per cent; n counts tasks. Tasks that need nothing of earlier ones are pseudo, first ones too."
    return Breakdown("True and pseudo multi-turn", "tasks", ("Accuracy",), rows, note=note)


def _by_messages(sums: Values) -> Breakdown:
    """By the number of messages that a task begins with."""
    counts = {name.removeprefix(MESSAGES): n for name, n in _counters(sums, MESSAGES).items()}
    lengths = sorted((name for name, n in counts.items() if n >= LEAST), key=int)
    rows = {name: (_rate(sums, MESSAGES + name),) for name in lengths}
    note = f"In per cent; n counts tasks. Numbers of messages with fewer than {LEAST} tasks are left out."
    return Breakdown("Accuracy by number of messages", "messages", ("Accuracy",), rows, note=note)


def _by_sequence(sums: Values) -> tuple[Breakdown, Breakdown]:
    """By the action types of the tasks before and of the task itself, and how much the accuracy varies with those
    before."""
    sequences = {tuple(name.removeprefix(SEQUENCE).split(", ")) for name in _counters(sums, SEQUENCE)}

    def rate(types: Sequence[str], *last: str) -> Cell:
        return _rate(sums, *(SEQUENCE + ", ".join([*types, one]) for one in last))

    before = sorted({types[:-1] for types in sequences}, key=lambda types: (len(types), *map(ACTIONS.index, types)))
    triangle = {", ".join(types) or "none": tuple(rate(types, one) for one in ACTIONS) for types in before}
    layers = {}
    for length in (3, 2, 1):
        rates = [rate(types, *ACTIONS).value or 0.0 for types in before if len(types) == length]
        if rates:
            spread = variance(rates) / 100 if len(rates) > 1 else 0.0
            layers[str(length)] = (Cell(spread, len(rates)),)
    note = "In per cent, by the action types of the tasks before; n counts tasks."
    how = "Variance of the accuracies after each sequence of so many tasks, times 100; n counts sequences."
    return (
        Breakdown("Accuracy by sequence of action types", "tasks before", ACTIONS, triangle, heat=True, note=note),
        Breakdown("Variance over layers", "tasks before", ("Variance",), layers, note=how),
    )


def _counters(sums: Values, start: str) -> dict[str, float]:
    return {name: n for name, n in sums.items() if name.startswith(start) and not name.endswith(DONE)}


def _errors(sums: Values) -> Breakdown:
    """Each class with its share of all errors, and of those of its kind."""
    counts = {name: sums.get(f"error {name}", 0.0) for name in ERROR_CLASSES}
    note = "One class for each wrong task; its share of all errors, of action errors, and of parameter errors. As in"
    note += " the earlier release, an early stop is an action error and has its share of the parameter errors."
    table = _counted("Error types", "class", "tasks", counts, note)
    of_parameters = fsum(counts[name] for name in ARGUMENT_CLASSES)
    of_actions = fsum(counts.values()) - of_parameters
    rows = {}
    none = Cell(None, 0)
    for name, cells in table.rows.items():
        if name == ALL:
            rows[name] = (*cells, none, none)
        elif name in (*ARGUMENT_CLASSES, "early stop"):
            rows[name] = (*cells, none, _share(counts[name], of_parameters))
        else:
            rows[name] = (*cells, _share(counts[name], of_actions), none)
    return replace(table, columns=(*table.columns, "action", "param"), rows=rows)


def _parameters(sums: Values) -> Breakdown:
    """By frequency."""
    found = {name: count for name, count in sums.items() if name.startswith(PARAMETER_TYPE)}
    names = sorted(found, key=lambda name: (-found[name], name))
    counts = {name.removeprefix(PARAMETER_TYPE): found[name] for name in names}
    note = "Arguments below 0.7 in wrong calls, by the types of their schema; [] is one that the tool does not have."
    return _counted("Parameter error types", "type", "parameters", counts, note)


def _counted(title: str, what: str, things: str, counts: Mapping[str, float], note: str) -> Breakdown:
    whole = fsum(counts.values())
    rows = {name: (Cell(count, round(whole)), _share(count, whole)) for name, count in {**counts, ALL: whole}.items()}
    return Breakdown(title, what, (things, "per cent"), rows, counts=(things,), note=note)
