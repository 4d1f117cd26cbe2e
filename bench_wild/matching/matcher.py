"""Matches a model's replies to a gold graph: which paths are still possible (wild spec 3.4, 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import TypeVar

from bench_wild.matching.graph import START, Graph, Group, State

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
