"""The legal paths through a gold graph, computed on demand (docs/benchmarks/wild.md#graphs), and the matcher that
follows a model's replies through it (docs/benchmarks/wild.md#steps).

A *path* is a list of groups of actions; a group is what one message of the model does. The published evaluator lists
all paths first, which for 14 independent calls cannot be done. Here a path's beginning is a ``State``, and what may
come next follows from the state alone, so that nothing has to be listed. Order and selection are those of the full
list.

What makes this quick, derived from the rules of docs/benchmarks/wild.md#paths and checked against the plain enumeration
in the tests:

- Of the combinations with one sequence of names the first survives, and that is the one whose every element is the
  first with its name behind the element before. So choices are made name by name.
- A combination of two or more is dropped exactly where its first element belongs to a run (neighbours of equal name
  among the eligible actions) and it does not begin with that whole run.
- All eligible actions at once are always legal. So the shortest path is as long as the longest chain of dependencies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, repeat
from typing import TypeVar

from bench_wild.data import GoldNode

Group = tuple[int, ...]
"""Positions of actions, as the path has them: ascending."""


@dataclass(frozen=True, slots=True)
class State:
    """The beginning of paths, as far as it matters for how they go on."""

    done: frozenset[int]
    queue: Group = ()  # calls of a run that was begun one by one: they must come next, one by one


START = State(frozenset())


class Graph:
    """The gold graph of one task. The graph must have no cycle; the loader checks this."""

    def __init__(self, nodes: Sequence[GoldNode]) -> None:
        self.nodes = tuple(nodes)
        self.names = tuple(node.name for node in nodes)
        self._needs = tuple(frozenset(node.dependencies) for node in nodes)
        self._heights = self._measure()

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def min_length(self) -> int:
        """Groups of the shortest path."""
        return max(self._heights, default=0)

    def rest_length(self, state: State) -> int:
        """Groups of the shortest way from here to the end of a path."""
        done = state.done | set(state.queue)
        left = (height for place, height in enumerate(self._heights) if place not in done)
        return len(state.queue) + max(left, default=0)

    def _measure(self) -> tuple[int, ...]:
        """For every action the length of the longest chain that begins with it."""
        heights = [0] * len(self.nodes)
        rest = set(range(len(self.nodes)))
        followers: list[list[int]] = [[] for _ in self.nodes]
        for place, needs in enumerate(self._needs):
            for need in needs:
                followers[need].append(place)
        while ready := [place for place in rest if rest.isdisjoint(followers[place])]:
            for place in ready:
                heights[place] = 1 + max((heights[follower] for follower in followers[place]), default=0)
            rest.difference_update(ready)
        return tuple(heights)

    def eligible(self, state: State) -> Group:
        """Actions without open dependencies, ascending."""
        return tuple(
            place for place, needs in enumerate(self._needs) if place not in state.done and needs <= state.done
        )

    # -- what may come next

    def steps(self, state: State) -> Iterator[tuple[Group, State]]:
        """Every group that may come next and the state after it, in order. There may be very many, so take only the
        needed ones."""
        if state.queue:
            yield self._next_of_queue(state)
            return
        open_ = self.eligible(state)
        for size in range(1, len(open_) + 1):
            for group in self._choices(open_, size):
                yield group, self._after(state, open_, group)

    def first(self, state: State, names: Sequence[str]) -> tuple[Group, State] | None:
        """The first group with just these names, in any order."""
        if state.queue:
            group, after = self._next_of_queue(state)
            return (group, after) if self._names(group) == sorted(names) else None
        open_ = self.eligible(state)
        wanted = Counter(names)
        left = [Counter(self.names[place] for place in open_[start:]) for start in range(len(open_) + 1)]

        def fits(picked: Group, start: int) -> bool:
            missing = wanted - Counter(self.names[place] for place in picked)
            return len(picked) + missing.total() == len(names) and missing <= left[start]

        found = next(self._choices(open_, len(names), fits), None) if names else None
        return (found, self._after(state, open_, found)) if found else None

    def allows(self, state: State, group: Group) -> State | None:
        """The state after ``group``, if exactly this group may come next."""
        found = self.first(state, [self.names[place] for place in group])
        if found is None or found[0] == group:
            return found and found[1]
        # the same names in another order may be legal beside the first
        if state.queue or not set(group) <= set(open_ := self.eligible(state)):
            return None
        follows = (
            choice
            for choice in self._choices(open_, len(group), lambda picked, _: group[: len(picked)] == picked)
            if choice == group
        )
        return self._after(state, open_, group) if next(follows, None) else None

    def first_pseudo(self, state: State) -> Group | None:
        """The first group that holds a pseudo action: single actions come first, so it stands alone."""
        eligible = state.queue[:1] or self.eligible(state)
        return next(((place,) for place in eligible if not self.nodes[place].is_tool), None)

    def _next_of_queue(self, state: State) -> tuple[Group, State]:
        first, *rest = state.queue
        return (first,), State(state.done | {first}, tuple(rest))

    def _after(self, state: State, open_: Group, group: Group) -> State:
        """A call of a run that is made alone binds the rest of its run."""
        run = self._run(open_, open_.index(group[0]))
        queue = run[1:] if len(group) == 1 else ()
        return State(state.done | set(group), queue)

    def _run(self, open_: Group, start: int) -> Group:
        """The neighbours of equal name around the eligible action at ``start``."""
        name = self.names[open_[start]]
        first = start
        while first > 0 and self.names[open_[first - 1]] == name:
            first -= 1
        last = start
        while last + 1 < len(open_) and self.names[open_[last + 1]] == name:
            last += 1
        return open_[first : last + 1]

    def _choices(
        self,
        open_: Group,
        size: int,
        fits: Callable[[Group, int], bool] = lambda picked, start: True,
        picked: Group = (),
        start: int = 0,
    ) -> Iterator[Group]:
        """The surviving combinations of ``size`` eligible actions in order, of those whose beginnings all ``fits``:
        those that begin with ``picked`` and go on from ``start``.

        ``fits`` gets a beginning and where the search goes on, and must not be true for one that cannot be completed,
        or time is lost.
        """
        if len(picked) == size:
            yield picked
            return
        seen: set[str] = set()
        for place in range(start, len(open_) - (size - len(picked)) + 1):
            name = self.names[open_[place]]
            if name in seen:
                continue  # this sequence of names has come already
            seen.add(name)
            taken: Group = (open_[place],)
            if not picked and size > 1:
                taken = self._run(open_, place)
                if len(taken) > size:
                    continue  # part of a run beside others, or not all of it
            grown = picked + taken
            if fits(grown, place + len(taken)):
                yield from self._choices(open_, size, fits, grown, place + len(taken))

    def _names(self, group: Group) -> list[str]:
        return sorted(self.names[place] for place in group)

    # -- whole paths

    def paths(self) -> Iterator[list[Group]]:
        """Every path in order. There may be very many, so take only the needed ones."""

        def walk(state: State, path: list[Group]) -> Iterator[list[Group]]:
            if len(state.done) == len(self.nodes):
                yield path
                return
            for group, after in self.steps(state):
                yield from walk(after, [*path, group])

        return walk(START, [])

    def optimal(self) -> list[Group]:
        """The first of the shortest paths, which later tasks have as their history
        (docs/benchmarks/wild.md#optimal-paths)."""
        path: list[Group] = []
        state = START
        while len(state.done) < len(self.nodes):
            group = self._best(state)
            path.append(group)
            state = State(state.done | set(group))
        return path

    def _best(self, state: State) -> Group:
        """The first group that leaves no longer way than there has to be: it holds the beginnings of all longest
        chains."""
        open_ = self.eligible(state)
        top = max(self._heights[place] for place in open_)
        critical = [index for index, place in enumerate(open_) if self._heights[place] == top]
        if len(critical) == 1 and (alone := self._single(open_, critical[0])) is not None:
            return alone
        for size in range(max(2, len(critical)), len(open_) + 1):
            choice = next(self._choices(open_, size, self._holds(open_, critical, size)), None)
            if choice is not None:
                return choice
        return open_

    def _single(self, open_: Group, index: int) -> Group | None:
        """The action at ``index`` alone, where that is a legal group that binds nothing."""
        if len(self._run(open_, index)) > 1 or self.names[open_[index]] in {
            self.names[place] for place in open_[:index]
        }:
            return None
        return (open_[index],)

    def _holds(self, open_: Group, critical: Sequence[int], size: int) -> Callable[[Group, int], bool]:
        """Whether a beginning can still grow to ``size`` with every critical action in it."""

        @cache
        def can(start: int, missing: int) -> bool:
            if missing == 0:
                return not any(index >= start for index in critical)
            seen: set[str] = set()
            for place in range(start, len(open_)):
                name = self.names[open_[place]]
                if name not in seen and can(place + 1, missing - 1):
                    return True
                seen.add(name)
                if place in critical:
                    return False  # it would be passed over
            return False

        must = {open_[index] for index in critical}
        order = {place: index for index, place in enumerate(open_)}

        def fits(picked: Group, start: int) -> bool:
            passed = {place for place in must if order[place] < start}
            return passed <= set(picked) and len(picked) <= size and can(start, size - len(picked))

        return fits


_T = TypeVar("_T")

LISTED_PATHS = 600
"""With up to so many live paths the expected groups are listed as upstream does, once for each path."""

LISTED_GROUPS = 100
"""With more, each expected group is listed once, and at most so many. The list is for readers; no score depends on
it."""


class GraphMatcher:
    """The live paths of one task, after the replies so far.

    They are kept as the states that live paths can be in, each once, in the order of the paths. This is a single state,
    with one exception: a question to the user does not restrict the paths (as upstream), so there may be many states
    after it. They are computed on demand.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.step = 0
        self._states: Iterable[State] = (START,)
        self._known_ways: dict[State, int] = {}
        self._taken: list[Group | None] = []  # for each step the group that binds the paths; None: none does
        self._bound: Iterable[State] = self._states  # the states after the last step that bound the paths
        self.ended = False  # whether a live path was over when the last calls came, because questions do not bind

    @property
    def over(self) -> bool:
        """Whether there is no table entry for this step: only pseudo actions that were emitted as calls lead here."""
        return self.step == len(self.graph)

    def call(self, names: Sequence[str]) -> Group | None:
        """A message with calls of these tools. The group that the message counts as, or None if no live path allows
        it."""
        for state in self._states:
            if found := self.graph.first(state, names):
                self.ended = self._ended()
                self._bind(found[0])
                return found[0]
        return None

    def text(self) -> Group | None:
        """A message without calls: a question or the final answer, whichever the live paths have first. None: neither.

        After a question the walk goes on; the final answer ends it, and the walk is not to be used any more.
        """
        for state in self._states:
            if place := self.graph.first_pseudo(state):
                if self.graph.nodes[place[0]].is_ask:
                    self._pass()
                return place
        return None

    def expected(self) -> list[Group]:
        """The expected actions at this step: the groups of the live paths, in their order, repeated as upstream repeats
        them."""
        listed = list(islice(self._groups(), LISTED_PATHS + 1))
        if len(listed) <= LISTED_PATHS:
            return listed
        groups = (group for state in self._states for group, _ in self.graph.steps(state))
        return list(islice(_once(groups), LISTED_GROUPS))

    def _ended(self) -> bool:
        """Whether a live path is no longer than the steps so far."""
        if None not in self._taken:
            return False
        asked = next((place for place, group in enumerate(reversed(self._taken)) if group is not None), self.step)
        return any(self.graph.rest_length(state) <= asked for state in self._bound)

    def _bind(self, group: Group) -> None:
        states, allows = self._states, self.graph.allows
        self._states = _Lazy(lambda: (after for state in states if (after := allows(state, group)) is not None))
        self._bound = self._states
        self._taken.append(group)
        self.step += 1

    def _pass(self) -> None:
        states, steps = self._states, self.graph.steps
        self._states = _Lazy(lambda: (after for state in states for _, after in steps(state)))
        self._taken.append(None)
        self.step += 1

    def _groups(self, state: State = START, depth: int = 0) -> Iterator[Group]:
        """The group of every live path at this step, of those behind ``state`` after so many steps; paths that have
        ended have none."""
        if len(state.done) == len(self.graph):
            return
        bound = self._taken[depth] if depth < self.step else None
        if bound is not None:
            if after := self.graph.allows(state, bound):
                yield from self._groups(after, depth + 1)
            return
        for group, after in self.graph.steps(state):
            yield from repeat(group, self._ways(after)) if depth == self.step else self._groups(after, depth + 1)

    def _ways(self, state: State) -> int:
        """How many ways lead on from here to the end of a path; of more than LISTED_PATHS at least so many."""
        if len(state.done) == len(self.graph):
            return 1
        if state not in self._known_ways:
            ways = 0
            for _, after in self.graph.steps(state):
                ways += self._ways(after)
                if ways > LISTED_PATHS:
                    break
            self._known_ways[state] = ways
        return self._known_ways[state]


class _Lazy:
    """States from a generator, each once, kept as far as they have been asked for."""

    def __init__(self, make: Callable[[], Iterator[State]]) -> None:
        self._source = _once(make())
        self._known: list[State] = []

    def __iter__(self) -> Iterator[State]:
        place = 0
        while True:
            while place >= len(self._known):
                try:
                    self._known.append(next(self._source))
                except StopIteration:
                    return
            yield self._known[place]
            place += 1


def _once(values: Iterable[_T]) -> Iterator[_T]:
    seen: set[_T] = set()
    for value in values:
        if value not in seen:
            seen.add(value)
            yield value
