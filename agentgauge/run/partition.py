"""Partitions the cases over the workers. The scheduler and each worker compute the same partition from the collection
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SINGLE = ("load", "worksteal")
MODES = (*SINGLE, "loadgroup", "loadfile", "loadscope")
"""The accepted values of ``--dist`` for benchmark cases. The first two assign case by case, the others keep some cases
together."""

GROUPS = "groups.json"
"""In the run folder with ``--dist loadgroup``: position of a case → its group. The controller sees no marks."""

Queue = list[int]
"""Positions of one worker's cases in the collection, in order."""


def partition(nodes: Sequence[str], count: int, mode: str, groups: Mapping[int, str], slots: int) -> list[Queue]:
    """The queues of node ids for ``count`` workers. Only the first ``slots`` workers get cases, because each needs
    at least one request.

    Each unit goes to the worker with the fewest cases, the first one of several: single cases round robin, ``i``, ``i +
    count`` and so on. ``groups`` counts with ``loadgroup`` only.
    """
    used = min(count, slots)
    empty: list[Queue] = [[] for _ in range(count - used)]
    if mode in SINGLE:
        return [list(range(number, len(nodes), used)) for number in range(used)] + empty
    units: dict[str, Queue] = {}
    for position, node in enumerate(nodes):
        group = groups.get(position) if mode == "loadgroup" else None
        units.setdefault(_unit(node, mode) if group is None else f"@{group}", []).append(position)
    queues: list[Queue] = [[] for _ in range(used)]
    for positions in units.values():
        min(queues, key=len).extend(positions)
    return queues + empty


def _unit(node: str, mode: str) -> str:
    """What cases that stay together have in common; as xdist has it."""
    if mode == "loadfile":
        return node.split("::", 1)[0]
    return node.rsplit("::", 1)[0] if mode == "loadscope" else node
