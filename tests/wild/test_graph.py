"""The lazy graph against the published rules applied in full, and its cost where full enumeration is impossible."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_wild.data import GoldNode
from bench_wild.graph import LISTED_GROUPS, START, Graph, GraphMatcher, Group, State
from bench_wild.labels import ASK, PREPARE
from tests.wild.graphs import distinct, enumerate_paths, gold, with_final

pytestmark = pytest.mark.slow


def written(paths: Sequence[Sequence[Group]]) -> str:
    return "  ".join("".join(f"[{','.join(map(str, group))}]" for group in path) for path in paths)


@pytest.mark.parametrize(
    ("nodes", "paths", "shortest"),
    [
        (gold("P"), "[0]", 1),
        (with_final("A", "B"), "[0][1][2]  [1][0][2]  [0,1][2]", 2),
        (with_final("A", "A"), "[0][1][2]  [0,1][2]", 2),
        (gold("A", "B 0", "C 0", "D 1 2", "P 3"), "[0][1][2][3][4]  [0][2][1][3][4]  [0][1,2][3][4]", 4),
        (gold("A", "A", "B 1", "P 0 2"), "[0][1][2][3]  [0,1][2][3]", 3),
        (
            with_final("B", "A", "A"),
            "[0][1][2][3]  [0][1,2][3]  [1][2][0][3]  [0,1][2][3]  [1,2][0][3]  [0,1,2][3]",
            2,
        ),
        (gold("A", "A 0 0", "P 1"), "[0][1][2]", 3),  # a dependency given twice
    ],
)
def test_worked_examples(nodes: list[GoldNode], paths: str, shortest: int) -> None:
    graph = Graph(nodes)
    assert written(list(graph.paths())) == paths
    assert graph.min_length == shortest
    assert len(graph.optimal()) == shortest


# -- plain enumeration


class EnumeratedWalk:
    """The published step protocol over a full list of paths."""

    def __init__(self, nodes: Sequence[GoldNode]) -> None:
        self.nodes = nodes
        self.live = enumerate_paths([node.name for node in nodes], [node.dependencies for node in nodes])
        self.step = 0
        self.ended = False

    def expected(self) -> list[Group]:
        return [path[self.step] for path in self.live if len(path) > self.step]

    def call(self, names: Sequence[str]) -> Group | None:
        for group in self.expected():
            if sorted(self.nodes[place].name for place in group) == sorted(names):
                self.ended = any(len(path) <= self.step for path in self.live)
                self.live = [path for path in self.live if len(path) > self.step and path[self.step] == group]
                self.step += 1
                return group
        return None

    def text(self) -> Group | None:
        for group in self.expected():
            names = [self.nodes[place].name for place in group]
            if ASK in names:
                self.step += 1
                return group
            if PREPARE in names:
                return group
        return None


@st.composite
def graphs(draw: st.DrawFn, names: str = "AABC", size: int = 6) -> list[GoldNode]:
    count = draw(st.integers(1, size))
    actions = []
    for position in range(count):
        # dependencies may point forward in a real list, but never in a circle; here the order is drawn below
        depends = draw(st.sets(st.integers(0, position - 1), max_size=2)) if position else set()
        actions.append((draw(st.sampled_from(names)), depends))
    order = draw(st.permutations(range(count)))
    place = {old: new for new, old in enumerate(order)}
    return gold(*(" ".join([actions[old][0], *(str(place[need]) for need in actions[old][1])]) for old in order))


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_lazy_paths_are_the_enumerated_ones(nodes: list[GoldNode]) -> None:
    graph = Graph(nodes)
    paths = enumerate_paths(graph.names, [node.dependencies for node in nodes])
    assert list(graph.paths()) == paths
    assert graph.min_length == min(map(len, paths))
    assert graph.optimal() == next(path for path in paths if len(path) == graph.min_length)


@settings(max_examples=150, deadline=None)
@given(graphs("AB", 8).filter(lambda nodes: sum(not node.dependencies for node in nodes) >= 3))
def test_few_names_on_many_calls(nodes: list[GoldNode]) -> None:
    graph = Graph(nodes)
    paths = list(islice(graph.paths(), 3000))
    full = enumerate_paths(graph.names, [node.dependencies for node in nodes]) if len(paths) < 3000 else None
    assert full is None or paths == full
    assert full is None or graph.optimal() == next(path for path in full if len(path) == graph.min_length)


@settings(max_examples=200, deadline=None)
@given(graphs("AABCQP"), st.data())
def test_a_walk_goes_as_over_the_full_list(nodes: list[GoldNode], data: st.DataObject) -> None:
    """Replies at random, mostly legal ones: same match, same expectations, same end."""
    lazy, full = GraphMatcher(Graph(nodes)), EnumeratedWalk(nodes)
    while True:
        expected = full.expected()
        if len(expected) <= 600:
            assert lazy.expected() == expected
        assert lazy.over == (full.step == len(nodes))
        if not expected:
            return
        legal = [[nodes[place].name for place in group] for group in expected]
        reply = data.draw(
            st.one_of(st.none(), st.sampled_from(legal), st.lists(st.sampled_from("ABC"), min_size=1, max_size=3))
        )
        step = full.step
        found = full.text() if reply is None else full.call(reply)
        assert (lazy.text() if reply is None else lazy.call(reply)) == found
        assert lazy.ended == full.ended
        if full.step == step or full.ended:
            return


# -- cost


@pytest.mark.parametrize(
    "nodes",
    [
        distinct(14),
        distinct(40),
        with_final(*["A"] * 14),
        with_final(*"ABCABCABCABCABCABC"),
        with_final(*"ABABABABABABABAB"),
    ],
    ids=["14 names", "40 names", "one name", "three names in turn", "two names in turn"],
)
def test_many_independent_calls_cost_little(nodes: list[GoldNode]) -> None:
    clock = time.process_time()
    graph = Graph(nodes)
    names = [node.name for node in nodes if node.is_tool]
    assert graph.min_length == 2
    assert graph.optimal() == [tuple(range(len(names))), (len(names),)]
    at_once, single = GraphMatcher(graph), GraphMatcher(graph)
    assert at_once.call(names[::-1]) == tuple(range(len(names)))
    assert at_once.text() == (len(names),)
    for name in names:
        assert single.call([name]) is not None
    assert single.text() == (len(names),)
    wrong = GraphMatcher(graph)
    assert wrong.call(["other"]) is None
    assert wrong.call([*names, "other"]) is None
    assert 0 < len(wrong.expected()) <= 600
    assert time.process_time() - clock < 1


def test_a_long_list_of_expectations_is_cut() -> None:
    """Each group is named once then, the shortest first."""
    expected = GraphMatcher(Graph(distinct(14))).expected()
    assert len(expected) == len(set(expected)) == LISTED_GROUPS
    assert expected[:14] == [(place,) for place in range(14)]


def test_a_question_beside_many_calls() -> None:
    """A text there leaves all paths alive; the next reply looks at no more of them than it needs."""
    nodes = with_final(*(f"tool{number}" for number in range(14)), "Q")
    clock = time.process_time()
    matcher = GraphMatcher(Graph(nodes))
    assert matcher.text() == (14,)
    assert matcher.call([f"tool{number}" for number in range(14)]) == tuple(range(14))
    assert time.process_time() - clock < 1


def test_three_texts_end_a_task_without_a_call() -> None:
    """Nothing is bound by a question that stands beside a tool (docs/benchmarks/wild.md#steps)."""
    matcher = GraphMatcher(Graph(gold("A", "Q", "B 0 1", "P 2")))
    assert [matcher.text(), matcher.text(), matcher.text()] == [(1,), (1,), (3,)]


def test_a_run_that_was_begun_must_be_ended() -> None:
    graph = Graph(gold("A", "A", "B 0", "P 1 2"))
    matcher = GraphMatcher(graph)
    assert matcher.call(["A"]) == (0,)
    assert matcher.call(["B"]) is None
    assert matcher.expected() == [(1,)]
    assert matcher.call(["A"]) == (1,)


def steps(graph: Graph, state: State) -> Iterator[Group]:
    return (group for group, _ in graph.steps(state))


def test_same_names_apart_are_told_apart_by_their_order() -> None:
    """A B A: of the two orders of A and B each has its own group, the first A stands for both."""
    graph = Graph(with_final(*"ABA"))
    assert list(steps(graph, START)) == [(0,), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert graph.allows(START, (1, 2)) is not None
    assert graph.allows(START, (2,)) is None
    assert graph.allows(START, (3,)) is None
