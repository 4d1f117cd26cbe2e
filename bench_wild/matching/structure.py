"""How the calls of a gold list depend on each other (wild spec 7.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench_wild.labels import MIXED, PARALLEL, PSEUDO, SEQUENTIAL

TYPE_OF = {"combine": PARALLEL, "serial": SEQUENTIAL, "cs": MIXED}
"""Task types by structure."""


def structure_of(actions: Iterable[tuple[str, Sequence[int]]]) -> str | None:
    """``combine`` (side by side), ``serial`` (in a row), ``cs`` (both) or None, from names and dependencies in
    order."""
    groups: list[list[int]] = [[]]
    for position, (name, dependencies) in enumerate(actions):
        if name in PSEUDO:
            continue
        if any(dependency in groups[-1] for dependency in dependencies):
            groups.append([])
        groups[-1].append(position)
    serial, combine = len(groups) > 1, any(len(group) > 1 for group in groups)
    return "cs" if serial and combine else "serial" if serial else "combine" if combine else None
