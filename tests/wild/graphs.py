"""Graphs of gold calls, and all their paths by plain enumeration: the rules of the evaluator word for word
(docs/benchmarks/wild.md#paths)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, groupby

from bench_wild.data import GoldNode
from bench_wild.graph import Group
from bench_wild.labels import ASK, PREPARE


def gold(*actions: str) -> list[GoldNode]:
    """``"A", "B 0", "P 0 1"``: a name and what it waits for. P is the final answer, Q a question."""
    nodes = []
    for position, action in enumerate(actions):
        name, *depends = action.split()
        full = {"P": PREPARE, "Q": ASK}.get(name, name)
        nodes.append(GoldNode(position, full, {}, "seen", tuple(map(int, depends)), "reply" if full == ASK else None))
    return nodes


def with_final(*actions: str) -> list[GoldNode]:
    return gold(*actions, " ".join(["P", *map(str, range(len(actions)))]))


def distinct(count: int) -> list[GoldNode]:
    return with_final(*(f"tool{number}" for number in range(count)))


def enumerate_paths(names: Sequence[str], depends: Sequence[Sequence[int]]) -> list[list[Group]]:
    paths: list[list[Group]] = []

    def search(done: frozenset[int], path: list[Group]) -> None:
        if len(done) == len(names):
            paths.append(path)
            return
        ready = [place for place in range(len(names)) if place not in done and set(depends[place]) <= done]
        partial: set[Group] = set()
        whole: list[Group] = []
        for _, members in groupby(ready, key=lambda place: names[place]):
            run = tuple(members)
            if len(run) > 1:
                partial.update(some for size in range(1, len(run)) for some in combinations(run, size))
                whole.append(run)
        seen: set[tuple[str, ...]] = set()
        for size in range(1, len(ready) + 1):
            for candidate in combinations(ready, size):
                sequence = tuple(names[place] for place in candidate)
                if sequence in seen:
                    continue
                seen.add(sequence)
                prefixes = [candidate[:length] for length in range(1, size + 1)]
                flag = any(prefix in partial for prefix in prefixes) and not any(prefix in whole for prefix in prefixes)
                if size > 1 and flag:
                    continue
                extended = next((run for run in whole if candidate == run[:1]), None)
                groups = [(place,) for place in extended] if extended else [candidate]
                search(done | {place for group in groups for place in group}, [*path, *groups])

    search(frozenset(), [])
    return paths
