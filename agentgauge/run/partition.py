"""Partitions cases: those of a plan over shards, and those that pytest has collected over xdist's workers. The same
cases give the same partition wherever it is computed: each machine with a shard, each worker, the scheduler."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentgauge.run.planned import Planned

SINGLE = ("load", "worksteal")
MODES = (*SINGLE, "loadgroup", "loadfile", "loadscope")
"""The accepted values of ``--dist`` for benchmark cases. The first two assign case by case, the others keep some cases
together."""

GROUPS = "groups.json"
"""In the run folder with ``--dist loadgroup``: position of a case → its group. The controller sees no marks."""

Queue = list[int]
"""Positions of the cases of one shard or worker, in order."""


@dataclass(slots=True)
class Unit:
    """Cases that stay together."""

    kind: str = ""  # units of a kind are spread evenly; empty: by their costs alone
    cost: float = 0.0  # expected requests, or cases
    positions: Queue = field(default_factory=list)


def shares(cases: Sequence[Planned], count: int) -> list[Queue]:
    """The queues of ``count`` shards, of about the same expected cost; each task is spread evenly over them."""
    return _spread(units_of(cases), count)


def queues(nodes: Sequence[str], count: int, mode: str, groups: Mapping[int, str], slots: int) -> list[Queue]:
    """The queues of node ids for ``count`` workers, of about the same length. Only the first ``slots`` workers get
    cases, because each needs at least one request. ``groups`` counts with ``loadgroup`` only."""
    used = min(count, slots)
    empty: list[Queue] = [[] for _ in range(count - used)]
    if mode in SINGLE:  # as ``_spread`` has it, in no time for each of 100,000 cases
        return [list(range(number, len(nodes), used)) for number in range(used)] + empty
    units: dict[str, Unit] = defaultdict(Unit)
    for position, node in enumerate(nodes):
        unit = units[_together(position, node, mode, groups)]
        unit.positions.append(position)
        unit.cost += 1
    return _spread(list(units.values()), used) + empty


def units_of(cases: Sequence[Planned]) -> list[Unit]:
    """All attempts of a sample, or of a group of samples. As many shards have cases as there are units, the first
    ones."""
    units: dict[tuple[str, str], Unit] = {}
    for position, case in enumerate(cases):
        unit = units.setdefault((case.task.name, case.task.data.group_of(case.row)), Unit(case.task.name))
        unit.positions.append(position)
        unit.cost += case.task.expected_requests
    return list(units.values())


def _together(position: int, node: str, mode: str, groups: Mapping[int, str]) -> str:
    """What cases that stay together have in common; as xdist has it."""
    if mode == "loadgroup" and position in groups:
        return f"@{groups[position]}"
    if mode == "loadfile":
        return node.split("::", 1)[0]
    return node.rsplit("::", 1)[0] if mode == "loadscope" else node


def _spread(units: Sequence[Unit], count: int) -> list[Queue]:
    """The longest unit comes first, and goes to the queue with the fewest units of its kind; of these to the one with
    the least cost, and of these to the first. So each kind is spread evenly, and no two queues differ by more than the
    longest unit."""
    found: list[Queue] = [[] for _ in range(count)]
    costs = [0.0] * count
    held: dict[str, list[int]] = defaultdict(lambda: [0] * count)  # kind → units by queue
    alike: dict[tuple[float, str], list[Unit]] = {}
    for unit in units:
        alike.setdefault((unit.cost, unit.kind), []).append(unit)
    for (cost, kind), same in sorted(alike.items(), key=lambda item: -item[0][0]):
        shortest = [(held[kind][number], costs[number], number) for number in range(count)]
        heapq.heapify(shortest)
        for unit in same:
            units_held, used, number = shortest[0]
            heapq.heapreplace(shortest, (units_held + bool(kind), used + cost, number))
            found[number] += unit.positions
        for units_held, used, number in shortest:
            held[kind][number], costs[number] = units_held, used
    return [sorted(queue) for queue in found]
