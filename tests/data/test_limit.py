"""Which samples ``--limit`` chooses: whole groups, the same ones each time, with the shares of the labels of all."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.index import Row
from agentgauge.core.registry import Registry
from agentgauge.core.task import DataSource
from agentgauge.run.limit import limited

TASKS = {task.name: task for task in Registry.installed() if not task.data.in_run_folder}
SIZES = (1, 2, 4, 5, 8, 11, 16, 20, 32, 50, 64, 256, 1000)


class Made(DataSource):
    """Rows of our own: a group and labels are what their ids and keywords say."""

    name = "made"

    def index(self, root):
        raise NotImplementedError

    def load(self, index, row, task):
        raise NotImplementedError

    def group_of(self, row: Row) -> str:
        return row.id.partition("/")[0]

    def labels_of(self, row: Row) -> Sequence[str]:
        return row.tags


def made(groups: Sequence[Sequence[str | tuple[str, ...]]]) -> list[Row]:
    """The rows of groups of labels."""
    found: list[Row] = []
    for number, labels in enumerate(groups):
        for place, label in enumerate(labels):
            tags = (label,) if isinstance(label, str) else label
            found.append(Row(f"g{number}/{place}", tags, len(found)))
    return found


def ids(rows: Sequence[Row]) -> list[str]:
    return [row.id for row in rows]


def largest_group(rows: Sequence[Row], data: DataSource) -> int:
    return max(Counter(map(data.group_of, rows)).values())


def farthest(rows: Sequence[Row], chosen: Sequence[Row], data: DataSource, *, primary: bool = False) -> float:
    """By how many samples the number of a label differs most from its exact share."""

    def counts(some: Sequence[Row]) -> Counter[str]:
        return Counter(label for row in some for label in list(data.labels_of(row))[: 1 if primary else None])

    whole, part = counts(rows), counts(chosen)
    return max((abs(part[label] - count * len(chosen) / len(rows)) for label, count in whole.items()), default=0.0)


def check(rows: Sequence[Row], data: DataSource, sizes: Sequence[int]) -> None:
    """Whole groups, at most so many samples, each part in the next, in the order of the data."""
    whole = Counter(map(data.group_of, rows))
    smallest, before = min(whole.values()), set[str]()
    for size in sizes:
        chosen = limited(rows, size, data)
        assert chosen == sorted(chosen, key=lambda row: row.position)
        assert 0 < len(chosen) <= min(size, len(rows))
        assert before <= set(ids(chosen))
        before = set(ids(chosen))
        part = Counter(map(data.group_of, chosen))
        if size >= smallest:
            assert all(whole[group] == count for group, count in part.items())
        else:
            assert len(part) == 1 and len(chosen) == size
    assert limited(rows, len(rows), data) == list(rows)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_task_keeps_the_shares_of_its_labels_within_one_group(name: str) -> None:
    """Further labels of a sample, such as the categories of its tools, within hardly more."""
    data = TASKS[name].data
    rows = data.index(data.bundled).rows
    check(rows, data, SIZES)
    for size in SIZES:
        chosen, group = limited(rows, size, data), largest_group(rows, data)
        assert farthest(rows, chosen, data, primary=True) < group, size
        assert farthest(rows, chosen, data) < 1.5 * group, size


@pytest.mark.parametrize("seed", range(8))
def test_sessions_of_the_official_size_keep_types_subtypes_and_positions(seed: int) -> None:
    """256 sessions of four turns, with as many types and subtypes as WildToolBench has."""
    draw = random.Random(seed)
    types, later = (
        ("single", "parallel", "sequential", "mixed", "clarify", "chat"),
        ("coreferential", "partial", "long"),
    )
    weights = [draw.random() + 0.05 for _ in types]
    kinds = [[draw.choices(types, weights)[0] for _ in range(4)] for _ in range(256)]
    rows = made(
        [[(kind, "first" if place == 0 else draw.choice(later)) for place, kind in enumerate(four)] for four in kinds]
    )
    check(rows, Made(), SIZES)
    for size in SIZES[2:]:
        chosen = limited(rows, size, Made())
        assert farthest(rows, chosen, Made()) < 4, size
        assert len({Counter(row.id[-1] for row in chosen)[place] for place in "0123"}) == 1


@pytest.mark.parametrize("round_robin", [2, 4, 8, 16])
def test_data_in_turns_loses_no_label(round_robin: int) -> None:
    """Every k-th row would be the same label all over."""
    rows = made([[f"label {number % round_robin}"] for number in range(1024)])
    for size in (16, 64, 256):
        assert Counter(row.tags[0] for row in limited(rows, size, Made())) == {
            f"label {number}": size // round_robin for number in range(round_robin)
        }


@given(
    st.lists(st.sampled_from(["a", "a", "a", "b", "c", "d", "e"]), min_size=1, max_size=120),
    st.lists(st.integers(1, 130), min_size=1, max_size=6),
)
def test_single_samples_differ_by_less_than_one_from_their_shares(labels: list[str], sizes: list[int]) -> None:
    rows = made([[label] for label in labels])
    check(rows, Made(), sorted(sizes))
    for size in sizes:
        chosen = limited(rows, size, Made())
        assert len(chosen) == min(size, len(rows))
        assert farthest(rows, chosen, Made()) < 1


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=6), min_size=1)
)
def test_parts_of_groups_of_any_size_contain_each_other(groups: list[list[tuple[str, str]]]) -> None:
    rows = made(groups)
    check(rows, Made(), range(1, len(rows) + 1))


def test_the_choice_depends_on_names_and_labels_and_not_on_the_order_of_the_file() -> None:
    rows = made([[random.Random(number).choice("abc")] for number in range(100)])
    turned = [Row(row.id, row.tags, 99 - row.position) for row in reversed(rows)]
    assert set(ids(limited(rows, 20, Made()))) == set(ids(limited(turned, 20, Made())))


def test_the_first_groups_are_not_those_of_the_beginning() -> None:
    rows = made([["a"] for _ in range(1000)])
    places = [row.position for row in limited(rows, 40, Made())]
    assert all(any(start <= place < start + 250 for place in places) for start in (0, 250, 500, 750))
