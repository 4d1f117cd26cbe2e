"""A task's checkpoint tree: its leaves, and the value of every node from their scores
(docs/benchmarks/gta_workflow.md#checkpoint-trees and docs/benchmarks/gta_workflow.md#scores)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json

MAX_DEPTH = 100  # levels that a tree may have. The released data has three

_MAX_WEIGHT = 1e12


@dataclass(frozen=True, slots=True)
class Node:
    """A checkpoint. A node without children is a leaf; only leaves are judged."""

    id: Json  # a free label, usually dotted text; "unknown" if it is missing
    requirement: Json  # as stored; None if it is missing
    weight: Json  # as stored; 1 if it is missing
    children: tuple[Node, ...]
    raw: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Value:
    """A node with its value, 0 to 10 unless weights are negative. The root's depth is 0."""

    node: Node
    depth: int
    value: float
    children: tuple[Value, ...]


def parse(tree: Json) -> Node:
    """The root of a tree as stored in ``sub_tasks`` or ``full_tree`` (docs/benchmarks/gta_workflow.md#scores).

    A list stands below a new root named ``root``, and so does an object that has no ``sub_tasks`` key. Any other object
    is the root. ``sub_tasks`` that are missing, null or empty make a leaf. Raises DataProblem for every other shape.
    """
    if isinstance(tree, list):
        return _node({"id": "root", "sub_tasks": tree}, 0)
    if isinstance(tree, Mapping):
        # a bare leaf is wrapped, so that its own weight counts: with weight 0 the root is 0
        return _node(tree if "sub_tasks" in tree else {"id": "root", "sub_tasks": [tree]}, 0)
    raise DataProblem(f"a checkpoint tree must be a list of nodes or one node, not {_shown(tree)}")


def leaves(root: Node) -> list[Node]:
    """The leaves in judging order, depth first."""
    return [leaf for child in root.children for leaf in leaves(child)] if root.children else [root]


def check_weights(root: Node) -> None:
    """Raises DataProblem for a weight below the root that is no number. True and false count as 1 and 0."""
    for child in root.children:
        _weight(child)
        check_weights(child)


def aggregate(root: Node, scores: Sequence[float]) -> Value:
    """The value of every node (docs/benchmarks/gta_workflow.md#scores). ``scores``: 0 to 10, one per leaf in judging
    order.

    A leaf has its score; an inner node the weighted mean of its children, 0 where the weights add up to 0. Weights may
    be negative. The root's own weight has no meaning. Raises DataProblem for a null or text weight, and where the
    number of scores is not the number of leaves.
    """
    if (wanted := len(leaves(root))) != len(scores):
        counts = f"the tree has {wanted} leaves, but there are {len(scores)} scores"
        raise DataProblem(f"{counts}; it is not the tree that was judged")
    return _value(root, 0, iter(scores))


def _node(raw: Json, depth: int) -> Node:
    if not isinstance(raw, Mapping):
        raise DataProblem(f"a node of a checkpoint tree must be an object, not {_shown(raw)}")
    if depth > MAX_DEPTH:
        raise DataProblem(f"a checkpoint tree has more than {MAX_DEPTH} levels; accepted are up to {MAX_DEPTH}")
    below = raw.get("sub_tasks") or []
    if not isinstance(below, list):
        raise DataProblem(f"the sub_tasks of node {_shown(raw.get('id'))} must be a list of nodes, not {_shown(below)}")
    children = tuple(_node(child, depth + 1) for child in below)
    return Node(raw.get("id", "unknown"), raw.get("requirements"), raw.get("weight", 1), children, raw)


def _value(node: Node, depth: int, scores: Iterator[float]) -> Value:
    if not node.children:
        return Value(node, depth, float(next(scores)), ())
    children = tuple(_value(child, depth + 1, scores) for child in node.children)
    weights = [_weight(child) for child in node.children]
    whole = sum(weights)
    part = sum(weight * child.value for weight, child in zip(weights, children, strict=True))
    return Value(node, depth, part / whole if whole else 0.0, children)


def _weight(node: Node) -> float:
    weight = node.weight
    if not isinstance(weight, int | float) or not -_MAX_WEIGHT <= weight <= _MAX_WEIGHT:
        raise DataProblem(f"the weight of node {_shown(node.id)} must be a number, not {_shown(weight)}")
    return float(weight)


def _shown(value: Json) -> str:
    return repr(value)[:60]
