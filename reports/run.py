"""Summing a run up: merged records, ``summary.json`` and ``leaderboard.md``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from sys import intern
from typing import Any

from harness.solve import broken_score
from harness.store import RunFolder
from harness.store.folder import CaseId
from harness.task import Task, find_task, known_tasks
from harness.types import Metric, Record, Score, Scoring, Usage
from reports.leaderboard import leaderboard
from reports.radar import radar


def sum_up(
    folder: RunFolder,
    plan: Sequence[CaseId],
    *,
    about: Mapping[str, Any],
    index_of: Callable[[Task], Any],
    scoring: Scoring,
    similarity: Mapping[str, str],
) -> dict[str, Any]:
    """Merge the workers' records and write what a run leaves. Returns the summary.

    ``about`` describes the run and holds nothing that differs between two equal runs, so that their summaries are
    the same to the byte, apart from ``usage.seconds``.
    """
    lines = folder.lines({case: number for number, case in enumerate(plan)})
    folder.write_records(lines.values())
    records = [_outline(line.read()) for line in lines.values()]
    planned = {name for name, _, _ in plan}
    by_task: dict[str, dict[CaseId, Record]] = {name: {} for name in known_tasks() if name in planned}  # in the order of the tables
    for record in records:
        by_task[record.task][record.task, record.sample, record.attempt] = record
    tasks = {}
    for name in by_task:
        task = find_task(name)
        cases = [case for case in plan if case[0] == name]
        tasks[name] = summarise(task, cases, by_task[name], index_of(task), scoring, similarity[name])
    combined = _combined(tasks)
    summary = {"run": dict(about), "tasks": tasks, "capabilities": combined, "usage": _usage(records)}
    folder.write_json("summary.json", summary)
    for parts in combined.values():
        (folder.path / "capabilities.svg").write_text(radar(parts["capabilities"]), encoding="utf-8")
    (folder.path / "leaderboard.md").write_text(leaderboard(summary), encoding="utf-8")
    return summary


def _combined(tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """What benchmarks make of several tasks' headlines, by benchmark; those that make nothing are left out."""
    by_benchmark: dict[str, dict[str, float | None]] = {}
    for name, part in tasks.items():
        task = find_task(name)
        by_benchmark.setdefault(task.benchmark, {})[name] = part["metrics"][task.published[0]]["value"]
    found = {benchmark: find_task(next(iter(scores))).combine(scores) for benchmark, scores in by_benchmark.items()}
    return {benchmark: parts for benchmark, parts in found.items() if parts}


def _outline(record: Record) -> Record:
    """What a summary needs of a record: without the texts, so that memory does not grow with what was said."""
    score = record.score
    if score:
        score = replace(score, values={intern(name): value for name, value in score.values.items()}, explanation="")
    transcript = record.transcript and replace(record.transcript, output=None, events=())
    task, config, worker = intern(record.task), intern(record.config), intern(record.worker)
    return replace(record, task=task, config=config, worker=worker, transcript=transcript, score=score, error=None, tags=())


def summarise(
    task: Task, cases: Sequence[CaseId], records: Mapping[CaseId, Record], index: Any, scoring: Scoring, similarity: str
) -> dict[str, Any]:
    """One task's part of the summary. Broken cases count as the original counts them; ``value_clean`` leaves them out."""
    counts = Counter(records[case].status if case in records else "missing" for case in cases)
    scored = {case: record.score for case in cases if (record := records.get(case)) and record.score and record.status != "broken"}
    broken = [case for case in cases if case in records and records[case].status == "broken"]
    rows = {row.id: row for row in index.rows} if broken else {}
    with_broken = scored | {case: broken_score(task, index, rows[case[1]], scoring, similarity) for case in broken if case[1] in rows}
    metrics = task.metrics(_average_attempts(with_broken), scoring)
    clean = task.metrics(_average_attempts(scored), scoring) if broken else metrics
    return {
        "planned": len(cases),
        **{status: counts[status] for status in ("passed", "wrong", "broken", "missing")},
        "similarity": similarity,
        "comparable": task.comparable(similarity),
        "metrics": {name: _metric(metric, clean[name] if broken else None) for name, metric in metrics.items()},
        "causes": dict(sorted(Counter(records[case].cause or "unknown" for case in broken).items())),
        "labels": dict(sorted(Counter(label for score in scored.values() for label in score.labels).items())),
    }


def _average_attempts(scores: Mapping[CaseId, Score]) -> list[Score]:
    """One score per sample: the attempts' values averaged."""
    by_sample: dict[str, list[Score]] = {}
    for (_, sample, _), score in scores.items():
        by_sample.setdefault(sample, []).append(score)
    return [scores[0] if len(scores) == 1 else _mean(scores) for scores in by_sample.values()]


def _mean(scores: Sequence[Score]) -> Score:
    names = dict.fromkeys(name for score in scores for name in score.values)
    values = {name: math.fsum(score.values.get(name, 0.0) for score in scores) / len(scores) for name in names}
    return Score(passed=all(score.passed for score in scores), values=values, group=scores[0].group)


def _metric(metric: Metric, clean: Metric | None) -> dict[str, Any]:
    data = {"value": metric.value, "low": metric.low, "high": metric.high, "n": metric.n, **metric.extra}
    return data if clean is None else data | {"value_clean": clean.value, "low_clean": clean.low, "high_clean": clean.high}


def _usage(records: Iterable[Record]) -> dict[str, Any]:
    total, seconds = Usage(), 0.0
    for record in records:
        if record.transcript:
            total += record.transcript.usage
            seconds += record.transcript.seconds
    return {**asdict(total), "seconds": round(seconds, 3)}
