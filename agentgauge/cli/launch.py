"""``agentgauge launch``: a run whose cases are solved on the machines of a Ray cluster."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.run.launch_settings import LaunchOptions


def main(argv: Sequence[str]) -> int:
    parser = CommandParser(
        prog="agentgauge launch",
        description="Run pytest on this machine, and its benchmark cases on the machines of a Ray cluster. The plan is"
        " made once, on this machine, and cut into shards. Each shard is a pytest process on a node, and sends its"
        " records to this machine as cases finish. The run folder is on this machine and has the usual files.",
        epilog="example: agentgauge launch --ray auto --workers 8 -- --model=gpt-4o bench_wild",
    )
    parser.add_argument(
        "--ray",
        required=True,
        metavar="ADDRESS",
        help="local: start Ray on this machine; auto: the cluster of this machine; or HOST:PORT of a cluster's head",
    )
    parser.add_argument("--workers", type=int, required=True, metavar="N", help="shards that run at a time")
    parser.add_argument("--cpus", type=float, default=1, metavar="C", help="CPUs reserved for each shard (default: 1)")
    parser.add_argument("--gpus", type=float, default=0, metavar="G", help="GPUs reserved for each shard (default: 0)")
    parser.add_argument(
        "--tools", action="store_true", help="start one tool server for all shards, whose tools run on Ray Serve"
    )
    parser.add_argument("arguments", nargs="*", metavar="PYTEST", help="pytest's arguments, after --")
    before, after = _split(argv)
    options = parser.parse_args(before)
    if find_spec("ray") is None:
        raise UsageProblem("agentgauge launch needs Ray, which is not installed: pip install 'agentgauge[ray]'")
    if options.workers < 1 or options.cpus < 0 or options.gpus < 0:
        raise UsageProblem("--workers must be 1 or more, --cpus and --gpus 0 or more")
    if wrong := [one for one in (options.cpus, options.gpus) if one > 1 and one % 1]:
        raise UsageProblem(f"--cpus and --gpus must be integers, or less than 1, not {wrong[0]:g}")
    processes, words = _without_processes([*options.arguments, *after])
    launch = LaunchOptions(options.ray, options.workers, options.cpus, options.gpus, processes, options.tools)
    command = [sys.executable, "-m", "pytest", "-n0", *words]
    sys.stdout.flush()
    os.execve(sys.executable, command, {**os.environ, **launch.variables()})


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
