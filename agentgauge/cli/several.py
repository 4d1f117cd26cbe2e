"""Several runs with one command: of pytest with several ``--model``, or of ``agentgauge sweep``."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Container, Sequence
from pathlib import Path

from agentgauge_reports.several.end import end_of
from agentgauge_reports.view.live import LiveRun

from agentgauge.core.config import load_config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import register_environment
from agentgauge.run.budget import parse_budget
from agentgauge.run.launch_settings import LAUNCH
from agentgauge.run.several.command_line import read_command_line
from agentgauge.run.several.launcher import LOGS, Launcher
from agentgauge.run.several.parent import FILE, Member, is_parent, named, read, write
from agentgauge.run.several.plan import launches
from agentgauge.run.several.screen import Screen
from agentgauge.store.folder_lock import FolderLock
from agentgauge.store.folder_names import new_folder

INTERRUPTED = 2
"""pytest's exit status after Ctrl-C."""


def run_of_pytest(words: Sequence[str], models: Sequence[str], short: Container[str], root: Path) -> int | None:
    """Run the models of a command line of pytest. Returns the worst exit status; None if it asks for one run only.

    ``models``: those of the command line and of the settings of the project, which count where the command line has
    none. ``short``: our options that have a name without the prefix. ``root``: the folder of ``agentgauge.toml``.
    Raises UsageProblem.
    """
    line = read_command_line(words, short)
    if line.resume and is_parent(Path(line.resume)):
        if line.models:
            raise UsageProblem(f"--resume={line.resume} goes on with the models of that folder; leave --model out")
        parent = Path(line.resume)
        members, in_flight = read(parent)
        members = [Member(one.name, one.model, (*one.words, *line.words)) for one in members]
    elif len(models := line.models or tuple(models)) < 2:
        return None
    else:
        if line.resume:
            raise UsageProblem(
                f"--resume={line.resume} is one run; name the folder of several runs, or give no --model besides"
            )
        parent, in_flight = Path(line.run_dir) if line.run_dir else new_folder(f"{len(models)}-models"), None
        members = [Member(name, model, line.words) for name, model in zip(named(models), models, strict=True)]
    line.check()
    if line.resume and line.run_dir:
        raise UsageProblem("--resume and --run-dir cannot be used together: resumed runs stay in their folder")
    if LAUNCH in os.environ:
        raise UsageProblem("agentgauge launch takes one --model; start it once for each model")
    return run_members(
        parent,
        members,
        in_flight=int(line.in_flight) if line.in_flight else in_flight,
        budget=line.budget,
        root=root,
        is_new=not line.resume,
    )


def run_members(
    parent: Path,
    members: Sequence[Member],
    *,
    in_flight: int | None,
    budget: str | None,
    root: Path,
    is_new: bool,
    side_by_side: int | None = None,
) -> int:
    """Run what is not finished of the members, then write and show what all come to. Returns the worst exit status.

    ``in_flight``: concurrent requests to one provider. ``is_new``: the folder must hold no runs yet. Raises
    UsageProblem.
    """
    register_environment()
    limit = parse_budget(budget) if budget else None
    if in_flight is not None and in_flight < 1:
        raise UsageProblem(f"--in-flight {in_flight} is too small; give a whole number from 1")
    width = side_by_side or len(members)
    todo = launches(
        parent, members, in_flight=in_flight, side_by_side=width, config=load_config(root=root), live=LiveRun
    )
    screen = Screen(sys.stdout)
    try:
        with FolderLock(parent):
            if is_new:
                _refuse_taken(parent)
                write(parent, members, in_flight)
            kept = len(members) - len(todo)
            told = f"{len(todo)} runs, up to {min(width, len(todo))} side by side" if todo else "no run is left"
            screen.say(f"agentgauge: {told}{f', {kept} kept' if kept else ''}; output in {parent}/{LOGS}")
            launcher = Launcher(parent, todo, screen, side_by_side=width, budget=limit)
            status = launcher.run() if todo else 0
            for line in end_of(parent, [member.name for member in members], shutil.get_terminal_size().columns):
                screen.say(line)
    except OSError as error:
        raise UsageProblem(
            f"the folder {error.filename or parent} cannot be written ({error.strerror}); name another with --run-dir"
        ) from None
    for launch in todo:
        if launch.status:
            screen.say(f"{launch.name}: exit status {launch.status}, see {parent}/{LOGS}/{launch.name}.log")
        elif launch.status is None:
            screen.say(f"{launch.name}: not run")
    if launcher.stop_reason:
        screen.say(f"stopped early: {launcher.stop_reason}; continue with --resume={parent}")
    return max(status, INTERRUPTED) if launcher.was_interrupted else status


def _refuse_taken(parent: Path) -> None:
    for file in (FILE, "run.json"):
        if (parent / file).exists():
            raise UsageProblem(
                f"{parent} already holds {'runs' if file == FILE else 'a run'}; continue with --resume={parent}, or"
                " name another --run-dir"
            )
