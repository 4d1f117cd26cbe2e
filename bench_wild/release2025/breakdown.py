"""The tables that the earlier release prints besides its main table, such as the matrix of action type and position
(wild spec 7.6).

It is made of the tasks' counters (``metrics.task_values``). Upstream adds 0.00001 to most denominators; here nothing is
added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

from agentgauge.core.capabilities import Breakdown, Cell
from agentgauge.core.estimate import totals
from agentgauge.core.types import Score, Scoring
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
from bench_wild.metrics import ACTION, DONE, ERROR_CLASSES, MULTI, PARAMETER_TYPE, POSITIONS, STRUCTURED, Values

ACTIONS = (SINGLE, MULTI, CLARIFY, CHAT)
"""Action types: rows of the matrix."""

ALL = "all"

_FIRST = "position 0"  # counter of a session's first task

_TURNS: Mapping[str, tuple[str, ...]] = {
    "true multi-turn": (COREFERENTIAL, PARTIAL, LONG_RANGE),
    COREFERENTIAL: (COREFERENTIAL,),
    PARTIAL: (PARTIAL,),
    LONG_RANGE: (LONG_RANGE,),
    "pseudo multi-turn": (_FIRST, UNKNOWN_SUBTYPE),  # the earlier release marks first tasks so as well
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
        note = "Tasks with the right actions, whatever their arguments, in per cent; n counts tasks."
        found.append(_matrix(values, "Accuracy by action type and position, actions only", ACTION, note))
    found += [_multi_tool(sums, scoring), _turns(sums)]
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


def _rate(sums: Values, *kinds: str) -> Cell:
    """What is done of these kinds together."""
    return _share(sum(sums.get(kind + DONE, 0.0) for kind in kinds), sum(sums.get(kind, 0.0) for kind in kinds))


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
    rows = {name: (_rate(sums, *kinds),) for name, kinds in _TURNS.items()}
    note = "In per cent; n counts tasks. Tasks that need nothing of earlier ones are pseudo, first ones too."
    return Breakdown("True and pseudo multi-turn", "tasks", ("Accuracy",), rows, note=note)


def _errors(sums: Values) -> Breakdown:
    counts = {name: sums.get(f"error {name}", 0.0) for name in ERROR_CLASSES}
    return _counted("Error types", "class", "tasks", counts, "One class for each wrong task; its share of all errors.")


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
