"""``--limit``: a small part of a task's samples that stands for all of them.

It consists of whole groups, such as sessions, because figures over groups count only whole ones. The groups are taken
in an order that does not depend on the limit, so that a smaller part is contained in every larger one. At every place
of this order the labels have nearly the same shares as in the whole.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from agentgauge.core.index import Row
from agentgauge.core.task import DataSource

SEED = "agentgauge"
"""Decides which groups come first. Another seed gives other parts of the same shares."""

_CANDIDATES = 64
"""Groups that are compared for the next place. More of them take time and keep the shares hardly better."""

_Groups = Iterator["_Group"]


@dataclass(frozen=True, slots=True)
class _Group:
    rows: Sequence[Row]
    labels: Mapping[str, int]  # label → number of rows that have it


def limited(rows: Sequence[Row], limit: int, data: DataSource) -> list[Row]:
    """At most ``limit`` rows, always the same ones: as many whole groups as fit, or the first ``limit`` rows of one.

    ``rows``: the selected samples of a task; a group is what they have of it. The result is in the order of the data.

    Where every group is one sample, the number of samples of each primary label (``DataSource.labels_of``) differs by
    less than one from its exact share. Groups of several samples are chosen one after the other so that the numbers of
    all labels stay close to their exact shares; no bound is proven for these.
    """
    if limit >= len(rows):
        return list(rows)
    chosen: list[Row] = []
    for group in _in_order(_groups(rows, data)):
        if len(chosen) + len(group.rows) > limit:
            chosen = chosen or list(group.rows[:limit])
            break
        chosen += group.rows
    return sorted(chosen, key=lambda row: row.position)


def _groups(rows: Sequence[Row], data: DataSource) -> list[_Group]:
    """In an order at random that follows from the names of the groups and the seed."""
    members: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.position):
        members[data.group_of(row)].append(row)
    return [
        _Group(members[name], Counter(chain.from_iterable(map(data.labels_of, members[name]))))
        for name in sorted(members, key=_rank)
    ]


def _rank(name: str) -> bytes:
    return hashlib.blake2b(f"{SEED} {name}".encode(errors="backslashreplace"), digest_size=8).digest()


def _in_order(groups: Sequence[_Group]) -> _Groups:
    """The first is one of the smallest, so that a group is chosen wherever one fits."""
    counts = Counter[str]()
    for group in groups:
        counts.update(group.labels)
    size = sum(len(group.rows) for group in groups)
    balance = _Balance({label: count / size for label, count in counts.items()})
    if all(len(group.rows) == 1 for group in groups):
        strata: dict[str, list[_Group]] = defaultdict(list)
        for group in groups:
            strata[next(iter(group.labels), "")].append(group)
        order = {label: balance.order(members) for label, members in strata.items()}
        for label in _interleaved({label: len(members) for label, members in strata.items()}):
            yield next(order[label])
    else:
        first = min(groups, key=lambda group: len(group.rows))
        balance.count(first)
        yield first
        yield from balance.order([group for group in groups if group is not first])


class _Balance:
    """Keeps the numbers of labels close to the exact shares."""

    def __init__(self, shares: Mapping[str, float]) -> None:
        self._shares = shares  # label → rows that have it, of all rows; a row may have several labels
        self._size = 0  # of the groups that were chosen, in rows
        self._counts = Counter[str]()

    def order(self, groups: Sequence[_Group]) -> _Groups:
        """Choose among the next groups always the one after which the numbers are closest to their shares."""
        alike = all(group.labels == groups[0].labels for group in groups)
        waiting = iter(groups)
        candidates = list(islice(waiting, 1 if alike else _CANDIDATES))
        while candidates:
            group = candidates.pop(self._best(candidates))
            candidates += islice(waiting, 1)
            self.count(group)
            yield group

    def count(self, group: _Group) -> None:
        self._size += len(group.rows)
        self._counts.update(group.labels)

    def _best(self, candidates: Sequence[_Group]) -> int:
        """The place of the group that leaves the smallest sum of squares of what labels have too many or too few."""
        if len(candidates) == 1:
            return 0
        excess = {size: self._excess(size) for size in {len(group.rows) for group in candidates}}
        before = {size: sum(each * each for each in found.values()) for size, found in excess.items()}

        def deviation(place: int) -> float:
            group = candidates[place]
            found = excess[size := len(group.rows)]
            return before[size] + sum(count * (count + 2 * found[label]) for label, count in group.labels.items())

        return min(range(len(candidates)), key=deviation)

    def _excess(self, more: int) -> dict[str, float]:
        """What each label has too many once there are so many more rows, none of which has a label."""
        size = self._size + more
        return {label: self._counts[label] - share * size for label, share in self._shares.items()}


def _interleaved(sizes: Mapping[str, int]) -> Iterator[str]:
    """Every stratum as often as it has members, in an order of which each beginning has the shares of the whole.

    Each member has a first and a last place between which it keeps its stratum less than one away from its exact share.
    Taking the earliest last place of those that may come keeps all of them, because all members fit exactly.
    """
    places = sum(sizes.values())
    waiting = [(0, _rank(name), name, 0) for name in sizes]  # first place, member from 0
    heapq.heapify(waiting)
    ready: list[tuple[int, bytes, str, int]] = []  # last place
    for place in range(places):
        while waiting and waiting[0][0] <= place:
            _, rank, name, member = heapq.heappop(waiting)
            heapq.heappush(ready, (-(-(member + 1) * places // sizes[name]), rank, name, member))
        _, rank, name, member = heapq.heappop(ready)
        yield name
        if member + 1 < sizes[name]:
            heapq.heappush(waiting, ((member + 1) * places // sizes[name], rank, name, member + 1))
