"""``agentgauge pack score``: chooses the judge, checks the pack, scores one task at a time and prints the result. It
can be stopped and resumed at any time (docs/benchmarks/gta_workflow.md#scoring-a-pack).

From a judge's replies to one task's score: docs/benchmarks/gta_workflow.md#replies and
docs/benchmarks/gta_workflow.md#scores.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agentgauge.core.config import Config, ModelTable, load_config
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.text import counted
from agentgauge.core.types import RUN_TOKEN, Json, Usage
from agentgauge.model.budget import Budget, parse_budget
from agentgauge.model.presets import resolve
from agentgauge.sandbox import scratch_folder
from bench_gta.pack.format import (
    Pack,
    PackTask,
    TaskSet,
    is_bundled,
    missing_files,
    open_pack,
    print_problems,
    require_of_set,
    require_safe,
    select_trace,
    write_json,
)
from bench_gta.pack.results import (
    ScoringSettings,
    StoredResults,
    agent_of,
    details,
    digest_of,
    is_done,
    read_stored,
    summary,
)
from bench_gta.pack.signals import INTERRUPTED, until_signal
from bench_gta.pack.task_folder import escaped, number, path_of, score_of
from bench_gta.workflow.judge import RULES, Delivery, Judge, scored
from bench_gta.workflow.prompts import load_template, version
from bench_gta.workflow.score import detail
from bench_gta.workflow.tree import Value


@dataclass(frozen=True, slots=True)
class ScoringLimits:
    """The limits of a call, and the treatment of earlier results."""

    max_tasks: int | None = None  # of the tasks that remain; 0 and less: none
    budget: Budget | None = None
    overwrite: bool = False
    force_resume: bool = False


@dataclass(frozen=True, slots=True)
class ScoringProgress:
    """The progress of a call."""

    summary: Mapping[str, Json]
    judged: tuple[int, ...]  # task ids, in order
    stopped: str  # why it stopped before the end; empty if it did not


async def score_pack(
    pack: Pack,
    judge: Judge,
    settings: ScoringSettings,
    *,
    out: Path,
    summary_out: Path,
    limits: ScoringLimits | None = None,
    spent: Callable[[], Usage] = Usage,
    reported: Callable[[], str | None] = lambda: None,
    report: Callable[[PackTask, Mapping[str, Json]], None] = lambda task, record: None,
) -> ScoringProgress:
    """Judge every task that has no good result yet. After each, both files are replaced as a whole.

    ``spent``: what the judge has used so far, for costs and the budget. ``reported``: what its endpoint calls its
    model; None: not known. ``report`` gets every finished task. A task that cannot be judged is recorded and tried
    again next time; UsageProblem (a missing key, say) ends the call. Raises UsageProblem for results of another pack,
    and for files that must not be shown. Cancelling leaves both files whole; what the judge has used until then is in
    them.
    """
    limits = limits or ScoringLimits()
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
    return ScoringProgress(summary(pack, settings, stored), tuple(judged), stopped)


def default_out(pack: Path, settings: ScoringSettings) -> Path:
    """The default file for details, beside the pack. Upstream's default has the name of its only judge; ours has the
    name of the judge in use."""
    name = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in settings.judge)
    return pack.with_name(f"{pack.stem}_{name}_scores.json")


def default_summary(out: Path) -> Path:
    return out.with_name(f"{out.stem}_summary.json")


def delivery_of(pack: Pack, task: PackTask, settings: ScoringSettings) -> Delivery:
    """One task as a judge gets it. ``parity`` shows the first turn only; the final answer of all turns otherwise."""
    trace = select_trace(task.assistant_outputs) if settings.scoring == "parity" else task.assistant_outputs
    files = tuple(str(path_of(pack.base, name)) for name in task.attached_files)
    # only files below the base folder may be shown; in the cache's keys its place plays no part
    return Delivery(task.origin_prompt, trace, files, task.full_tree, tokens={str(pack.base): RUN_TOKEN})


async def _judge(
    pack: Pack, task: PackTask, judge: Judge, settings: ScoringSettings, before: Mapping[str, Json]
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
        # as upstream, whatever goes wrong with a task is its record, and the others go on
        # (docs/benchmarks/gta_workflow.md#scoring-a-pack)
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


def _write(pack: Pack, settings: ScoringSettings, stored: StoredResults, out: Path, summary_out: Path) -> None:
    write_json(out, details(pack, settings, stored))
    write_json(summary_out, summary(pack, settings, stored))


def score(options: argparse.Namespace) -> int:
    for name in ("leaf_threshold", "root_threshold"):
        if not 0 <= getattr(options, name) <= 10:
            raise UsageProblem(f"--{name.replace('_', '-')} must be from 0 to 10, not {getattr(options, name)}")
    if options.max_tasks is not None and options.max_tasks < 0:
        raise UsageProblem(f"--max-tasks must be 0 or more, not {options.max_tasks}")
    pack, tasks = open_pack(options, options.in_pack)
    if options.dry_run:
        return print_problems(pack, tasks)
    if tasks is not None:
        require_of_set(pack, tasks)
    judge = options.judge_model or _default_judge(pack, tasks)
    config = config_for(judge, options.judge_votes, options.judge_url, load_config(options.config, root=Path.cwd()))
    settings = ScoringSettings(
        judge=judge,
        fingerprint=_fingerprint(judge, config),
        prompt="" if judge == RULES else version(load_template(config.prompts)),
        votes=options.judge_votes,
        scoring=options.scoring,
        leaf_threshold=options.leaf_threshold,
        root_threshold=options.root_threshold,
    )
    out = options.out or default_out(options.in_pack, settings)
    summary_out = options.summary_out or default_summary(out)
    limits = ScoringLimits(
        max_tasks=options.max_tasks,
        budget=parse_budget(options.budget) if options.budget else None,
        overwrite=options.overwrite,
        force_resume=options.force_resume,
    )
    _report_missing(pack, allowed=options.allow_missing or judge == RULES)
    scored = until_signal(_scored(pack, settings, config, options.judge_cache, limits, out, summary_out))
    if scored is None:
        return INTERRUPTED
    counts, figures = scored.summary["summary"], scored.summary["figures"]
    if scored.stopped:
        print(f"stopped: {scored.stopped}")
    if unreadable := scored.summary["unreadable"]:
        lacking = "hold no score in the form asked for, and say nothing about the agent"
        print(f"{unreadable} of {scored.summary['votes']} replies of the judge {lacking}")
    if stored := scored.summary["stored_votes"]:
        print(f"{stored} of {scored.summary['votes']} verdicts were stored ones (--judge-cache)")
    judged = f"{counts['n_done']} of {counted(counts['n_total'], 'task')} are judged"
    print(f"{judged}, {counts['n_error']} of them failed; now: {len(scored.judged)}")
    for name in ("Root Score", "Leaf SR", "Root SR"):
        print(f"  {name:10}  {_shown(figures[name])}")
    print(f"  thresholds: leaf {settings.leaf_threshold:g}, root {settings.root_threshold:g}")
    print(f"{out}\n{summary_out}")
    return 1 if counts["n_error"] else 0


def _shown(figure: float | None) -> str:
    return "not available" if figure is None else f"{figure:.2f}"


def base_url(address: str | None) -> str | None:
    """A service address without blanks, closing slashes and ``/chat/completions``; None where none is given.

    Nothing may be left: the empty text. The released code takes ``/v1`` along with ``/chat/completions``, which breaks
    such addresses; here it stays (docs/benchmarks/gta_workflow.md#scoring-a-pack).
    """
    return address.strip().rstrip("/").removesuffix("/chat/completions") if address else None


def config_for(name: str, votes: int, address: str | None, config: Config) -> Config:
    """The configuration with the judge at that address. Raises UsageProblem for what the judge ``rules`` cannot do."""
    url = base_url(address)
    if url == "":
        raise UsageProblem(f"--judge-url {address!r} names no host; give an address such as https://api.example.com/v1")
    if votes < 1:
        raise UsageProblem(f"--judge-votes must be 1 or more, not {votes}")
    if name == RULES and (votes > 1 or url):
        leave = "is built in and always gives the same replies; leave --judge-votes and --judge-url out"
        raise UsageProblem(f"the judge {RULES!r} {leave}")
    if url is None:
        return config
    table = config.models.get(name, ModelTable(model=name))
    return replace(config, models={**config.models, name: replace(table, url=url, endpoint=None)})


def _default_judge(pack: Pack, tasks: TaskSet | None) -> str:
    if tasks is not None and is_bundled(tasks.root):
        return RULES
    choose = "so a model has to judge it; name one with --judge-model"
    raise UsageProblem(f"{pack.path} is not of the bundled sample, {choose}")


def _report_missing(pack: Pack, *, allowed: bool) -> None:
    """One line for each task with files that are not there. Raises UsageProblem unless they may be."""
    tasks = [(task, names) for task in pack.tasks if (names := missing_files(pack, task))]
    for task, names in tasks:
        print(f"task {task.task_id}: missing: {escaped(', '.join(names))}")
    if tasks and not allowed:
        raise UsageProblem(
            f"{counted(len(tasks), 'task')} of {pack.path} name files that are not in {pack.base}; give the right"
            " --base-dir, or have the tasks judged without them with --allow-missing"
        )


async def _scored(
    pack: Pack,
    settings: ScoringSettings,
    config: Config,
    cache: str,
    limits: ScoringLimits,
    out: Path,
    summary_out: Path,
) -> ScoringProgress:
    from bench_gta.workflow.score_files import make_judge

    def report(task: PackTask, record: Mapping[str, Json]) -> None:
        print(f"task {task.task_id}: {escaped(record.get('error') or format(record['score'], '.2f'))}", flush=True)

    with _named_as_judge():
        released = settings.scoring == "parity"
        made = make_judge(settings.judge, votes=settings.votes, cache=cache, released=released, config=config)
    try:
        return await score_pack(
            pack,
            made.judge,
            settings,
            out=out,
            summary_out=summary_out,
            limits=limits,
            spent=made.spent,
            reported=lambda: made.judge.reported,
            report=report,
        )
    finally:
        await made.close()


def _fingerprint(judge: str, config: Config) -> str:
    if judge == RULES:
        return ""
    with _named_as_judge():
        return resolve(judge, url=None, config=config, need_key=False).endpoint_fingerprint


@contextlib.contextmanager
def _named_as_judge() -> Iterator[None]:
    """Messages about a model name the judge's options."""
    try:
        yield
    except UsageProblem as problem:
        text = str(problem).replace("--model-url", "--judge-url").replace("--model ", "--judge-model ")
        raise UsageProblem(text) from None
