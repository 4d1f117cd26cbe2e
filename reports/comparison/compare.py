"""Runs compared with the first of them: what got better, by how much, and whether that is noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import find_task
from reports.comparison.paired import ALPHA, holm
from reports.comparison.pairs import TaskPairs, cases_by_task, pair
from reports.load import Run, load_run

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SETTINGS = ("dialect", "attempts", "agentgauge")
"""Keys of a summary's ``run`` that should be the same besides those that make figures incomparable."""

Key = tuple[str, str]
"""Task and figure."""


@dataclass(frozen=True)
class Against:
    """One run against the first."""

    letter: str
    run: Run
    tasks: tuple[TaskPairs, ...]
    corrected: Mapping[Key, float]  # p-values of this run's figures after Holm's correction over the whole comparison
    warnings: tuple[str, ...]

    def significant(self, task: str, figure: str) -> bool:
        return self.corrected.get((task, figure), 1.0) <= ALPHA


@dataclass(frozen=True)
class Comparison:
    first: Run
    others: tuple[Against, ...]
    family: int  # tests that the correction is over


def compare(paths: Sequence[Path]) -> Comparison:
    """Compare runs with the first of them, task by task, on the samples that both finished.

    Raises UsageProblem for fewer than two runs, more than 26, a folder that is no finished run, and runs without a
    common task.
    """
    if not 2 <= len(paths) <= len(LETTERS):
        raise UsageProblem(
            f"compare takes 2 to {len(LETTERS)} run folders, the first of which the others are compared with; got"
            f" {len(paths)}"
        )
    first, *others = map(load_run, paths)
    found = []
    for letter, run in zip(LETTERS[1:], others, strict=False):
        tasks = common_tasks(first, run)
        if not tasks:
            raise UsageProblem(
                f"{first.path} and {run.path} have no task in common; they ran {_names(first)} and {_names(run)}"
            )
        found.append((letter, run, pairs_of(first, run, tasks), tuple(differences(first, run, tasks))))
    corrected, family = correct({letter: tasks for letter, _, tasks, _ in found})
    against = (
        Against(letter, run, tasks, {key[1:]: p for key, p in corrected.items() if key[0] == letter}, warnings)
        for letter, run, tasks, warnings in found
    )
    return Comparison(first, tuple(against), family)


def common_tasks(first: Run, other: Run) -> list[str]:
    return [task for task in first.summary["tasks"] if task in other.summary["tasks"]]


def pairs_of(first: Run, other: Run, tasks: Sequence[str]) -> tuple[TaskPairs, ...]:
    """The given tasks of two runs, paired. Scores are put together as in the first run."""
    scoring = first.summary["run"]["scoring"]
    cases, others = cases_by_task(first), cases_by_task(other)
    return tuple(pair(find_task(name), cases[name], others[name], scoring) for name in tasks)


def correct(by_letter: Mapping[str, Sequence[TaskPairs]]) -> tuple[dict[tuple[str, str, str], float], int]:
    """Holm over everything that is tested, and the number of tests.

    Figures of a task with the same contributions are one test. A figure on which so few pairs differ that it could not
    have come out at all is no test (Tarone 1990): how many differ says nothing about which run is better.
    """
    tests: dict[tuple[Any, ...], float] = {}
    members: dict[tuple[str, str, str], tuple[Any, ...]] = {}
    hopeless: dict[tuple[str, str, str], float] = {}
    for letter, tasks in by_letter.items():
        for one in tasks:
            for name, effect in one.effects.items():
                if effect.p is None:
                    continue
                if effect.attainable > ALPHA:
                    hopeless[letter, one.task, name] = 1.0
                    continue
                members[letter, one.task, name] = test = (letter, one.task, effect.test)
                tests[test] = effect.p
    adjusted = holm(tests)
    return {key: adjusted[test] for key, test in members.items()} | hopeless, len(tests)


def differences(first: Run, other: Run, tasks: Sequence[str]) -> Iterator[str]:
    """What besides the model is not the same in two runs, a sentence each."""
    yield from incomparable(first, other, tasks)
    a, b = first.summary["run"], other.summary["run"]
    for task in tasks:
        counts = [run.summary["tasks"][task]["planned"] for run in (first, other)]
        if counts[0] != counts[1]:
            yield f"{task}: one run has {counts[0]} cases, the other {counts[1]}"
    for key in SETTINGS:
        if a.get(key) != b.get(key):
            yield f"{key} differs: {a.get(key)!r} and {b.get(key)!r}"
    yield from _by_name("prompts", a, b)
    yield from _tools(first.about["settings"]["tools"], other.about["settings"]["tools"])


def incomparable(first: Run, other: Run, tasks: Sequence[str]) -> Iterator[str]:
    """Why figures of two runs do not measure the same, a sentence each: data, scoring, and the benchmarks' options."""
    a, b = first.summary["run"], other.summary["run"]
    for task in tasks:
        if a["data"][task]["fingerprint"] != b["data"][task]["fingerprint"]:
            yield f"{task}: the data sets differ"
        similarity = [run.summary["tasks"][task]["similarity"] for run in (first, other)]
        if similarity[0] != similarity[1]:
            yield f"{task}: texts are compared by {similarity[0]!r} and by {similarity[1]!r}"
    if a["scoring"] != b["scoring"]:
        yield f"scoring differs: {a['scoring']!r} and {b['scoring']!r}"
    yield from _by_name("options", a, b)


def _by_name(key: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    """Parts that both runs have and that are not the same."""
    for name in sorted(a[key].keys() & b[key].keys()):
        if a[key][name] != b[key][name]:
            yield f"{key} of {name} differ: {a[key][name]!r} and {b[key][name]!r}"


def _tools(one: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Tools that are not the same. Those of one run alone are told only where both have tools: fewer cases use fewer
    tools."""
    for name in sorted(one.keys() & other.keys()):
        if keys := [
            key for key in sorted(one[name].keys() | other[name].keys()) if one[name].get(key) != other[name].get(key)
        ]:
            parts = ", ".join(f"{key} {one[name].get(key)!r} and {other[name].get(key)!r}" for key in keys)
            yield f"the tool sets differ: {name} has {parts}"
    if one and other and (alone := sorted(one.keys() ^ other.keys())):
        yield f"the tool sets differ: only one run has {', '.join(alone)}"


def _names(run: Run) -> str:
    return ", ".join(run.summary["tasks"])
