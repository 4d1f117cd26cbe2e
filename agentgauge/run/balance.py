"""The plan cut into shards of equal expected cost, one a machine."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence

from agentgauge.run.planned import Planned

Unit = list[int]
"""Positions of cases that stay together: all attempts of a sample, or of a group of samples."""


def balanced(cases: Sequence[Planned], count: int) -> list[list[int]]:
    """The positions of each shard's cases, in the order of the plan; the same on any machine.

    The longest unit comes first, and goes to the shard with the fewest units of its task; of these to the one with the
    least expected cost, and of these to the first. So each task is spread evenly, and no two shards differ by more
    than the longest unit.
    """
    shards: list[list[int]] = [[] for _ in range(count)]
    costs = [0.0] * count
    held: dict[str, list[int]] = defaultdict(lambda: [0] * count)  # task → units by shard
    for (cost, task), units in sorted(_alike(cases).items(), key=lambda item: -item[0][0]):
        queue = [(held[task][number], costs[number], number) for number in range(count)]
        heapq.heapify(queue)
        for unit in units:
            units_held, used, number = queue[0]
            heapq.heapreplace(queue, (units_held + 1, used + cost, number))
            shards[number] += unit
        for units_held, used, number in queue:
            held[task][number], costs[number] = units_held, used
    return [sorted(shard) for shard in shards]


def units_of(cases: Sequence[Planned]) -> dict[tuple[str, str], Unit]:
    """Task and group → unit. As many shards have cases as there are units, the first ones."""
    units: dict[tuple[str, str], Unit] = {}
    for position, case in enumerate(cases):
        units.setdefault((case.task.name, case.task.data.group_of(case.row)), []).append(position)
    return units


def _alike(cases: Sequence[Planned]) -> dict[tuple[float, str], list[Unit]]:
    """The units of each task by their expected cost, in requests."""
    alike: dict[tuple[float, str], list[Unit]] = {}
    for (task, _), unit in units_of(cases).items():
        alike.setdefault((cases[unit[0]].task.expected_requests * len(unit), task), []).append(unit)
    return alike
