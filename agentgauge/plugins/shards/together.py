"""Checks that runs can be merged: shards must belong to one plan, and all of them must be given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import counted

Runs = Mapping[Path, Mapping[str, Any]]
"""Run folder → its run.json."""


def check_together(runs: Runs) -> Mapping[str, Any] | None:
    """What the shards say of their whole plan; None where the runs were made without ``--shard``.

    Raises UsageProblem if runs are shards of several plans, or if a shard is given twice, is missing or has not ended.
    """
    shards = {path: about["shard"] for path, about in runs.items() if about.get("shard")}
    if not shards:
        return None
    # one that was killed early knows nothing of the plan
    first, whole = max(shards.items(), key=lambda item: bool(item[1]["plan"]))
    for path in runs:
        if path not in shards:
            raise UsageProblem(f"{first} is {_name(whole)}, and {path} is not a shard; merge the shards alone")
    for path, shard in shards.items():
        if shard["count"] != whole["count"]:
            raise UsageProblem(f"{first} is {_name(whole)}, and {path} is {_name(shard)}; merge shards of one plan")
        if shard["plan"] and shard["plan"] != whole["plan"]:
            raise UsageProblem(
                f"{first} is a shard of {counted(whole['planned'], 'case')}, and {path} of"
                f" {shard['planned']:,} others; give every shard the same tests, selection, data and version"
            )
    known: dict[int, Path] = {}
    for path, shard in shards.items():
        if (earlier := known.setdefault(shard["number"], path)) != path:
            raise UsageProblem(f"{earlier} and {path} are both {_name(shard)}; name one of them")
    if problems := list(_lacking(runs, known, whole)):
        raise UsageProblem("; ".join(problems))
    return dict(whole)


def _lacking(runs: Runs, known: Mapping[int, Path], whole: Mapping[str, Any]) -> Iterator[str]:
    """``known``: the shards by number."""
    if missing := [number for number in range(1, whole["used"] + 1) if number not in known]:
        yield f"{_names(missing, whole['count'])} missing: start {_them(missing)} with --shard, then merge all"
    if waiting := [number for number, path in sorted(known.items()) if runs[path]["finished"] is None]:
        how = " and ".join(f"--resume={known[number]}" for number in waiting)
        yield f"{_names(waiting, whole['count'])} not finished: continue {_them(waiting)} with {how}, then merge all"


def _name(shard: Mapping[str, Any]) -> str:
    return f"shard {shard['number']} of {shard['count']}"


def _names(numbers: Sequence[int], count: int) -> str:
    *most, last = map(str, numbers)
    return f"shards {', '.join(most)} and {last} of {count} are" if most else f"shard {last} of {count} is"


def _them(numbers: Sequence[int]) -> str:
    return "them" if numbers[1:] else "it"
