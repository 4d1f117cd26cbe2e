"""Pairs two runs: the samples that both finished, averaged over attempts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agentgauge.core.estimate import MetricFormula, by_sample
from agentgauge.core.index import Row
from agentgauge.core.task import Task
from agentgauge.core.types import Score, Scoring
from agentgauge_reports.comparison.paired import Effect, effects
from agentgauge_reports.load import CaseOutline

PASSED = "Passed"
"""A row that every task has: the share of cases that passed."""

_PASS_RATE = MetricFormula(lambda sums: {PASSED: 100 * sums["passed"] / sums["cases"] if sums.get("cases") else None})


@dataclass(frozen=True, slots=True)
class TaskPairs:
    """One task in two runs."""

    task: str
    common: int  # samples that both runs finished
    units: int  # of these, what varies independently: groups, and samples that stand alone
    left_out: Mapping[str, int]  # samples that are not common: reason → number
    effects: Mapping[str, Effect]
    gained: tuple[str, ...]  # samples that passed more often in B than in A
    lost: tuple[str, ...]
    whole: int | None = None  # of the groups, those of which every sample is common; None without a figure over groups
    shares: Mapping[str, tuple[float, float]] = field(
        default_factory=dict
    )  # of these, the share of attempts that passed in A and in B, 0 to 1


def pair(
    task: Task,
    first: Sequence[CaseOutline],
    second: Sequence[CaseOutline],
    scoring: Scoring,
    incomplete: Collection[str] = (),
) -> TaskPairs:
    """The differences of a task's figures, with their samples. ``first``, ``second``: its cases in A, B.
    ``incomplete``: the groups of which A or B lacks a sample of the data set."""
    runs = [_samples(cases) for cases in (first, second)]
    finished = [{sample for sample, cases in run.items() if any(case.score for case in cases)} for run in runs]
    both = finished[0] & finished[1]
    common = [sample for sample in runs[0] if sample in both]
    scores = [
        by_sample((sample, case.score) for sample in common for case in run[sample] if case.score) for run in runs
    ]
    formula = task.metrics(scoring)
    groups = [scores[0][sample].group for sample in common]
    apart = (case for run in runs for sample, (case, *_) in run.items() if sample not in both)
    lacking = {*incomplete, *(task.data.group_of(Row(case.sample, case.tags, 0, 0, 0)) for case in apart)}
    shares = [[_share(run[sample]) for sample in common] for run in runs]
    values = [
        formula.units(
            [Score(one.passed, one.values, group=group) for one, group in zip(run.values(), groups, strict=True)],
            lacking,
        )
        for run in scores
    ]
    passed = [
        _PASS_RATE.units(
            [
                Score(False, {"passed": share, "cases": 1.0}, group=group)
                for share, group in zip(run, groups, strict=True)
            ]
        )
        for run in shares
    ]
    found = effects(values[0], values[1], formula) | effects(passed[0], passed[1], _PASS_RATE)
    moved = {sample: (a, b) for sample, a, b in zip(common, *shares, strict=True) if a != b}
    return TaskPairs(
        task.name,
        len(common),
        len(values[0]),
        _left_out(runs, finished),
        found,
        tuple(sample for sample, (a, b) in moved.items() if b > a),
        tuple(sample for sample, (a, b) in moved.items() if b < a),
        len({*groups} - lacking) if formula.of_groups(list(scores[0].values())) else None,
        moved,
    )


def _samples(cases: Sequence[CaseOutline]) -> dict[str, list[CaseOutline]]:
    found: dict[str, list[CaseOutline]] = defaultdict(list)
    for case in cases:
        found[case.sample].append(case)
    return found


def _share(cases: Sequence[CaseOutline]) -> float:
    """Of a sample's finished attempts, the share that passed."""
    finished = [case.score.passed for case in cases if case.score]
    return math.fsum(finished) / len(finished)


def _left_out(runs: Sequence[Mapping[str, Sequence[CaseOutline]]], finished: Sequence[set[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for letter, run, other, done in zip("AB", runs, reversed(runs), finished, strict=True):
        for reason, meets in _REASONS.items():
            counts[f"{reason} {letter}"] = sum(sample not in done and meets(run[sample]) for sample in run)
        counts[f"only in {letter}"] = len(run.keys() - other.keys())
    return {reason: count for reason, count in counts.items() if count}


_REASONS: Mapping[str, Callable[[Sequence[CaseOutline]], bool]] = {
    "broken in": lambda cases: any(case.status == "broken" for case in cases),
    "missing in": lambda cases: all(case.status == "missing" for case in cases),
}
