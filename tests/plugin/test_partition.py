"""Shards and workers: which gets which cases."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdist.remote import Producer

from agentgauge.core.index import Index, Row
from agentgauge.core.registry import Registry
from agentgauge.pytest_plugin.xdist import FIRST, ShardScheduling
from agentgauge.run.coordination.slots import SlotPool
from agentgauge.run.partition import MODES, queues, shares
from agentgauge.run.planned import Planned
from tests.plugin.toy import ToyData, toy

# -- Which shard gets which cases: a matter of the cases alone.


NOWHERE = Index(Path(), Path(), "", ())


class SessionData(ToyData):
    def group_of(self, row):
        return row.id.partition("/")[0]


SHORT = toy(name="short", expected_requests=1, data=SessionData())
LONG = toy(name="long", expected_requests=5, data=SessionData())


def planned_balance(task, *samples, attempts=1):
    rows = [Row(sample, (), place) for place, sample in enumerate(samples)]
    return [Planned(task, NOWHERE, row, attempt) for row in rows for attempt in range(1, attempts + 1)]


@pytest.mark.parametrize(
    ("cases", "count", "shards"),
    [
        (planned_balance(SHORT, *"abcde"), 1, [[0, 1, 2, 3, 4]]),
        (planned_balance(SHORT, *"abcde"), 2, [[0, 2, 4], [1, 3]]),
        (planned_balance(SHORT, *"ab"), 3, [[0], [1], []]),
        ([], 2, [[], []]),
        (planned_balance(SHORT, *"abc", attempts=2), 2, [[0, 1, 4, 5], [2, 3]]),
        (planned_balance(SHORT, "s/1", "s/2", "t/1", "u/1"), 2, [[0, 1], [2, 3]]),
        # the long task's odd case is made up for by the short task's
        ([*planned_balance(SHORT, *"abc"), *planned_balance(LONG, *"abc")], 2, [[1, 3, 5], [0, 2, 4]]),
    ],
    ids=["one", "two", "more than cases", "none", "attempts", "sessions", "costs"],
)
def test_a_table_of_plans(cases, count, shards):
    assert shares(cases, count) == shards


@cache
def bundled() -> tuple[Planned, ...]:
    """Two attempts of every bundled sample."""
    cases = []
    for task in Registry.installed():
        if not task.data.in_run_folder and task.data.bundled.is_relative_to(Path(__file__).parents[2]):
            index = task.data.index(task.data.bundled)
            cases += [Planned(task, index, row, attempt) for row in index.rows for attempt in (1, 2)]
    return tuple(cases)


@given(st.integers(1, 40), st.data())
def test_every_case_is_in_one_shard_beside_what_belongs_to_it_and_every_task_and_cost_is_spread(count, data):
    cases = data.draw(st.lists(st.sampled_from(bundled()), unique_by=lambda case: case.id, max_size=200))
    shards = shares(cases, count)
    assert len(shards) == count
    assert sorted(place for shard in shards for place in shard) == list(range(len(cases)))
    assert all(shard == sorted(shard) for shard in shards)
    units = [
        Counter((cases[place].task.name, cases[place].task.data.group_of(cases[place].row)) for place in shard)
        for shard in shards
    ]
    assert sum(map(len, units)) == len({unit for shard in units for unit in shard})
    for task in {case.task.name for case in cases}:
        held = [sum(name == task for name, _ in shard) for shard in units]
        assert max(held) - min(held) <= 1
    requests = {case.task.name: case.task.expected_requests for case in cases}
    costs = [sum(requests[name] * size for (name, _), size in shard.items()) for shard in units]
    longest = max((requests[name] * size for shard in units for (name, _), size in shard.items()), default=0)
    assert max(costs) - min(costs) <= longest + 1e-6


def test_the_four_tasks_of_a_session_are_one_group():
    task = Registry.installed()["wild"]
    rows = task.data.index(task.data.bundled).rows
    assert Counter(Counter(map(task.data.group_of, rows)).values()) == {4: len(rows) // 4}


# -- Which worker gets which cases, and how many each may have in the air.


NODES = [
    "a.py::test_a[0]",
    "a.py::test_a[1]",
    "a.py::test_b[0]",
    "b.py::C::test_c[x@y]",
    "b.py::C::test_c[z]",
    "a.py::test_a[2]",
]
GROUPS = {4: "g", 5: "g"}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("load", [[0, 2, 4], [1, 3, 5]]),
        ("worksteal", [[0, 2, 4], [1, 3, 5]]),
        ("loadfile", [[0, 1, 2, 5], [3, 4]]),
        ("loadscope", [[0, 1, 2, 5], [3, 4]]),
        ("loadgroup", [[2, 4, 5], [0, 1, 3]]),
    ],
)
def test_cases_are_dealt_like_cards_and_groups_stay_together(mode, expected):
    assert queues(NODES, 2, mode, GROUPS, 32) == expected


@given(st.lists(st.sampled_from(NODES), max_size=30), st.integers(1, 9), st.sampled_from(MODES), st.integers(1, 12))
def test_every_case_is_dealt_once_and_no_more_workers_get_any_than_may_be_in_the_air(nodes, count, mode, in_flight):
    found = queues(nodes, count, mode, GROUPS, in_flight)
    assert len(found) == count
    assert not any(found[in_flight:])
    assert sorted(position for queue in found for position in queue) == list(range(len(nodes)))


def workers(tmp_path, total, count):
    return [SlotPool(tmp_path / "places", number=number, count=count, total=total) for number in range(count)]


@pytest.mark.parametrize(("total", "count", "shares"), [(8, 1, [8]), (8, 3, [3, 3, 2]), (2, 3, [1, 1, 1])])
def test_places_are_shared_out_evenly_and_nobody_gets_none(tmp_path, total, count, shares):
    assert [one.limit(0, True) for one in workers(tmp_path, total, count)] == shares


def test_a_worker_that_runs_dry_lends_what_it_does_not_fill(tmp_path):
    first, second, third = workers(tmp_path, 12, 3)
    assert first.limit(4, False) == 4  # its last four are in the air
    assert (second.limit(4, True), third.limit(4, True)) == (4, 4)
    first.limit(1, False)
    assert (second.limit(4, True), third.limit(4, True)) == (6, 5)
    assert second.limit(6, False) == 6  # it has run dry too, two borrowed ones still in the air
    first.limit(0, False)
    assert third.limit(5, True) == 4 + 4 - 2
    second.limit(0, False)
    assert third.limit(6, True) == 12


def test_a_worker_asks_for_itself_whatever_stands_in_its_entry(tmp_path):
    one, other = (SlotPool(tmp_path / "places", number=0, count=2, total=8) for _ in range(2))
    one.limit(0, True)
    other.limit(0, False)
    assert one.limit(0, True) == 4


def test_a_replacement_takes_up_the_entry_of_the_one_that_died(tmp_path):
    first, second = workers(tmp_path, 8, 2)
    first.limit(0, False)
    assert second.limit(4, True) == 8
    replacement = SlotPool(tmp_path / "places", number=0, count=2, total=8)
    assert second.limit(4, True) == 4
    assert replacement.limit(0, True) == 4


def test_cases_that_wait_for_a_next_try_are_not_lent_away_and_come_back_within_the_room(tmp_path):
    first, second = workers(tmp_path, 8, 2)
    assert first.limit(0, True) == 4  # and four of its eight cases wait for a next try
    assert first.limit(8, False) == 4
    assert second.limit(4, True) == 4
    first.limit(3, False)
    assert second.limit(4, True) == 5


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["start", "land", "dry"])), max_size=60))
def test_no_more_are_in_the_air_than_the_total(tmp_path_factory, moves):
    """Moves of four workers: start a solve where there is room, let one land, run out of cases for good."""
    places = workers(tmp_path_factory.mktemp("run"), 10, 4)
    flying, waiting = [0] * 4, [True] * 4
    for worker, move in moves:
        if move == "start" and waiting[worker] and flying[worker] < places[worker].limit(flying[worker], True):
            flying[worker] += 1
        elif move == "land":
            flying[worker] = max(0, flying[worker] - 1)
            places[worker].limit(flying[worker], waiting[worker])
        elif move == "dry":
            waiting[worker] = False
            places[worker].limit(flying[worker], False)
        assert sum(flying) <= 10
    for one in places:
        one.close()


# -- What the scheduler sends to workers, without workers.


class Node:
    """A worker that notes what it is sent."""

    def __init__(self, number: int, log: list[tuple[int, list[int] | str]]) -> None:
        self.number, self.log = number, log
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.log.append((self.number, indices))

    def shutdown(self) -> None:
        self.log.append((self.number, "no more"))


Log = list[tuple[int, list[int] | str]]


def assigned(cases: int, numbers: dict[int, int], log: Log, suspects=frozenset) -> tuple[ShardScheduling, list[Node]]:
    """Two workers that have got their queues. ``numbers``: of the workers, by the numbers in their ids."""
    options = {"dist": "load", "tx": ["2*popen"], "numprocesses": 2}
    config = SimpleNamespace(getoption=options.get, getvalue=options.get, option=SimpleNamespace(**options))
    by_id = {f"gw{worker}": number for worker, number in numbers.items()}
    scheduling = ShardScheduling(config, Producer("sched"), dict, 8, suspects, by_id)
    nodes = [Node(worker, log) for worker in numbers]
    for node in nodes:
        assert scheduling.reserve(node.gateway.id) is None  # it computes its queue itself
        joined(scheduling, node, cases)
    scheduling.schedule()
    return scheduling, nodes


def joined(scheduling: ShardScheduling, node: Node, cases: int) -> None:
    scheduling.add_node(node)
    scheduling.add_node_collection(node, [f"t[{number}]" for number in range(cases)])


@pytest.mark.parametrize("cases", [0, 1, 2 * FIRST, 30])
def test_all_workers_are_told_of_a_few_cases_before_any_is_told_of_the_rest(cases):
    log = []
    scheduling, nodes = assigned(cases, {0: 0, 1: 1}, log)
    shares = [list(range(number, cases, 2)) for number in range(2)]
    assert [scheduling.node2pending[node] for node in nodes] == shares
    told = [(number, share[:FIRST]) for number, share in enumerate(shares)] + [
        (number, share[FIRST:]) for number, share in enumerate(shares)
    ]
    assert log == [one for one in told if one[1]] + [(0, "no more"), (1, "no more")]


def test_a_replacement_knows_its_queue_when_it_starts():
    log: Log = []
    scheduling, (first, second) = assigned(8, {0: 0, 1: 1}, log, suspects=lambda: {"t[6]"})
    log.clear()
    assert scheduling.remove_node(first) == "t[0]"  # which xdist blames
    scheduling.mark_test_pending("t[0]")
    assert scheduling.reserve("gw2") == [6, 0, 2, 4]  # suspects first
    assert scheduling.remove_node(second) == "t[1]"  # it dies before the replacement of the other one is ready
    assert scheduling.reserve("gw3") == [3, 5, 7]
    for node in (Node(3, log), Node(2, log)):
        joined(scheduling, node, 8)
        scheduling.schedule()
    assert log == [(3, [3, 5, 7]), (3, "no more"), (2, [6, 0, 2, 4]), (2, "no more")]
    assert not scheduling.pending


def test_the_cases_of_a_replacement_that_dies_before_it_starts_go_to_the_next_one():
    log: Log = []
    scheduling, (first, _) = assigned(6, {0: 0, 1: 1}, log)
    assert scheduling.remove_node(first) == "t[0]"
    assert scheduling.reserve("gw2") == [2, 4]
    scheduling.release("gw2")
    assert scheduling.reserve("gw3") == [2, 4]


def test_a_replacement_before_cases_are_assigned_has_the_queue_of_its_number():
    log: Log = []
    scheduling, (replacement, other) = assigned(6, {2: 1, 0: 0}, log)
    assert [scheduling.node2pending[node] for node in (replacement, other)] == [[1, 3, 5], [0, 2, 4]]
