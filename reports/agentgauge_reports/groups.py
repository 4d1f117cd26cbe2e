"""Figures over groups of samples, such as sessions: only groups count of which every sample was scored."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from agentgauge.core.data_source import DataSource
from agentgauge.core.index import Row


def incomplete_groups(data: DataSource, rows: Iterable[Row], there: Container[str]) -> set[str]:
    """The groups of which some samples are ``there`` and others are not. ``rows``: all samples of the data set."""
    begun, lacking = set[str](), set[str]()
    for row in rows:
        (begun if row.id in there else lacking).add(data.group_of(row))
    return begun & lacking


def groups_part(name: str, figures: Sequence[str], whole: int, incomplete: Iterable[str]) -> dict[str, Any]:
    """``groups`` of a task in ``summary.json``. ``name``: what a group is called; ``whole``: their number."""
    return {"name": name, "figures": list(figures), "whole": whole, "incomplete": sorted(incomplete)}


def group_note(groups: Mapping[str, Any] | None) -> str:
    """What a reader of figures over groups must know, a sentence without a stop; empty if all groups are whole."""
    if not groups or not (lacking := len(groups["incomplete"])):
        return ""
    name, figures, count = groups["name"], ", ".join(groups["figures"]), groups["whole"] + lacking
    if not groups["whole"]:
        which = f"the {name} that ran is not whole" if count == 1 else f"none of the {count} {name}s that ran is whole"
        return f"{figures} has no value: {which}, and only a {name} whose every sample was scored counts"
    left_out = "the other is not whole and counts" if lacking == 1 else f"the other {lacking} are not whole and count"
    return f"{figures} is of {groups['whole']} of the {count} {name}s that ran: {left_out} for nothing"
