"""A task before its reference steps are written, and its checkpoint tree (GTA-Workflow spec 1.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bundled_data.gta_workflow.plan import Plan

Check = dict[str, Any]
Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    category: str  # one of the six
    files: tuple[str, ...]  # relative to the data set
    write: Callable[[Plan], None]
    nodes: Sequence[Node]

    def tree(self) -> list[Node]:
        """The checkpoint tree, with ids by position: 1, 1.1, 1.2, 2 ..."""
        return _numbered(self.nodes, "")


def leaf(requirements: str, check: Check, weight: float = 1) -> Node:
    """A checkpoint that is judged: what a person would be told, and the same for the judge ``rules``."""
    return {"weight": weight, "requirements": requirements, "check": check}


def group(*nodes: Node, weight: float = 1) -> Node:
    return {"weight": weight, "sub_tasks": list(nodes)}


def answer(**conditions: Any) -> Check:
    """The final answer meets the conditions."""
    return {"answer": conditions}


def file(pattern: str, **conditions: Any) -> Check:
    """A delivered file whose name fits the pattern meets the conditions."""
    return {"file": pattern, **conditions}


def every(*checks: Check) -> Check:
    return {"all": list(checks)}


def either(*checks: Check) -> Check:
    return {"any": list(checks)}


def said(*texts: str | list[str], none: Sequence[str] = ()) -> dict[str, Any]:
    """A statement of ``says``: one sentence has all of the texts, of a list one, and none of ``none``."""
    return {"all": list(texts), **({"none": list(none)} if none else {})}


def _numbered(nodes: Sequence[Node], above: str) -> list[Node]:
    numbered = []
    for place, node in enumerate(nodes, start=1):
        id_ = f"{above}{place}"
        children = {"sub_tasks": _numbered(node["sub_tasks"], f"{id_}.")} if "sub_tasks" in node else {}
        numbered.append({"id": id_, **node, **children})
    return numbered
