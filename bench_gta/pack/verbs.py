"""The verbs of ``agentgauge pack``; ``score`` has a module of its own."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import signal
import sys
from collections.abc import Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from agentgauge.core.errors import UsageProblem
from agentgauge.core.tools import by_state
from agentgauge.core.types import Json
from agentgauge.run.external_agent.process import AgentSettings
from agentgauge.run.gates import parse_budget
from agentgauge.sandbox import ended_from_outside, scratch_folder
from bench_gta.pack.agent import STDERR, needs_tools, read_command
from bench_gta.pack.check import notes_of_pack, problems_of
from bench_gta.pack.create import Outcome, create, notes_of, read_ids, some, with_metadata
from bench_gta.pack.deliverables import from_deliverables, new_copies
from bench_gta.pack.file_selection import escaped
from bench_gta.pack.format import Pack, lies_beside, read_pack, write_pack
from bench_gta.pack.run import Plan, chosen, run_tasks
from bench_gta.pack.table import read_row, table
from bench_gta.pack.tasks import SetTask, TaskSet, read_tasks, require_same

T = TypeVar("T")

LONGEST = 30 * 24 * 3600.0  # seconds for one task
LEAST_MEMORY, MOST_MEMORY = 64, 16 << 20  # MiB of an agent
MOST_JOBS = 256
MOST_SHOWN = 200  # characters of an agent's last line
INTERRUPTED = 130  # exit status


def create_pack(options: argparse.Namespace) -> int:
    tasks = read_tasks(options.data)
    ids = read_ids(options.task_ids) if options.task_ids else None
    results: Path = options.result_dir
    out: Path = options.out_pack or results / "pack.json"
    pack = _of_deliverables(results, tasks, ids, out) if options.deliverables else create(results, tasks, ids=ids)
    write_pack(out, with_metadata(pack, result_dir=results.name, deliverables=options.deliverables))
    for task in pack.tasks:
        for note in notes_of(task.meta):
            print(f"note: task {task.task_id}: {note}")
    _note_turns(tasks.tasks[task.task_id] for task in pack.tasks)
    if not lies_beside(out, pack.base):
        print(f"note: its files lie outside the pack's folder; check and score it with --base-dir {results}")
    print(f"{out}: {len(pack.tasks)} tasks, {sum(len(task.attached_files) for task in pack.tasks)} files")
    return 0


def _of_deliverables(results: Path, tasks: TaskSet, ids: list[int] | None, out: Path) -> Pack:
    from bench_gta.workflow.rendering.convert import Conversions

    with scratch_folder() as scratch, new_copies(out, results) as (new, base):
        convert = Conversions(scratch, upstream=False)

        def gather(task: SetTask, folder: Path) -> Outcome:
            return from_deliverables(task, folder, base=new, convert=convert)

        return create(results, tasks, ids=ids, base=base, gather=gather)


def check_pack(options: argparse.Namespace) -> int:
    return print_problems(*read(options, options.pack))


def run_agent(options: argparse.Namespace) -> int:
    plan = _plan(options)
    tasks = read_tasks(options.data)
    _note_turns(chosen(tasks, plan.ids))
    failed: list[int] = []
    killed: list[int] = []

    def report(task: SetTask, record: Mapping[str, Json]) -> None:
        cost = "cost unknown" if record["usd"] is None else f"{record['usd']:.4f} USD"
        again = f"attempt {record['attempt']}: " if record["attempt"] > 1 else ""
        print(f"task {task.id}: {again}{record['error'] or 'done'}, {record['elapsed_sec']:.1f} s, {cost}", flush=True)
        for note in record["notes"]:
            print(f"  note: {note}")
        if record["status"] != "ok":
            failed.append(task.id)
            if ended_from_outside(record["status"], record["returncode"]):
                killed.append(task.id)
            if line := _last_line(options.out / str(task.id) / STDERR):
                print(f"  it said: {line}")

    run = until_signal(run_tasks(tasks, options.out, plan, report=report))
    if run is None:
        return INTERRUPTED
    if plan.budget and plan.budget.unit != "s" and run.unpriced:
        not_counted = f"{run.unpriced} tasks, whose usage.json names no cost"
        print(f"note: the budget of {plan.budget.text} does not count {not_counted}")
    for line in by_state(run.tool_states):
        print(f"note: {line}")
    if run.stopped:
        print(f"stopped: {run.stopped}")
    print(f"{run.pack}: {len(run.done)} tasks were run, {len(failed)} of them failed")
    if failed:
        log = options.out / str(failed[0]) / STDERR
        print(f"their output: {log} and so on; the same command with --retry-failed runs them again")
    if killed:
        print(f"{len(killed)} of them were killed and are not in the pack; the same command runs them again")
    return 1 if failed else 0


def _plan(options: argparse.Namespace) -> Plan:
    """Raises UsageProblem."""
    if not 1 <= options.jobs <= MOST_JOBS:
        raise UsageProblem(f"--jobs must be 1 or more, up to {MOST_JOBS}, not {options.jobs}")
    if not (math.isfinite(options.timeout) and 0 < options.timeout <= LONGEST):
        accepted = f"a positive number of seconds up to {LONGEST:.0f}"
        raise UsageProblem(f"--timeout must be {accepted}, not {options.timeout:g}")
    if not LEAST_MEMORY <= options.memory_mb <= MOST_MEMORY:
        raise UsageProblem(f"--memory-mb must be {LEAST_MEMORY} or more, up to {MOST_MEMORY}, not {options.memory_mb}")
    if wrong := [port for port in options.local_port if not 0 < port < 2**16]:
        raise UsageProblem(f"--local-port must be from 1 to 65535, not {wrong[0]}")
    require_count(options.max_tasks)
    command = read_command(options.command)
    if not options.mcp and (needs_tools(command) or options.tool_server):
        what = "--command names the tools' address" if needs_tools(command) else "--tool-server is given"
        raise UsageProblem(f"{what}, but the agent is offered no tools; add --mcp")
    for path in options.readable:
        if not path.exists():
            raise UsageProblem(f"--readable {path}: there is no such file or folder")
    for name in options.env:
        if name not in os.environ:
            raise UsageProblem(f"--env {name}: the variable is not set; set it, or leave it out")
    settings = AgentSettings(
        seconds=options.timeout,
        memory_mb=options.memory_mb,
        readable=(*options.readable, *command.readable, *command.environment),
        env={name: os.environ[name] for name in options.env},
        network=options.network,
        confined=not options.no_sandbox,
    )
    return Plan(
        command=command,
        settings=settings,
        ids=read_ids(options.task_ids) if options.task_ids else None,
        jobs=options.jobs,
        budget=parse_budget(options.budget) if options.budget else None,
        max_tasks=options.max_tasks,
        retry_failed=options.retry_failed,
        ports=tuple(dict.fromkeys(options.local_port)),
        mcp=options.mcp,
        tool_server=options.tool_server,
    )


def print_table(options: argparse.Namespace) -> int:
    print(table([read_row(path) for path in options.scores]))
    return 0


def read(options: argparse.Namespace, path: Path) -> tuple[Pack, TaskSet | None]:
    """The pack, and the task set that it is of. Without --data, a pack that names a task set must be of the bundled
    one; one that names none (the released tool's) is taken as it stands."""
    pack = read_pack(path, options.base_dir)
    if options.data is None and pack.data is None:
        print("note: the pack does not name its task set, so it is not compared with one (give --data for that)")
        return pack, None
    tasks = read_tasks(options.data)
    require_same(pack, tasks)
    return pack, tasks


def print_problems(pack: Pack, tasks: TaskSet | None) -> int:
    """Print the problems of a pack. Returns the exit status."""
    problems = problems_of(pack, tasks)
    for problem in problems:
        print(escaped(problem))
    for note in notes_of_pack(pack):
        print(f"note: {note}")
    found = "1 problem" if len(problems) == 1 else f"{len(problems) or 'no'} problems"
    print(f"{pack.path}: {len(pack.tasks)} tasks, {found}")
    return 1 if problems else 0


def require_count(most: int | None) -> None:
    """Raises UsageProblem for a ``--max-tasks`` below 0."""
    if most is not None and most < 0:
        raise UsageProblem(f"--max-tasks must be 0 or more, not {most}")


def until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Run to the end. Returns None, with a message to the user, if Ctrl-C, SIGTERM or a closed terminal ended it first;
    running work is cancelled and cleaned up."""

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        # under nohup, SIGHUP is ignored, and stays so
        handled = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
        for number in handled:
            loop.add_signal_handler(number, task.cancel)
        try:
            return await work
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    try:
        return asyncio.run(watched())
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted; the same command continues", file=sys.stderr)
        return None


def _note_turns(tasks: Iterable[SetTask]) -> None:
    if several := [task.id for task in tasks if task.turns > 1]:
        further = "gets the first request only, but these tasks have further ones"
        print(f"note: an external agent {further}: {some(several)}")


def _last_line(file: Path) -> str:
    """The last line of what an agent printed, cut."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return escaped(lines[-1].strip())[:MOST_SHOWN] if lines else ""
