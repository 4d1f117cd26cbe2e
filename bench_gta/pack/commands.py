"""What the verbs of ``agentgauge pack`` do."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from bench_gta.pack.agent import read_command
from bench_gta.pack.check import problems_of, require_of_set
from bench_gta.pack.create import Outcome, create, named, read_ids
from bench_gta.pack.deliverables import from_deliverables
from bench_gta.pack.format import Pack, PackTask, lies_beside, read_pack, write_pack
from bench_gta.pack.judges import config_for
from bench_gta.pack.process import Place
from bench_gta.pack.results import Settings
from bench_gta.pack.run import Plan, Ran, run_tasks
from bench_gta.pack.score import Limits, Scored, default_out, default_summary, score_pack
from bench_gta.pack.table import read_row, table
from bench_gta.pack.tasks import SetTask, TaskSet, is_bundled, read_tasks, require_same
from bench_gta.workflow.judge import RULES
from bench_gta.workflow.metrics import THRESHOLD as THRESHOLD
from bench_gta.workflow.prompts import load_template, version
from harness.budget import parse_budget
from harness.config import Config, load_config
from harness.errors import UsageProblem
from harness.sandbox import scratch_folder
from harness.types import Json

T = TypeVar("T")


def create_pack(options: argparse.Namespace) -> int:
    tasks = read_tasks(options.data)
    ids = read_ids(options.task_ids) if options.task_ids else None
    results: Path = options.result_dir
    out: Path = options.out_pack or results / "pack.json"
    pack = _of_deliverables(results, tasks, ids, out) if options.deliverables else create(results, tasks, ids=ids)
    write_pack(out, named(pack, result_dir=results.name, deliverables=options.deliverables))
    for task in pack.tasks:
        for note in task.meta.get("notes", []):
            print(f"note: task {task.task_id}: {note}")
    if not lies_beside(out, pack.base):
        print(f"note: its files lie outside the pack's folder; check and score it with --base-dir {results}")
    print(f"{out}: {len(pack.tasks)} tasks, {sum(len(task.attached_files) for task in pack.tasks)} files")
    return 0


def _of_deliverables(results: Path, tasks: TaskSet, ids: list[int] | None, out: Path) -> Pack:
    from bench_gta.workflow.convert import Conversions

    base = out.absolute().with_name(f"{out.stem}_files")
    with scratch_folder() as scratch:
        convert = Conversions(scratch, upstream=False)

        def gather(task: SetTask, folder: Path) -> Outcome:
            return from_deliverables(task, folder, base=base, convert=convert)

        pack = create(results, tasks, ids=ids, base=base, gather=gather)
    base.mkdir(exist_ok=True)
    return pack


def check_pack(options: argparse.Namespace) -> int:
    pack, tasks = _read(options, options.pack)
    return _told(pack, tasks)


def run_agent(options: argparse.Namespace) -> int:
    if options.jobs < 1:
        raise UsageProblem(f"--jobs must be 1 or more, not {options.jobs}")
    if not (math.isfinite(options.timeout) and options.timeout > 0):
        raise UsageProblem(f"--timeout must be a positive number of seconds, not {options.timeout}")
    if options.memory_mb < 64:
        raise UsageProblem(f"--memory-mb must be 64 or more, not {options.memory_mb}")
    tasks = read_tasks(options.data)
    command = read_command(options.command)
    place = Place(
        seconds=options.timeout,
        memory_mb=options.memory_mb,
        readable=(*(_existing(path) for path in options.readable), *command.readable),
        env={name: _variable(name) for name in options.env},
        network=options.network,
        confined=not options.no_sandbox,
    )
    plan = Plan(
        command=command,
        place=place,
        ids=tuple(read_ids(options.task_ids)) if options.task_ids else None,
        jobs=options.jobs,
        budget=parse_budget(options.budget) if options.budget else None,
        max_tasks=options.max_tasks,
        retry_failed=options.retry_failed,
    )
    failed: list[int] = []

    def told(task: SetTask, record: Mapping[str, Json]) -> None:
        cost = "cost not told" if record["usd"] is None else f"{record['usd']:.4f} USD"
        print(f"task {task.id}: {record['error'] or 'done'}, {record['elapsed_sec']:.1f} s, {cost}", flush=True)
        for note in record["notes"]:
            print(f"  note: {note}")
        if record["status"] != "ok":
            failed.append(task.id)

    ran: Ran | None = _until_signal(run_tasks(tasks, options.out, plan, told=told))
    if ran is None:
        return _interrupted()
    if plan.budget and plan.budget.unit != "s" and ran.unpriced:
        print(f"note: the budget of {plan.budget.text} does not count {ran.unpriced} tasks, whose usage.json tells no cost")
    if ran.stopped:
        print(f"stopped: {ran.stopped}")
    print(f"{ran.pack}: {len(ran.done)} tasks run now, {len(failed)} of them not to a good end")
    return 1 if failed else 0


def score(options: argparse.Namespace) -> int:
    for name in ("leaf_threshold", "root_threshold"):
        if not 0 <= getattr(options, name) <= 10:
            raise UsageProblem(f"--{name.replace('_', '-')} must be from 0 to 10, not {getattr(options, name)}")
    pack, tasks = _read(options, options.in_pack)
    if options.dry_run:
        return _told(pack, tasks)
    if tasks is not None:
        require_of_set(pack, tasks)
    judge = options.judge_model or _default_judge(pack, tasks)
    config = config_for(judge, options.judge_votes, options.judge_url, load_config(options.config, root=Path.cwd()))
    settings = Settings(
        judge=judge,
        prompt="" if judge == RULES else version(load_template(config.prompts)),
        votes=options.judge_votes,
        scoring=options.scoring,
        leaf_threshold=options.leaf_threshold,
        root_threshold=options.root_threshold,
    )
    out = options.out or default_out(options.in_pack, settings)
    summary_out = options.summary_out or default_summary(out)
    limits = Limits(
        max_tasks=options.max_tasks,
        budget=parse_budget(options.budget) if options.budget else None,
        overwrite=options.overwrite,
        force_resume=options.force_resume,
    )
    scored = _until_signal(_scored(pack, settings, config, options.judge_cache, limits, out, summary_out))
    if scored is None:
        return _interrupted()
    counts, figures = scored.summary["summary"], scored.summary["figures"]
    if scored.stopped:
        print(f"stopped: {scored.stopped}")
    print(f"{counts['n_done']} of {counts['n_total']} tasks are judged, {counts['n_error']} of them failed; now: {len(scored.judged)}")
    for name in ("Root Score", "Leaf SR", "Root SR"):
        print(f"  {name:10}  {'not available' if figures[name] is None else f'{figures[name]:.2f}'}")
    print(f"  thresholds: leaf {settings.leaf_threshold:g}, root {settings.root_threshold:g}")
    print(f"{out}\n{summary_out}")
    return 1 if counts["n_error"] else 0


async def _scored(pack: Pack, settings: Settings, config: Config, cache: str, limits: Limits, out: Path, summary_out: Path) -> Scored:
    from bench_gta.workflow.judges import make_judge

    def told(task: PackTask, record: Mapping[str, Json]) -> None:
        print(f"task {task.task_id}: {record.get('error') or format(record['score'], '.2f')}", flush=True)

    made = make_judge(settings.judge, votes=settings.votes, cache=cache, released=settings.scoring == "parity", config=config)
    try:
        return await score_pack(pack, made.judge, settings, out=out, summary_out=summary_out, limits=limits, spent=made.spent, told=told)
    finally:
        await made.close()


def print_table(options: argparse.Namespace) -> int:
    print(table([read_row(path) for path in options.scores]))
    return 0


def _read(options: argparse.Namespace, path: Path) -> tuple[Pack, TaskSet | None]:
    """The pack, and the task set that it is of.

    Without --data, a pack that names a task set must be of the bundled one; one that names none (the released tool's) is taken
    as it stands.
    """
    pack = read_pack(path, options.base_dir)
    if options.data is None and pack.data is None:
        print("note: the pack does not say which task set it is of; it is not compared with one (give --data for that)")
        return pack, None
    tasks = read_tasks(options.data)
    require_same(pack, tasks)
    return pack, tasks


def _default_judge(pack: Pack, tasks: TaskSet | None) -> str:
    if tasks is not None and is_bundled(tasks.root):
        return RULES
    raise UsageProblem(f"{pack.path} is not of the bundled sample, so a model has to judge it; name one with --judge-model")


def _told(pack: Pack, tasks: TaskSet | None) -> int:
    problems = problems_of(pack, tasks)
    for problem in problems:
        print(problem)
    print(f"{pack.path}: {len(pack.tasks)} tasks, {len(problems) or 'no'} {'problem' if len(problems) == 1 else 'problems'}")
    return 1 if problems else 0


def _existing(path: Path) -> Path:
    if not path.exists():
        raise UsageProblem(f"--readable {path}: there is no such file or folder")
    return path


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise UsageProblem(f"--env {name}: the variable is not set; set it, or leave it out")
    return value


def _until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Run to the end; None where Ctrl-C or SIGTERM ended it first. What was being done is cancelled and cleaned up."""

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            return await work
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    try:
        return asyncio.run(watched())
    except (KeyboardInterrupt, asyncio.CancelledError):
        return None


def _interrupted() -> int:
    print("interrupted; the same command goes on where it was", file=sys.stderr)
    return 130
