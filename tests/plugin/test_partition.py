"""Which worker gets which cases, and how many each may have in the air."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.run.coordination.slots import SlotPool
from agentgauge.run.shards.partition import MODES, partition

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
    ("mode", "shares"),
    [
        ("load", [[0, 2, 4], [1, 3, 5]]),
        ("worksteal", [[0, 2, 4], [1, 3, 5]]),
        ("loadfile", [[0, 1, 2, 5], [3, 4]]),
        ("loadscope", [[0, 1, 2, 5], [3, 4]]),
        ("loadgroup", [[0, 2, 4, 5], [1, 3]]),
    ],
)
def test_cases_are_dealt_like_cards_and_groups_stay_together(mode, shares):
    assert partition(NODES, 2, mode, GROUPS, 32) == shares


@given(st.lists(st.sampled_from(NODES), max_size=30), st.integers(1, 9), st.sampled_from(MODES), st.integers(1, 12))
def test_every_case_is_dealt_once_and_no_more_workers_get_any_than_may_be_in_the_air(nodes, count, mode, in_flight):
    shares = partition(nodes, count, mode, GROUPS, in_flight)
    assert len(shares) == count
    assert not any(shares[in_flight:])
    assert sorted(position for share in shares for position in share) == list(range(len(nodes)))


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
