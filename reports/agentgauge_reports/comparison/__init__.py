"""Compares runs with the first of them: what got better, by how much, and whether it is noise."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.text import counted
from agentgauge.core.tools import cards_of, without_devices
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.comparison.choice import choices
from agentgauge_reports.comparison.page import page
from agentgauge_reports.comparison.paired import ALPHA, Effect, TaskPairs, holm, pair, samples_of
from agentgauge_reports.comparison.shown import conclusion, markdown, text
from agentgauge_reports.leaderboard import not_applicable
from agentgauge_reports.load import Run, computing, load_run
from agentgauge_reports.notices import limit_of
from agentgauge_reports.text import anchor

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SETTINGS = ("dialect", "attempts", "agentgauge")
"""Keys of a summary's ``run`` that should be the same besides those that make figures incomparable."""

FORMATS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "text": text,
    "json": lambda data: json.dumps(data, indent=2, ensure_ascii=False),
    "markdown": markdown,
    "html": page,
}

NOTE = (
    "Differences are on the samples that both runs finished, averaged over attempts. Intervals (95\u00a0%) and MDE hold"
    " for each figure alone. MDE is the smallest true difference that these samples would show in about four of five"
    " comparisons."
)


def _note(figures: int, family: int) -> str:
    """``figures``: those with a p. ``family``: the number of tests."""
    if not figures:
        return f"{NOTE} Nothing could be tested: too few samples are common, or all have the same outcome."
    if not family:
        return f"{NOTE} p is 1 throughout: on no figure do enough samples differ for a significant result."
    shown = "is of the one test" if family == 1 else f"is corrected for all {family} tests"
    return f"{NOTE} p {shown} shown here{' (Holm)' if family > 1 else ''}. *: p \u2264 0.05"


Corrected = Mapping[tuple[str, str, str], float]
"""Letter of the run, task and figure → p-value after Holm's correction over the whole comparison."""


def comparison(runs: Sequence[Path], format: str, base: Path, tasks: Registry) -> str:
    """Compare runs with the first of them, in one of FORMATS. Raises UsageProblem as ``compare`` does."""
    return FORMATS[format](compare(runs, base, tasks))


def compare(paths: Sequence[Path], base: Path, tasks: Registry) -> dict[str, Any]:
    """Compare runs with the first of them, task by task, on the samples that both finished. Returns the data that JSON
    has and that the other forms are written from. ``base``: the folder that links start from. ``tasks``: all
    that are known.

    Raises UsageProblem for fewer than two runs, more than 26, a folder that is no finished run, and runs without a
    common task.
    """
    if not 2 <= len(paths) <= len(LETTERS):
        raise UsageProblem(
            f"compare takes 2 to {len(LETTERS)} run folders, the first of which the others are compared with; got"
            f" {len(paths)}"
        )
    runs = {letter: load_run(path, tasks=tasks) for letter, path in zip(LETTERS, paths, strict=False)}
    first = runs["A"]
    others = {letter: run for letter, run in runs.items() if letter != "A"}
    found: dict[str, tuple[TaskPairs, ...]] = {}
    for letter, run in others.items():
        common = common_tasks(first, run)
        if not common:
            raise UsageProblem(
                f"{first.path} and {run.path} have no task in common; they ran {', '.join(first.summary['tasks'])} and"
                f" {', '.join(run.summary['tasks'])}"
            )
        found[letter] = pairs_of(first, run, common)
    corrected, family = correct(found)
    return {
        "runs": [
            {
                "letter": letter,
                "path": str(run.path),
                "page": _page_of(run, base),
                "model": run.model,
                "limit": limit_of(run.summary),
            }
            for letter, run in runs.items()
        ],
        "choices": choices(runs),
        "alpha": ALPHA,
        "tests": family,
        "note": _note(len(corrected), family),
        "comparisons": [
            _compared(letter, (first, run), found[letter], corrected, base) for letter, run in others.items()
        ],
        "cases": _cases(list(runs.values()), base),
    }


def _page_of(run: Run, base: Path) -> str:
    return quote(os.path.relpath(run.path / "report.html", base))


def _cases(runs: Sequence[Run], base: Path) -> dict[str, list[dict[str, Any]]]:
    """Task → its samples in any of the runs: ``{"sample", "ends", "links"}`` with the outcome in each run, and the
    address of the case on that run's page. Both are empty where a run does not have the sample."""
    found: dict[str, list[dict[str, Any]]] = {}
    for task in dict.fromkeys(task for run in runs for task in run.by_task):
        by_run = [samples_of(run.by_task.get(task, ())) for run in runs]
        for sample in dict.fromkeys(sample for samples in by_run for sample in samples):
            tries = [samples.get(sample, []) for samples in by_run]
            links = [
                _page_of(run, base) + anchor((task, sample, cases[0].attempt)) if cases else ""
                for run, cases in zip(runs, tries, strict=True)
            ]
            found.setdefault(task, []).append({"sample": sample, "ends": [*map(_end, tries)], "links": links})
    return found


def _end(cases: Sequence[CaseOutline]) -> str:
    """The status of all attempts of a sample, or ``1 of 3 passed``; empty without an attempt in the plan."""
    statuses = [case.status for case in cases]
    if len({*statuses}) <= 1:
        return "".join(statuses[:1])
    return f"{statuses.count('passed')} of {len(statuses)} passed"


def _compared(
    letter: str, runs: tuple[Run, Run], found: Sequence[TaskPairs], corrected: Corrected, base: Path
) -> dict[str, Any]:
    """The second run's comparison with the first. ``conclusion`` is what it comes to, in a sentence."""
    tasks = {one.task: _task(one, letter, runs, corrected, base) for one in found}
    warnings = list(differences(*runs, common_tasks(*runs)))
    sentence = conclusion(letter, tasks, warned=bool(warnings))
    return {"run": letter, "against": "A", "conclusion": sentence, "warnings": warnings, "tasks": tasks}


def _task(pairs: TaskPairs, letter: str, runs: tuple[Run, Run], corrected: Corrected, base: Path) -> dict[str, Any]:
    def link(run: Run, sample: str) -> str:
        """The link to a case on the run's own page."""
        return _page_of(run, base) + anchor((pairs.task, sample, 1))

    def moved(samples: Sequence[str]) -> list[dict[str, Any]]:
        """``passed``: the share of each run's finished attempts, in A and in the other."""
        return [
            {"sample": sample, "a": link(runs[0], sample), "b": link(runs[1], sample), "passed": pairs.shares[sample]}
            for sample in samples
        ]

    return {
        "common": pairs.common,
        "units": pairs.units,
        "whole": pairs.whole,
        "left_out": dict(pairs.left_out),
        "figures": {
            name: _figure(effect, runs[0].tasks[pairs.task], name, corrected.get((letter, pairs.task, name)))
            for name, effect in pairs.effects.items()
        },
        "gained": moved(pairs.gained),
        "lost": moved(pairs.lost),
    }


def _figure(effect: Effect, task: Task, name: str, p_holm: float | None) -> dict[str, Any]:
    return {
        "count": name in task.shown.counts,
        "published": name in task.shown.published,
        **{key: getattr(effect, key) for key in ("a", "b", "difference", "low", "high", "p")},
        "p_holm": p_holm,
        "significant": p_holm is not None and p_holm <= ALPHA,
        **{key: getattr(effect, key) for key in ("detectable", "differing", "n", "method")},
    }


def common_tasks(first: Run, other: Run) -> list[str]:
    return [task for task in first.summary["tasks"] if task in other.summary["tasks"]]


def pairs_of(first: Run, other: Run, tasks: Sequence[str]) -> tuple[TaskPairs, ...]:
    """The given tasks of two runs, paired. Scores are put together as in the first run."""
    scoring = first.summary["run"]["scoring"]

    def lacking(task: str) -> set[str]:
        parts = [run.summary["tasks"][task].get("groups") for run in (first, other)]
        return {group for part in parts if part for group in part["incomplete"]}

    def paired(name: str) -> TaskPairs:
        with computing(name, first.path, other.path):
            return pair(
                first.tasks[name], first.by_task.get(name, ()), other.by_task.get(name, ()), scoring, lacking(name)
            )

    return tuple(
        _without_pictures(
            paired(name), [part for run in (first, other) if "not_applicable" in (part := run.summary["tasks"][name])]
        )
        for name in tasks
    )


def _without_pictures(pairs: TaskPairs, blind: Sequence[Mapping[str, Any]]) -> TaskPairs:
    """A figure that needs cases with pictures has no value on the others alone. ``blind``: the task's parts of the
    summaries of runs to which such cases were not applicable."""
    gone = {name for part in blind for name, figure in part["metrics"].items() if figure["value"] is None}
    return replace(
        pairs,
        effects={
            name: Effect(None, None, None, effect.n) if name in gone else effect
            for name, effect in pairs.effects.items()
        },
    )


def correct(by_letter: Mapping[str, Sequence[TaskPairs]]) -> tuple[dict[tuple[str, str, str], float], int]:
    """Holm's correction over all tests, and the number of tests.

    Figures of a task with the same contributions are one test. A figure on which too few pairs differ for a significant
    result is no test (Tarone 1990): the number of differing pairs says nothing about which run is better.
    """
    effects = {
        (letter, one.task, name): effect
        for letter, tasks in by_letter.items()
        for one in tasks
        for name, effect in one.effects.items()
        if effect.p is not None
    }
    members = {key: (*key[:2], effect.test) for key, effect in effects.items() if effect.attainable <= ALPHA}
    tests = {test: effects[key].p or 0.0 for key, test in members.items()}
    adjusted = holm(tests)
    return {key: adjusted[members[key]] if key in members else 1.0 for key in effects}, len(tests)


def differences(first: Run, other: Run, tasks: Sequence[str]) -> Iterator[str]:
    """The differences between two runs besides the model, a sentence each."""
    yield from incomparable(first, other, tasks)
    a, b = first.summary["run"], other.summary["run"]
    for task in tasks:
        counts = [run.summary["tasks"][task]["planned"] for run in (first, other)]
        if counts[0] != counts[1]:
            yield f"{task}: one run has {counted(counts[0], 'case')}, the other {counts[1]}"
    for key in SETTINGS:
        if a.get(key) != b.get(key):
            yield f"{key} differs: {a.get(key)!r} and {b.get(key)!r}"
    for run in (first, other):
        if count := run.summary["usage"].get("cached_requests"):
            yield (
                f"{run.name}: {count} of {counted(run.summary['usage']['requests'], 'request')} were answered by"
                " --cache; replies that both runs share say nothing of how the model varies"
            )
    yield from _by_name("prompts", a, b)
    yield from _tools(first.about["settings"]["tools"], other.about["settings"]["tools"])


def incomparable(first: Run, other: Run, tasks: Sequence[str]) -> Iterator[str]:
    """Reasons why the figures of two runs do not measure the same, a sentence each: data, pictures that one model does
    not see, scoring, and the benchmarks' options.
    """
    a, b = first.summary["run"], other.summary["run"]
    for task in tasks:
        if a["data"][task]["fingerprint"] != b["data"][task]["fingerprint"]:
            yield f"{task}: the data sets differ"
        similarity = [run.summary["tasks"][task]["similarity"] for run in (first, other)]
        if similarity[0] != similarity[1]:
            yield f"{task}: texts are compared by {similarity[0]!r} and by {similarity[1]!r}"
        blind = [run.summary["tasks"][task].get("not_applicable") for run in (first, other)]
        if None in blind and (left_out := blind[0] or blind[1]):
            yield f"{task}: {not_applicable(left_out)} in one run: {left_out['model']} sees no pictures"
    if a["scoring"] != b["scoring"]:
        yield f"scoring differs: {a['scoring']!r} and {b['scoring']!r}"
    yield from _by_name("options", a, b)


def _by_name(key: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    """Parts that both runs have and that are not the same."""
    for name in sorted(a[key].keys() & b[key].keys()):
        if a[key][name] != b[key][name]:
            yield f"{key} of {name} differ: {a[key][name]!r} and {b[key][name]!r}"


def _tools(one: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Tools that differ. Those of one run alone count only where both have tools: fewer cases use fewer tools."""
    plain, plain_other = without_devices(one), without_devices(other)
    moved: dict[str, list[str]] = {}
    for name in sorted(one.keys() & other.keys()):
        left, right = plain[name], plain_other[name]
        if keys := [key for key in sorted(left.keys() | right.keys()) if left.get(key) != right.get(key)]:
            parts = ", ".join(f"{key} {left.get(key)!r} and {right.get(key)!r}" for key in keys)
            yield f"the tool sets differ: {name} has {parts}"
        cards = [cards_of(tools[name]) for tools in (one, other)]
        if all(cards) and cards[0] != cards[1]:
            moved.setdefault(f"ran on {cards[0]} and on {cards[1]}", []).append(name)
    for how, names in moved.items():
        yield f"{', '.join(names)} {how}: their results may differ in the last digits"
    if one and other and (alone := sorted(one.keys() ^ other.keys())):
        yield f"the tool sets differ: only one run has {', '.join(alone)}"
