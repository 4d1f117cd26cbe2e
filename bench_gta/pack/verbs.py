"""What the verbs of ``agentgauge pack`` do; ``score`` has a module of its own."""

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
from agentgauge.core.types import Json
from agentgauge.run.budget import parse_budget
from agentgauge.sandbox import scratch_folder
from bench_gta.pack.agent import STDERR, read_command
from bench_gta.pack.check import notes_of_pack, problems_of
from bench_gta.pack.copies import copies_of, made_afresh
from bench_gta.pack.create import Outcome, create, named, notes_of, read_ids
from bench_gta.pack.deliverables import from_deliverables
from bench_gta.pack.file_selection import escaped
from bench_gta.pack.format import Pack, lies_beside, read_pack, write_pack
from bench_gta.pack.process import Place
from bench_gta.pack.run import Plan, Ran, chosen, run_tasks
from bench_gta.pack.table import read_row, table
from bench_gta.pack.tasks import SetTask, TaskSet, read_tasks, require_same

T = TypeVar("T")

LONGEST = 30 * 24 * 3600.0  # seconds for one task
LEAST_MEMORY, MOST_MEMORY = 64, 16 << 20  # MiB of an agent
MOST_JOBS = 256
MOST_SAID = 200  # characters of an agent's last line


def create_pack(options: argparse.Namespace) -> int:
    tasks = read_tasks(options.data)
    ids = read_ids(options.task_ids) if options.task_ids else None
    results: Path = options.result_dir
    out: Path = options.out_pack or results / "pack.json"
    about = {"result_dir": results.name, "deliverables": options.deliverables}
    pack = _of_deliverables(results, tasks, ids, out) if options.deliverables else create(results, tasks, ids=ids)
    write_pack(out, named(pack, **about))
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

    copies = copies_of(out, results)
    with scratch_folder() as scratch, made_afresh(copies) as fresh:
        convert = Conversions(scratch, upstream=False)

        def gather(task: SetTask, folder: Path) -> Outcome:
            return from_deliverables(task, folder, base=fresh, convert=convert)

        return create(results, tasks, ids=ids, base=copies, gather=gather)


def check_pack(options: argparse.Namespace) -> int:
    pack, tasks = read(options, options.pack)
    return tell_problems(pack, tasks)


def run_agent(options: argparse.Namespace) -> int:
    plan = _plan(options)
    tasks = read_tasks(options.data)
    _note_turns(chosen(tasks, plan.ids))
    failed: list[int] = []

    def told(task: SetTask, record: Mapping[str, Json]) -> None:
        cost = "cost not told" if record["usd"] is None else f"{record['usd']:.4f} USD"
        again = f"attempt {record['attempt']}: " if record["attempt"] > 1 else ""
        print(f"task {task.id}: {again}{record['error'] or 'done'}, {record['elapsed_sec']:.1f} s, {cost}", flush=True)
        for note in record["notes"]:
            print(f"  note: {note}")
        if record["status"] != "ok":
            failed.append(task.id)
            if line := _last_line(options.out / str(task.id) / STDERR):
                print(f"  it said: {line}")

    ran: Ran | None = until_signal(run_tasks(tasks, options.out, plan, told=told))
    if ran is None:
        return interrupted()
    if plan.budget and plan.budget.unit != "s" and ran.unpriced:
        print(
            f"note: the budget of {plan.budget.text} does not count {ran.unpriced} tasks, whose usage.json tells no"
            " cost"
        )
    if ran.stopped:
        print(f"stopped: {ran.stopped}")
    print(f"{ran.pack}: {len(ran.done)} tasks run now, {len(failed)} of them not to a good end")
    if failed:
        log = options.out / str(failed[0]) / STDERR
        print(f"what they said: {log} and so on; the same command with --retry-failed runs them again")
    return 1 if failed else 0


def _plan(options: argparse.Namespace) -> Plan:
    """Raises UsageProblem."""
    if not 1 <= options.jobs <= MOST_JOBS:
        raise UsageProblem(f"--jobs must be 1 or more, up to {MOST_JOBS}, not {options.jobs}")
    if not (math.isfinite(options.timeout) and 0 < options.timeout <= LONGEST):
        raise UsageProblem(
            f"--timeout must be a positive number of seconds up to {LONGEST:.0f}, not {options.timeout:g}"
        )
    if not LEAST_MEMORY <= options.memory_mb <= MOST_MEMORY:
        raise UsageProblem(f"--memory-mb must be {LEAST_MEMORY} or more, up to {MOST_MEMORY}, not {options.memory_mb}")
    require_count(options.max_tasks)
    command = read_command(options.command)
    place = Place(
        seconds=options.timeout,
        memory_mb=options.memory_mb,
        readable=(*(_existing(path) for path in options.readable), *command.readable),
        env={name: _variable(name) for name in options.env},
        network=options.network,
        confined=not options.no_sandbox,
    )
    return Plan(
        command=command,
        place=place,
        ids=tuple(read_ids(options.task_ids)) if options.task_ids else None,
        jobs=options.jobs,
        budget=parse_budget(options.budget) if options.budget else None,
        max_tasks=options.max_tasks,
        retry_failed=options.retry_failed,
    )


def print_table(options: argparse.Namespace) -> int:
    print(table([read_row(path) for path in options.scores]))
    return 0


def read(options: argparse.Namespace, path: Path) -> tuple[Pack, TaskSet | None]:
    """The pack, and the task set that it is of. Without --data, a pack that names a task set must be of the bundled
    one; one that names none (the released tool's) is taken as it stands."""
    pack = read_pack(path, options.base_dir)
    if options.data is None and pack.data is None:
        print("note: the pack does not say which task set it is of; it is not compared with one (give --data for that)")
        return pack, None
    tasks = read_tasks(options.data)
    require_same(pack, tasks)
    return pack, tasks


def tell_problems(pack: Pack, tasks: TaskSet | None) -> int:
    """Print what is wrong with a pack. The exit status."""
    problems = problems_of(pack, tasks)
    for problem in problems:
        print(escaped(str(problem)))
    for note in notes_of_pack(pack):
        print(f"note: {note}")
    print(
        f"{pack.path}: {len(pack.tasks)} tasks, {len(problems) or 'no'}"
        f" {'problem' if len(problems) == 1 else 'problems'}"
    )
    return 1 if problems else 0


def require_count(most: int | None) -> None:
    """Raises UsageProblem for a ``--max-tasks`` below 0."""
    if most is not None and most < 0:
        raise UsageProblem(f"--max-tasks must be 0 or more, not {most}")


def until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Run to the end; None where Ctrl-C, SIGTERM or a closed terminal ended it first. What was being done is
    cancelled and cleaned up."""

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        # under nohup, SIGHUP is ignored, and stays so
        heard = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN]
        for number in heard:
            loop.add_signal_handler(number, task.cancel)
        try:
            return await work
        finally:
            for number in heard:
                loop.remove_signal_handler(number)

    try:
        return asyncio.run(watched())
    except (KeyboardInterrupt, asyncio.CancelledError):
        return None


def interrupted() -> int:
    print("interrupted; the same command goes on where it was", file=sys.stderr)
    return 130


def _note_turns(tasks: Iterable[SetTask]) -> None:
    if several := [str(task.id) for task in tasks if task.turns > 1]:
        shown = ", ".join(several[:12]) + (f" and {len(several) - 12} more" if len(several) > 12 else "")
        print(f"note: an external agent gets the first request only, but these tasks go on with further ones: {shown}")


def _last_line(file: Path) -> str:
    """The last line of what an agent said, cut."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return escaped(lines[-1].strip())[:MOST_SAID] if lines else ""


def _existing(path: Path) -> Path:
    if not path.exists():
        raise UsageProblem(f"--readable {path}: there is no such file or folder")
    return path


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise UsageProblem(f"--env {name}: the variable is not set; set it, or leave it out")
    return value
