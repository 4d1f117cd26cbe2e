"""The command ``agentgauge pack`` and its verbs; ``score`` has a module of its own."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.tools import by_state
from agentgauge.core.types import Json
from agentgauge.model.budget import parse_budget
from agentgauge.run.programs.process import ProgramSettings
from agentgauge.sandbox import ended_from_outside, scratch_folder
from bench_gta.pack.create import (
    TaskContent,
    create,
    from_deliverables,
    new_copies,
    notes_of,
    read_ids,
    some,
    with_metadata,
)
from bench_gta.pack.format import (
    Pack,
    SetTask,
    TaskSet,
    lies_beside,
    open_pack,
    print_problems,
    read_tasks,
    write_pack,
)
from bench_gta.pack.results import read_row, table
from bench_gta.pack.run import (
    INTERRUPTED,
    STDERR,
    AgentPlan,
    chosen,
    needs_tools,
    read_command,
    require_count,
    run_tasks,
    until_signal,
)
from bench_gta.pack.score import score
from bench_gta.pack.task_folder import escaped
from bench_gta.workflow.judgements import USER
from bench_gta.workflow.metrics import THRESHOLD

LONGEST = 30 * 24 * 3600.0  # seconds for one task
LEAST_MEMORY, MOST_MEMORY = 64, 16 << 20  # MiB of an agent
MOST_JOBS = 256
MOST_SHOWN = 200  # characters of an agent's last line


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
    from bench_gta.workflow.rendering import Conversions

    with scratch_folder() as scratch, new_copies(out, results) as (new, base):
        convert = Conversions(scratch, upstream=False)

        def gather(task: SetTask, folder: Path) -> TaskContent:
            return from_deliverables(task, folder, base=new, convert=convert)

        return create(results, tasks, ids=ids, base=base, gather=gather)


def check_pack(options: argparse.Namespace) -> int:
    return print_problems(*open_pack(options, options.pack))


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


def _plan(options: argparse.Namespace) -> AgentPlan:
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
    settings = ProgramSettings(
        seconds=options.timeout,
        memory_mb=options.memory_mb,
        readable=(*options.readable, *command.readable, *command.environment),
        env={name: os.environ[name] for name in options.env},
        network=options.network,
        confined=not options.no_sandbox,
    )
    return AgentPlan(
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


Option = dict[str, Any]  # arguments of ``ArgumentParser.add_argument``

_DATA = "data folder of GTA-Workflow, or its end.json (default: the bundled sample)"
_FILE: Option = {"type": Path, "metavar": "FILE"}
_DIR: Option = {"type": Path, "metavar": "DIR"}
_PATH: Option = {"type": Path, "metavar": "PATH"}
_COUNT: Option = {"type": int, "metavar": "N"}
_SCORE: Option = {"type": float, "metavar": "X", "default": THRESHOLD}
_AMOUNT: Option = {"metavar": "AMOUNT"}
_FLAG: Option = {"action": "store_true"}
_REQUIRED: Option = {"required": True}
_REPEATED: Option = {"action": "append", "default": []}

_WHERE: Mapping[str, tuple[str, Option]] = {
    "--base-dir": ("folder that the pack's paths start from (default: the folder that the pack names)", _DIR),
    "--data": (f"{_DATA}; a pack of another task set is refused", _PATH),
}
_CREATE: Mapping[str, tuple[str, Option]] = {
    "--result-dir": (
        "folder of results: a folder for each task id, with final.txt and files/",
        _DIR | _REQUIRED,
    ),
    "--out-pack": ("pack to write (default: pack.json in the result folder)", _FILE),
    "--data --dataset-end-json": (_DATA, _PATH),
    "--task-ids": ("file with ids of tasks, one a line (default: all folders)", _FILE),
    "--deliverables": (
        "task folders hold deliverables and no final answer; files for the judge are copied beside the pack",
        _FLAG,
    ),
}
_RUN: Mapping[str, tuple[str, Option]] = {
    "--command": (
        "the agent's program and arguments; {prompt}, {prompt_file}, {input}, {output} and {task_id} are filled in,"
        " with --mcp also {mcp_url}, {mcp_token} and {mcp_config}; no shell runs it",
        {"metavar": "TEXT"} | _REQUIRED,
    ),
    "--out": ("folder of the run; the same command continues it", _DIR | _REQUIRED),
    "--data": (_DATA, _PATH),
    "--task-ids": ("file with ids of tasks, one a line (default: all)", _FILE),
    "--max-tasks": ("work on N of the tasks that remain", _COUNT),
    "--timeout": ("time limit of one task (default: 1800)", {"type": float, "default": 1800.0, "metavar": "SECONDS"}),
    "--budget": (
        "stop before the next task once this is used: 5usd, 2Mtok, 3h; the agent reports its costs",
        _AMOUNT,
    ),
    "--jobs": ("concurrent tasks (default: 1)", _COUNT | {"default": 1}),
    "--retry-failed": ("run tasks again whose agent failed", _FLAG),
    "--mcp": ("offer the agent the task set's tools by the Model Context Protocol, and log its calls", _FLAG),
    "--tool-server": ("tool server for --mcp (default: one of our own)", {"metavar": "URL"}),
    "--local-port": (
        "port of this machine's 127.0.0.1 that the agent reaches without the network, such as a model's; may repeat",
        {"type": int, "metavar": "PORT"} | _REPEATED,
    ),
    "--network": ("let the agent use the network, including localhost and the local network", _FLAG),
    "--env": ("environment variable for the agent; may repeat", {"metavar": "NAME"} | _REPEATED),
    "--readable": ("file or folder that the agent may read; may repeat", _PATH | _REPEATED),
    "--memory-mb": ("memory limit of the agent (default: 8192)", {"type": int, "default": 8192, "metavar": "MB"}),
    "--no-sandbox": ("run the agent with all your rights; the pack records it", _FLAG),
}
_SCORE_PACK: Mapping[str, tuple[str, Option]] = {
    "--in-pack": ("pack to score", _FILE | _REQUIRED),
    **_WHERE,
    "--out": ("details to write (default: <pack>_<judge>_scores.json beside the pack)", _FILE),
    "--summary-out": ("summary to write (default: <out>_summary.json)", _FILE),
    "--judge-model": (
        "judge: a model that accepts files, or rules (default for the bundled sample)",
        {"metavar": "NAME"},
    ),
    "--judge-url": ("address of the judge's endpoint", {"metavar": "URL"}),
    "--judge-votes": (
        "replies for each leaf; the median counts (default: 1)",
        {"type": int, "default": 1, "metavar": "K"},
    ),
    "--judge-cache": (
        "cache of replies: a folder, user (the user's cache, the default) or none",
        {"default": USER, "metavar": "DIR"},
    ),
    "--scoring": (
        "parity: as the released scorer (default); strict: all turns, all kinds of files, valid replies only",
        {"choices": ("parity", "strict"), "default": "parity"},
    ),
    "--leaf-threshold": ("threshold of Leaf SR, 0 to 10 (default: 7)", _SCORE),
    "--root-threshold": ("threshold of Root SR, 0 to 10 (default: 7)", _SCORE),
    "--max-tasks": ("judge N of the tasks that remain", _COUNT),
    "--budget": ("stop before the next task once the judge has used this amount, such as 5usd or 30min", _AMOUNT),
    "--dry-run": ("only check the pack; no key is needed", _FLAG),
    "--allow-missing": ("also judge tasks with missing files", _FLAG),
}


def main(argv: Sequence[str]) -> int:
    """Run, pack, score and compare agent apps on GTA-Workflow.

    Returns the exit status: 0 done, 1 something is wrong with a pack or not every task ended well, 130 interrupted.
    Raises UsageProblem for what the user must fix.
    """
    options = _parser().parse_args(argv)
    return int(options.do(options))


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="agentgauge pack",
        description="Judge any agent app on GTA-Workflow: run it or pack its outputs, check, score, compare.",
        epilog=(
            "example: agentgauge pack run --command 'my-agent --task {prompt_file}' --out runs/my-agent, "
            "then agentgauge pack score --in-pack runs/my-agent/pack.json"
        ),
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def verb(
        do: Callable[[argparse.Namespace], int], name: str, text: str, example: str, options: Mapping[str, Any]
    ) -> argparse.ArgumentParser:
        description, example = f"{text[0].upper()}{text[1:]}.", f"example: agentgauge pack {name} {example}"
        made = verbs.add_parser(name, help=text, description=description, epilog=example)
        made.set_defaults(do=do)
        for names, (what, settings) in options.items():
            made.add_argument(*names.split(), help=what, **settings)
        return made

    example = "--result-dir outputs --out-pack outputs/pack.json"
    verb(create_pack, "create", "make a pack from a folder of outputs", example, _CREATE)
    pack = {"pack": ("the pack", {"type": Path, "metavar": "PACK"}), **_WHERE}
    text = "find the defects of a pack; exit status 1 if there are any"
    verb(check_pack, "check", text, "outputs/pack.json", pack)
    example = "--command 'my-agent --task {prompt_file}' --out runs/my-agent"
    verb(run_agent, "run", "drive a command-line agent through the tasks", example, _RUN)
    example = "--in-pack outputs/pack.json --judge-model gpt-5.2"
    scoring = verb(score, "score", "judge a pack, or continue an interrupted judgement", example, _SCORE_PACK)
    earlier = scoring.add_mutually_exclusive_group()
    earlier.add_argument("--overwrite", help="discard the existing scores and start again", **_FLAG)
    earlier.add_argument("--force-resume", help="keep existing scores of another pack, judge or scoring", **_FLAG)
    config = "agentgauge.toml (default: the one in the working directory)"
    scoring.add_argument("--config", help=config, **_FILE)
    scores = {"type": Path, "nargs": "+", "metavar": "SCORES"}
    text = "compare scored packs with each other and with the published harnesses"
    written = ("files that `agentgauge pack score` wrote", scores)
    verb(print_table, "table", text, "a_scores.json b_scores.json", {"scores": written})
    return parser
