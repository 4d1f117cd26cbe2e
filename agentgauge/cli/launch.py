"""``agentgauge launch``: several runs with one command, and runs whose cases are solved on a Ray cluster."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry
from agentgauge.run.launch_settings import Handed, LaunchOptions


def main(argv: Sequence[str], load_tasks: Callable[[], Registry]) -> int:
    before, words = _split(argv)
    options = _parser().parse_args(before)
    words = [*options.arguments, *words]
    launch = _on_ray(options)
    if launch:
        processes, words = _without_processes(words)
        launch, words = replace(launch, processes=processes), ["-n0", *words]
    if options.matrix:
        return _run_matrix(options.matrix, words, load_tasks(), launch, is_tried=options.dry_run)
    if options.dry_run:
        raise UsageProblem("--dry-run goes with --matrix only; give both, or neither")
    sys.stdout.flush()
    variables = Handed(launch=launch).variables() if launch else {}
    return os.execve(sys.executable, [sys.executable, "-m", "pytest", *words], {**os.environ, **variables})


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="agentgauge launch",
        description="Start several runs: one for each --model among pytest's arguments, or for each combination of"
        " models and settings that a file lists. With --ray, the cases of each run are solved on a Ray cluster: the"
        " plan is made once, on this machine, and cut into shards; each shard is a pytest process on a node, and sends"
        " its records to this machine as cases finish. The run folders are on this machine and have the usual files.",
        epilog="examples: agentgauge launch --matrix examples/matrix.toml --dry-run; agentgauge launch --ray auto"
        " --workers 8 -- --model=gpt-4o bench_wild",
    )
    parser.add_argument(
        "--matrix",
        type=Path,
        metavar="FILE",
        help="TOML file with models, and perhaps dialects, temperatures, token limits and attempts: a run for each"
        " combination. The same command again goes on: finished runs are kept",
    )
    parser.add_argument("--dry-run", action="store_true", help="with --matrix: list the runs and start none")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="local: start Ray on this machine; auto: the cluster of this machine; or HOST:PORT of a cluster's head",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="with --ray: shards that run at a time, of all runs")
    parser.add_argument("--cpus", type=float, metavar="C", help="with --ray: CPUs reserved for each shard (default: 1)")
    parser.add_argument("--gpus", type=float, metavar="G", help="with --ray: GPUs reserved for each shard (default: 0)")
    parser.add_argument("--tools", action="store_true", help=argparse.SUPPRESS)  # that was; its users are told
    parser.add_argument("arguments", nargs="*", metavar="PYTEST", help="pytest's arguments, after --")
    return parser


def _on_ray(options: argparse.Namespace) -> LaunchOptions | None:
    """Raises UsageProblem."""
    given = {"workers": options.workers, "cpus": options.cpus, "gpus": options.gpus}
    if options.tools:
        raise UsageProblem(
            "--tools started tools on Ray Serve, which are no more; leave it out, start `agentgauge serve-tools`, and"
            " name its address after -- with --tool-server"
        )
    if options.ray is None:
        if lost := [f"--{name}" for name, value in given.items() if value is not None]:
            raise UsageProblem(f"{lost[0]} goes with --ray only; give both, or neither")
        return None
    if find_spec("ray") is None:
        raise UsageProblem("--ray needs Ray, which is not installed: pip install 'agentgauge[ray]'")
    cpus, gpus = (default if value is None else value for value, default in ((options.cpus, 1), (options.gpus, 0)))
    if options.workers is None:
        raise UsageProblem("--ray needs --workers, the number of shards that run at a time; add --workers N")
    if options.workers < 1 or cpus < 0 or gpus < 0:
        raise UsageProblem("--workers must be 1 or more, --cpus and --gpus 0 or more")
    if wrong := [one for one in (cpus, gpus) if one > 1 and one % 1]:
        raise UsageProblem(f"--cpus and --gpus must be integers, or less than 1, not {wrong[0]:g}")
    return LaunchOptions(options.ray, options.workers, cpus, gpus)


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own arguments and pytest's."""
    words = list(argv)
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place + 1 :]


def _without_processes(words: Sequence[str]) -> tuple[int, list[str]]:
    """pytest's ``-n``, which is for the shards, and its other arguments."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-n", "--numprocesses", default="0")
    found, others = parser.parse_known_args(words)
    if not re.fullmatch(r"\d{1,4}", found.numprocesses, re.ASCII):
        raise UsageProblem(f"-n {found.numprocesses} must be an integer: the processes of each shard, such as -n 2")
    return int(found.numprocesses), others


def _run_matrix(
    file: Path, words: Sequence[str], tasks: Registry, launch: LaunchOptions | None, *, is_tried: bool
) -> int:
    """``words``: further arguments of pytest, for every run. ``is_tried``: list the runs and start none."""
    from agentgauge_reports.several import REPORTS
    from agentgauge_reports.text import aligned

    from agentgauge.run.several.matrix import read_matrix
    from agentgauge.run.several.members import run_members
    from agentgauge.run.several.parent import RunGroup, is_begun, is_parent, read, refuse_taken, without_secrets

    matrix = read_matrix(file, words)
    parent, group = Path(matrix.folder), matrix.runs()
    known = RunGroup(())
    if is_parent(parent):
        known = read(parent)
    else:
        refuse_taken(parent)
    earlier = {member.name: member for member in known.members if is_begun(parent / member.name)}
    for member in group.members:
        if earlier.pop(member.name, kept := without_secrets(member)) != kept:
            raise UsageProblem(
                f"{parent} has a run {member.name} with other settings than {file}; give the file another folder, or"
                " restore its settings"
            )
    if is_tried:
        rows = [(member.name, _state(parent, member.name), " ".join(member.words)) for member in group.members]
        print("\n".join(aligned(rows, left=(0, 1, 2))))
        return 0
    stored = replace(group, members=(*group.members, *earlier.values()), finished=known.finished)
    together, root = matrix.together, Path.cwd()
    return run_members(parent, group, REPORTS, tasks=tasks, stored=stored, together=together, root=root, on_ray=launch)


def _state(parent: Path, name: str) -> str:
    from agentgauge.run.several.parent import is_begun, is_finished

    return "finished" if is_finished(parent, name) else "goes on" if is_begun(parent / name) else "new"
