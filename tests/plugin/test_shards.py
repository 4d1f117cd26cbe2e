"""Shards and workers: which gets which cases."""

from __future__ import annotations

import json
import shutil
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
from agentgauge.run.shards.balance import balanced
from agentgauge.run.shards.partition import MODES, partition
from agentgauge.run.solve import Planned
from agentgauge.store import RunFolder
from tests.plugin.project import Result, records
from tests.plugin.test_run import WORKERS
from tests.plugin.toy import ToyData, toy

# -- ``--shard=K/N``: parts of a plan that any machine computes alike.


ORDINARY = "import pytest\n\n@pytest.mark.parametrize('n', range(5))\ndef test_plain(n):\n    pass\n"


def about(run: Path) -> dict:
    return json.loads((run / "run.json").read_text())


def planned(run: Path) -> list:
    return list(RunFolder(run).plan())


@WORKERS
def test_shards_are_disjoint_and_together_the_whole_plan(project, model, workers):
    chosen = (*model, *workers, "--attempts", "2", "--limit", "4", "-k", "not s4")
    whole = ["s0", "s1", "s2", "s5"]  # s4 is left out by -k, and s3 by --limit
    found = {}
    for number in (1, 2, 3):
        result = project.run(*chosen, f"--shard={number}/3", f"--run-dir=run{number}")
        assert result.status == 0, result.output
        found[number] = planned(project.path / f"run{number}")
        assert f"agentgauge: shard {number} of 3: {len(found[number])} of 8 cases" in result.output
    assert found == {
        1: [("toy.say", sample, attempt) for sample in ("s0", "s5") for attempt in (1, 2)],
        2: [("toy.say", "s1", 1), ("toy.say", "s1", 2)],
        3: [("toy.say", "s2", 1), ("toy.say", "s2", 2)],
    }
    assert sorted(sample for cases in found.values() for _, sample, _ in cases) == sorted(whole * 2)
    told = [about(project.path / f"run{number}")["shard"] for number in (1, 2, 3)]
    assert [shard.pop("number") for shard in told] == [1, 2, 3]
    assert told[0] == told[1] == told[2]
    assert told[0] | {"plan": ""} == {"count": 3, "planned": 8, "plan": "", "tasks": ["toy.say"], "used": 3}
    assert about(project.path / "run1")["selection"]["limit"] == 4


def test_a_run_in_one_piece_is_no_shard(project, model):
    project.run(*model, "--run-dir", "run")
    assert about(project.path / "run")["shard"] is None
    assert not (project.path / "run" / "shard.json").exists()


def test_another_selection_is_another_plan(project, model):
    for name, selection in (("a", ()), ("b", ("-k", "odd"))):
        project.run(*model, *selection, "--shard=1/2", "--run-dir", name)
    a, b = (about(project.path / name)["shard"]["plan"] for name in "ab")
    assert a != b


@WORKERS
def test_a_shard_without_a_case_ends_well_and_leaves_nothing(project, model, workers):
    result = project.run(*model, *workers, "--limit", "2", "--shard=3/3", "--run-dir", "run")
    assert result.status == 0, result.output
    assert "shard 3 of 3 has none of the 2 cases; it has nothing to do and leaves no folder" in result.output
    assert not (project.path / "run").exists()


def test_where_nothing_is_selected_a_shard_says_what_pytest_says(project, model):
    result = project.run(*model, "-k", "none_such", "--shard=1/2", "--run-dir", "run")
    assert result.status == 5 and not (project.path / "run").exists(), result.output


def passed(result: Result) -> set[str]:
    return {line.split()[0] for line in result.output.splitlines() if "test_plain" in line and "PASSED" in line}


def test_each_ordinary_test_runs_in_one_shard(project, model):
    (project.path / "test_plain.py").write_text(ORDINARY)
    found = [passed(project.run(*model, "-v", f"--shard={number}/3", f"--run-dir=run{number}")) for number in (1, 2, 3)]
    assert [len(one) for one in found] == [2, 2, 1]
    assert len(set.union(*found)) == 5


@pytest.fixture
def second(project, model) -> Path:
    """The second of two shards, with half of its records."""
    project.run(*model, "--shard=2/2", "--run-dir", "run")
    run = project.path / "run"
    (run / "records.jsonl").write_text((run / "records.jsonl").read_text().partition("\n")[0] + "\n")
    return run


@WORKERS
def test_a_resumed_shard_stays_the_shard_without_being_named(project, model, second, workers):
    before = about(second)["shard"], planned(second)
    result = project.run("--resume=run", "--model-url", model[-1], *workers)
    assert result.status == 0 and "shard 2 of 2: 3 of 6 cases" in result.output, result.output
    assert (about(second)["shard"], planned(second)) == before
    assert len(records(second)) == 3


@WORKERS
def test_a_shard_that_was_killed_before_it_had_a_plan_is_planned_when_it_is_resumed(project, model, second, workers):
    before = about(second)["shard"], planned(second)
    for name in ("planned.json", "shard.json", "records.jsonl", "summary.json"):
        (second / name).unlink()
    result = project.run("--resume=run", "--model-url", model[-1], *workers)
    assert result.status == 0, result.output
    assert (about(second)["shard"], planned(second)) == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--shard=1/2",), "--shard 1/2: the run that is resumed is shard 2 of 2; leave --shard out"),
        (("--shard=2/3",), "--shard 2/3: the run that is resumed is shard 2 of 2; leave --shard out"),
        (("--gate=toy.say.Acc>=1",), "would judge shard 2 of 2 by a part of the cases"),
    ],
)
def test_a_resumed_shard_is_no_other(project, model, second, options, says):
    result = project.run("--resume=run", *options)
    assert result.status == 4 and says in result.output, result.output


def test_a_resumed_run_in_one_piece_is_no_shard(project, model):
    project.run(*model, "--run-dir", "run")
    result = project.run("--resume=run", "--shard=1/2")
    assert result.status == 4 and "the run that is resumed is no shard; leave --shard out" in result.output
    same = shutil.copytree(project.path / "run", project.path / "same")
    assert project.run("--resume=same", "--model-url", model[-1]).status == 0
    assert about(same)["shard"] is None


def test_cases_are_collected_by_shard(project):
    result = project.run("--collect-only", "-q", "--shard=2/2")
    assert [line for line in result.output.splitlines() if "::" in line] == [
        f"test_toy.py::test_say[s{number}]" for number in (1, 3, 5)
    ]


SHUFFLED = """
import random

def pytest_collection_modifyitems(items):
    random.shuffle(items)
"""


def test_a_plugin_that_shuffles_tests_changes_no_shard(project, model):
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(SHUFFLED)
    (project.path / "test_plain.py").write_text(ORDINARY)
    found = []
    for number in (1, 2):
        result = project.run(*model, f"--shard={number}/2", f"--run-dir=run{number}", "-v")
        assert result.status == 0, result.output
        found += [sample for _, sample, _ in planned(project.path / f"run{number}")]
        found += [word for word in result.output.split() if word.startswith("test_plain.py::")]
    assert sorted(found) == [f"s{number}" for number in range(6)] + [
        f"test_plain.py::test_plain[{number}]" for number in range(5)
    ]


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
    assert balanced(cases, count) == shards


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


@pytest.mark.parametrize("cases", [0, 1, 2 * FIRST, 30])
def test_all_workers_are_told_of_a_few_cases_before_any_is_told_of_the_rest(cases):
    options = {"dist": "load", "tx": ["2*popen"], "numprocesses": 2}
    config = SimpleNamespace(getoption=options.get, getvalue=options.get, option=SimpleNamespace(**options))
    scheduling = ShardScheduling(config, Producer("sched"), dict, 8, suspects=set)
    log = []
    nodes = [Node(number, log) for number in range(2)]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, [f"t[{number}]" for number in range(cases)])
    scheduling.schedule()
    shares = [list(range(number, cases, 2)) for number in range(2)]
    assert [scheduling.node2pending[node] for node in nodes] == shares
    told = [(number, share[:FIRST]) for number, share in enumerate(shares)] + [
        (number, share[FIRST:]) for number, share in enumerate(shares)
    ]
    assert log == [one for one in told if one[1]] + [(0, "no more"), (1, "no more")]
