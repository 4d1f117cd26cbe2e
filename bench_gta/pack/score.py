"""Scores a pack, one task at a time; it can be stopped and resumed at any time (GTA-Workflow spec 6.2).

From a judge's replies to one task's score: GTA-Workflow spec 3.4 and 4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.types import RUN_TOKEN, Json, Usage
from agentgauge.run.gates import Budget
from agentgauge.sandbox import scratch_folder
from bench_gta.pack.atomic_write import write_json
from bench_gta.pack.check import missing_files, require_safe
from bench_gta.pack.file_selection import path_of
from bench_gta.pack.format import Pack, PackTask, select_trace
from bench_gta.pack.records import number, score_of
from bench_gta.pack.results import Settings, StoredResults, agent_of, details, digest_of, is_done, read_stored, summary
from bench_gta.workflow.judging.judge import Delivery, Judge, scored
from bench_gta.workflow.score import detail
from bench_gta.workflow.tree import Value


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a call, and the treatment of earlier results."""

    max_tasks: int | None = None  # of the tasks that remain; 0 and less: none
    budget: Budget | None = None
    overwrite: bool = False
    force_resume: bool = False


@dataclass(frozen=True, slots=True)
class Scored:
    """The progress of a call."""

    summary: Mapping[str, Json]
    judged: tuple[int, ...]  # task ids, in order
    stopped: str  # why it stopped before the end; empty if it did not


async def score_pack(
    pack: Pack,
    judge: Judge,
    settings: Settings,
    *,
    out: Path,
    summary_out: Path,
    limits: Limits | None = None,
    spent: Callable[[], Usage] = Usage,
    reported: Callable[[], str | None] = lambda: None,
    report: Callable[[PackTask, Mapping[str, Json]], None] = lambda task, record: None,
) -> Scored:
    """Judge every task that has no good result yet. After each, both files are replaced as a whole.

    ``spent``: what the judge has used so far, for costs and the budget. ``reported``: what its endpoint calls its
    model; None: not known. ``report`` gets every finished task. A task that cannot be judged is recorded and tried
    again next time; UsageProblem (a missing key, say) ends the call. Raises UsageProblem for results of another pack,
    and for files that must not be shown. Cancelling leaves both files whole; what the judge has used until then is in
    them.
    """
    limits = limits or Limits()
    require_safe(pack)
    stored = StoredResults() if limits.overwrite else read_stored(out, pack, settings, force=limits.force_resume)
    judged: list[int] = []
    began, stopped = time.monotonic(), ""
    waiting = [task for task in pack.tasks if not is_done(stored.results.get(str(task.task_id)))]
    if limits.max_tasks is not None and len(waiting) > (most := max(limits.max_tasks, 0)):
        waiting, stopped = waiting[:most], f"--max-tasks {limits.max_tasks}: {len(waiting) - most} remain"
    settings = replace(settings, reported=stored.reported)
    # both files are there from the beginning, so that a folder that cannot be written is reported before anything is
    # paid
    _write(pack, settings, stored, out, summary_out)
    for task in waiting:
        if limits.budget and (reason := limits.budget.spent(spent(), time.monotonic() - began)):
            stopped = reason
            break
        task_id, paid = str(task.task_id), spent().usd
        found = stored.results.get(task_id)
        before: Mapping[str, Json] = found if isinstance(found, dict) else {}
        try:
            record = await _judge(pack, task, judge, settings, before)
        except BaseException:
            stored.interrupted_usd[task_id] = stored.interrupted_usd.get(task_id, 0.0) + spent().usd - paid
            _write(pack, settings, stored, out, summary_out)
            raise
        stored.note_reported(out, reported(), force=limits.force_resume)
        earlier = number(before.get("judge_usd")) or 0.0
        earlier += stored.interrupted_usd.pop(task_id, 0.0)
        settings = replace(settings, reported=stored.reported)
        stored.results[task_id] = record | {"judge_usd": earlier + spent().usd - paid}
        judged.append(task.task_id)
        _write(pack, settings, stored, out, summary_out)
        report(task, record)
    return Scored(summary(pack, settings, stored), tuple(judged), stopped)


def default_out(pack: Path, settings: Settings) -> Path:
    """The default file for details, beside the pack. Upstream's default has the name of its only judge; ours has the
    name of the judge in use."""
    name = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in settings.judge)
    return pack.with_name(f"{pack.stem}_{name}_scores.json")


def default_summary(out: Path) -> Path:
    return out.with_name(f"{out.stem}_summary.json")


def delivery_of(pack: Pack, task: PackTask, settings: Settings) -> Delivery:
    """One task as a judge gets it. ``parity`` shows the first turn only; the final answer of all turns otherwise."""
    trace = select_trace(task.assistant_outputs) if settings.scoring == "parity" else task.assistant_outputs
    files = tuple(str(path_of(pack.base, name)) for name in task.attached_files)
    # only files below the base folder may be shown; in the cache's keys its place plays no part
    return Delivery(task.origin_prompt, trace, files, task.full_tree, tokens={str(pack.base): RUN_TOKEN})


async def _judge(
    pack: Pack, task: PackTask, judge: Judge, settings: Settings, before: Mapping[str, Json]
) -> dict[str, Json]:
    started, began = datetime.now(UTC), time.monotonic()
    record: dict[str, Json] = {"task_id": task.task_id, "status": "ok", "score": None, "detail": None}
    record["digest"] = digest_of(pack, task)
    try:
        with scratch_folder() as scratch:
            replies = await judge.judge(delivery_of(pack, task, settings), scratch=scratch)
        found = graded(task.full_tree, replies, sample_idx=task.sample_idx, strict=settings.scoring == "strict")
        record |= {"score": found["score"], "detail": found}
    except Exception as error:
        if isinstance(error, UsageProblem) and not isinstance(error, DataProblem):
            raise  # no other task would fare better
        # as upstream, whatever goes wrong with a task is its record, and the others go on (GTA-Workflow spec 6.2)
        record |= {"status": "error", "error": f"{type(error).__name__}: {error}"}
    if missing := missing_files(pack, task):
        record["missing_files"] = missing
    return record | {
        "attempt": int(score_of(before.get("attempt")) or 0) + 1,  # a text counts, too
        "started_utc": started.isoformat(timespec="seconds"),
        "finished_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_sec": time.monotonic() - began,
        "agent": agent_of(task),
    }


def graded(tree: Json, judged: Sequence[Json], *, sample_idx: int, strict: bool) -> dict[str, Json]:
    """The ``detail`` of a task: upstream's fields, the replies on each leaf, and the value of every node as ``tree``.

    ``judged``: what a judge gave, one entry per leaf in judging order. Raises DataProblem for a tree that cannot be
    added up or does not fit, and Unreadable under ``strict``.
    """
    if not all(leaf.get("replies") for leaf in judged):
        raise DataProblem("the judge gave no reply on a leaf; judge the task again")
    read = scored(tree, judged, strict=strict)
    found = detail(sample_idx, read.root, read.verdicts)
    nodes = [
        {**node, "replies": leaf["replies"], "cached": leaf.get("cached", 0)}
        for node, leaf in zip(found["nodes"], judged, strict=True)
    ]
    counts = {"fallbacks": read.fallbacks, "votes": read.votes, "stored_votes": read.stored}
    counts["unreadable"] = sum(read.flaws.values())
    return {**found, "nodes": nodes, **counts, "tree": _values(read.root)}


def _values(value: Value) -> dict[str, Json]:
    inner = {"sub_tasks": [_values(child) for child in value.children]} if value.children else {}
    return {"id": value.node.id, "value": value.value, **inner}


def _write(pack: Pack, settings: Settings, stored: StoredResults, out: Path, summary_out: Path) -> None:
    write_json(out, details(pack, settings, stored))
    write_json(summary_out, summary(pack, settings, stored))
