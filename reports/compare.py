"""Two runs side by side, and every reason why their figures may differ for other causes than the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import UsageProblem
from harness.store import RunFolder

SETTINGS = ("dialect", "scoring", "attempts", "agentgauge")
BY_NAME = ("prompts", "options")
"""Keys of a summary's ``run`` that should be the same; of the latter, parts that both runs have. Data and tools are told apart."""


def compare(first: Path, second: Path) -> str:
    """A table of the metrics of the tasks that both runs have, and warnings below it. Raises UsageProblem for no finished run."""
    one, other = _read(first), _read(second)
    tasks = [task for task in one["summary"]["tasks"] if task in other["summary"]["tasks"]]
    if not tasks:
        raise UsageProblem(f"{first} and {second} have no task in common; they ran {_names(one)} and {_names(other)}")
    lines = [f"A: {first} ({one['summary']['run']['model']})", f"B: {second} ({other['summary']['run']['model']})", ""]
    for task in tasks:
        lines += _table(task, one["summary"]["tasks"][task]["metrics"], other["summary"]["tasks"][task]["metrics"])
    lines += [f"warning: {reason}" for reason in differences(one, other, tasks)]
    return "\n".join(lines)


def differences(one: Mapping[str, Any], other: Mapping[str, Any], tasks: list[str]) -> Iterator[str]:
    """What besides the model is not the same in two runs, a sentence each. ``one``: ``{"summary", "run"}`` of a run."""
    a, b = one["summary"]["run"], other["summary"]["run"]
    for task in tasks:
        if a["data"][task]["fingerprint"] != b["data"][task]["fingerprint"]:
            yield f"{task}: the data sets differ"
        counts = [run["summary"]["tasks"][task]["planned"] for run in (one, other)]
        if counts[0] != counts[1]:
            yield f"{task}: A has {counts[0]} cases, B {counts[1]}"
    for key in SETTINGS:
        if a.get(key) != b.get(key):
            yield f"{key} differs: {a.get(key)!r} and {b.get(key)!r}"
    for key in BY_NAME:
        for name in a[key].keys() & b[key].keys():
            if a[key][name] != b[key][name]:
                yield f"{key} of {name} differ: {a[key][name]!r} and {b[key][name]!r}"
    yield from _tools(one["run"]["settings"]["tools"], other["run"]["settings"]["tools"])


def _tools(one: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Tools that are not the same. Those of one run alone are told only where both have tools: fewer cases use fewer tools."""
    for name in sorted(one.keys() & other.keys()):
        if keys := [key for key in sorted(one[name].keys() | other[name].keys()) if one[name].get(key) != other[name].get(key)]:
            parts = ", ".join(f"{key} {one[name].get(key)!r} and {other[name].get(key)!r}" for key in keys)
            yield f"the tool sets differ: {name} has {parts}"
    if one and other and (alone := sorted(one.keys() ^ other.keys())):
        yield f"the tool sets differ: only one run has {', '.join(alone)}"


def _table(task: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    names = [name for name in one if name in other]
    width = max(map(len, [task, *names]))
    rows = [f"{task:{width}}  {'A':>8}  {'B':>8}  {'B - A':>8}"]
    for name in names:
        a, b = one[name]["value"], other[name]["value"]
        difference = "" if a is None or b is None else f"{round(b - a, 2) + 0.0:+.2f}"
        rows.append(f"{name:{width}}  {_figure(a):>8}  {_figure(b):>8}  {difference:>8}")
    return [*rows, ""]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _read(folder: Path) -> dict[str, Any]:
    run = RunFolder(folder)
    return {"summary": run.read_json("summary.json"), "run": run.read_json("run.json")}


def _names(run: Mapping[str, Any]) -> str:
    return ", ".join(run["summary"]["tasks"])
