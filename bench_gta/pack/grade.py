"""From a judge's replies to one task's score (GTA-Workflow spec 3.4 and 4)."""

from __future__ import annotations

from collections.abc import Sequence

from bench_gta.workflow.judge import scored
from bench_gta.workflow.results import detail
from bench_gta.workflow.tree import Value
from harness.errors import DataProblem
from harness.types import Json


def graded(tree: Json, judged: Sequence[Json], *, sample_idx: int, strict: bool) -> dict[str, Json]:
    """The ``detail`` of a task: upstream's fields, the replies on each leaf, and the value of every node as ``tree``.

    ``judged``: what a judge gave, one entry per leaf in judging order. Raises DataProblem for a tree that cannot be added up or
    does not fit, and Unreadable under ``strict``.
    """
    if not all(leaf.get("replies") for leaf in judged):
        raise DataProblem("the judge gave no reply on a leaf; judge the task again")
    read = scored(tree, judged, strict=strict)
    found = detail(sample_idx, read.root, read.verdicts)
    nodes = [
        {**node, "replies": leaf["replies"], "cached": leaf.get("cached", 0)} for node, leaf in zip(found["nodes"], judged, strict=True)
    ]
    return {**found, "nodes": nodes, "fallbacks": read.fallbacks, "tree": _values(read.root)}


def _values(value: Value) -> dict[str, Json]:
    inner = {"sub_tasks": [_values(child) for child in value.children]} if value.children else {}
    return {"id": value.node.id, "value": value.value, **inner}
