"""Which shard gets which cases: a matter of the cases alone."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.index import Index, Row
from agentgauge.core.task_registry import find_task, known_tasks
from agentgauge.run.shards.balance import balanced
from agentgauge.run.solve import Planned
from tests.plugin.toy import Toy, ToyData

NOWHERE = Index(Path(), Path(), "", ())


class SessionData(ToyData):
    def group_of(self, row):
        return row.id.partition("/")[0]


class Sized(Toy):
    def __init__(self, name, requests):
        self.name = name
        self.expected_requests = requests
        self.data = SessionData()


SHORT, LONG = Sized("short", 1), Sized("long", 5)


def planned(task, *samples, attempts=1):
    rows = [Row(sample, (), 0, 0, place) for place, sample in enumerate(samples)]
    return [Planned(task, NOWHERE, row, attempt) for row in rows for attempt in range(1, attempts + 1)]


@pytest.mark.parametrize(
    ("cases", "count", "shards"),
    [
        (planned(SHORT, *"abcde"), 1, [[0, 1, 2, 3, 4]]),
        (planned(SHORT, *"abcde"), 2, [[0, 2, 4], [1, 3]]),
        (planned(SHORT, *"ab"), 3, [[0], [1], []]),
        ([], 2, [[], []]),
        (planned(SHORT, *"abc", attempts=2), 2, [[0, 1, 4, 5], [2, 3]]),
        (planned(SHORT, "s/1", "s/2", "t/1", "u/1"), 2, [[0, 1], [2, 3]]),
        # the long task's odd case is made up for by the short task's
        ([*planned(SHORT, *"abc"), *planned(LONG, *"abc")], 2, [[1, 3, 5], [0, 2, 4]]),
    ],
    ids=["one", "two", "more than cases", "none", "attempts", "sessions", "costs"],
)
def test_a_table_of_plans(cases, count, shards):
    assert balanced(cases, count) == shards


@cache
def bundled() -> tuple[Planned, ...]:
    """Two attempts of every bundled sample."""
    cases = []
    for task in known_tasks().values():
        if not task.data.in_run_folder and task.data.bundled.is_relative_to(Path(__file__).parents[2]):
            index = task.data.index(task.data.bundled)
            cases += [Planned(task, index, row, attempt) for row in index.rows for attempt in (1, 2)]
    return tuple(cases)


@given(st.integers(1, 40), st.data())
def test_every_case_is_in_one_shard_beside_what_belongs_to_it_and_every_task_and_cost_is_spread(count, data):
    cases = data.draw(st.lists(st.sampled_from(bundled()), unique_by=lambda case: case.id, max_size=200))
    shards = balanced(cases, count)
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
    costs = [sum(find_task(name).expected_requests * size for (name, _), size in shard.items()) for shard in units]
    longest = max(
        (find_task(name).expected_requests * size for shard in units for (name, _), size in shard.items()), default=0
    )
    assert max(costs) - min(costs) <= longest + 1e-6


def test_the_four_tasks_of_a_session_are_one_group():
    task = known_tasks()["wild"]
    rows = task.data.index(task.data.bundled).rows
    assert Counter(Counter(map(task.data.group_of, rows)).values()) == {4: len(rows) // 4}
