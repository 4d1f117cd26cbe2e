"""Checkpoint trees: shapes, weights, values."""

from __future__ import annotations

from typing import Any

import pytest

from agentgauge.core.errors import DataProblem
from bench_gta.workflow.tree import MAX_DEPTH, Value, aggregate, check_weights, leaves, parse

HALL = [
    {
        "id": "1",
        "weight": 0.4,
        "sub_tasks": [
            {"id": "1.1", "weight": 0.5, "requirements": "The busiest weekday is named and is Thursday."},
            {"id": "1.2", "weight": 0.5, "requirements": "Bookings are given for all seven weekdays."},
        ],
    },
    {"id": "2", "weight": 0.25, "requirements": "A chart exists."},
    {
        "id": "3",
        "weight": 0.35,
        "sub_tasks": [{"id": "3.1", "weight": 1, "requirements": "A PDF."}, {"id": "3.2", "weight": 2}],
    },
]


def shape(value: Value) -> list[Any]:
    own = [value.node.id, value.depth, round(value.value, 9)]
    return [own, *[line for child in value.children for line in shape(child)]]


def test_every_node_has_a_value_and_a_depth() -> None:
    assert shape(aggregate(parse(HALL), [10, 6, 8, 4, 7])) == [
        ["root", 0, 7.3],
        ["1", 1, 8],
        ["1.1", 2, 10],
        ["1.2", 2, 6],
        ["2", 1, 8],
        ["3", 1, 6],
        ["3.1", 2, 4],
        ["3.2", 2, 7],
    ]


def test_a_node_keeps_what_was_stored() -> None:
    first, *_, last = leaves(parse(HALL))
    assert (first.id, first.requirement, first.weight) == ("1.1", "The busiest weekday is named and is Thursday.", 0.5)
    assert last.requirement is None and last.raw == {"id": "3.2", "weight": 2}


@pytest.mark.parametrize(
    ("tree", "ids"),
    [
        ([], ["root"]),
        ({}, ["unknown"]),
        ({"sub_tasks": None}, ["unknown"]),
        ({"id": "a"}, ["a"]),
        ({"id": "r", "sub_tasks": [{"id": "a"}, {"id": "b", "sub_tasks": []}]}, ["a", "b"]),
    ],
)
def test_leaves_of_every_accepted_shape(tree: Any, ids: list[str]) -> None:
    assert [leaf.id for leaf in leaves(parse(tree))] == ids


def nested(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"id": "leaf"}
    for _ in range(levels):
        node = {"sub_tasks": [node]}
    return node


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ("text", "a list of nodes or one node, not 'text'"),
        (None, "not None"),
        (["text"], "must be an object, not 'text'"),
        ([None], "must be an object, not None"),
        ({"id": "r", "sub_tasks": {"id": "x"}}, "sub_tasks of node 'r' must be a list"),
        ({"id": "r", "sub_tasks": "ab"}, "sub_tasks of node 'r' must be a list"),
        (nested(MAX_DEPTH + 1), f"more than {MAX_DEPTH} levels"),
    ],
)
def test_other_shapes_are_refused(tree: Any, told: str) -> None:
    with pytest.raises(DataProblem, match=told):
        parse(tree)


@pytest.mark.parametrize("weight", [None, "0.5", [1], float("nan"), float("inf"), 10**400])
def test_a_weight_that_is_no_number_is_refused(weight: Any) -> None:
    root = parse([{"id": "a", "weight": 1}, {"id": "b", "weight": weight}])
    with pytest.raises(DataProblem, match="the weight of node 'b' must be a number"):
        check_weights(root)
    with pytest.raises(DataProblem, match="the weight of node 'b' must be a number"):
        aggregate(root, [1, 1])


def test_the_roots_own_weight_has_no_meaning() -> None:
    root = parse({"id": "r", "weight": None, "sub_tasks": [{"id": "a"}]})
    check_weights(root)
    assert aggregate(root, [6]).value == 6


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, 2.0, 3.0]])
def test_scores_that_do_not_fit_the_tree_are_refused(scores: list[float]) -> None:
    with pytest.raises(DataProblem, match="the tree has 2 leaves"):
        aggregate(parse([{"id": "a"}, {"id": "b"}]), scores)
