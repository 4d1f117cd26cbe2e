"""Which worker gets which cases: worked out alike by the scheduler and by each worker, from the collection alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest

SINGLE = ("load", "worksteal")
MODES = (*SINGLE, "loadgroup", "loadfile", "loadscope")
"""What ``--dist`` may say where benchmark cases run. The first two deal case by case, the others keep some together."""

GROUPS = "groups.json"
"""In the run folder with ``--dist loadgroup``: position of a case → its group. The controller sees no marks."""


def deal(nodes: Sequence[str], count: int, mode: str, groups: Mapping[int, str], in_flight: int) -> list[list[int]]:
    """Positions of node ids for each of ``count`` workers, in order. Only the first ``in_flight`` get any: each has one
    in the air.

    Units go one after the other to the worker that has least, the first of several: single cases like cards, ``i``,
    ``i + count`` and so on. ``groups`` counts with ``loadgroup`` only.
    """
    dealt = min(count, in_flight)
    none: list[list[int]] = [[] for _ in range(count - dealt)]
    if mode in SINGLE:
        return [list(range(number, len(nodes), dealt)) for number in range(dealt)] + none
    units: dict[str, list[int]] = {}
    for position, node in enumerate(nodes):
        group = groups.get(position) if mode == "loadgroup" else None
        units.setdefault(_unit(node, mode) if group is None else f"@{group}", []).append(position)
    shares: list[list[int]] = [[] for _ in range(dealt)]
    for positions in units.values():
        min(shares, key=len).extend(positions)
    return shares + none


def _unit(node: str, mode: str) -> str:
    """What cases that stay together have in common; as xdist has it."""
    if mode == "loadfile":
        return node.split("::", 1)[0]
    return node.rsplit("::", 1)[0] if mode == "loadscope" else node


def group_of(marks: Iterable[pytest.Mark]) -> str | None:
    """The group of a case with these ``xdist_group`` marks. xdist itself writes it into node ids, which pytest 9.2
    does not allow."""
    names = {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in marks}
    return "_".join(sorted(names)) or None
