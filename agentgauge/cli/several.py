"""Several runs with one command: of pytest with several ``--model``, or of ``agentgauge sweep``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO, cast

from agentgauge_reports.several import end_of, tasks_of
from agentgauge_reports.view.live import LiveRun

from agentgauge.cli.project_tasks import import_tasks
from agentgauge.core.atomic_write import advice
from agentgauge.core.config import load_config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import register_environment
from agentgauge.core.standard_streams import Output, lost_output
from agentgauge.run.budget import Budget, parse_budget
from agentgauge.run.settings import register_tool_secrets
from agentgauge.run.several.launcher import USAGE_ERROR, Launch, Launcher
from agentgauge.run.several.parent import LOGS, RunGroup, write
from agentgauge.run.several.plan import launches
from agentgauge.run.several.screen import Screen
from agentgauge.store.folder_lock import FolderLock

LOST = 1
"""Exit status where not all of the output could be written, and nothing else is amiss."""


def run_members(
    parent: Path, group: RunGroup, *, stored: RunGroup | None, budget: str | None, root: Path, again: bool = False
) -> int:
    """Run the unfinished members, then write and show the table, comparison and leaderboard. Returns the worst exit
    status.

    ``stored``: the new content of the folder's file. ``again``: finished members are resumed, too. Raises UsageProblem.
    """
    register_environment()
    config = load_config(root=root)
    register_tool_secrets(config)  # for the logs of tool servers
    limit = parse_budget(budget) if budget else None
    if group.in_flight is not None and group.in_flight < 1:
        raise UsageProblem(f"--in-flight {group.in_flight} is too small; give a whole number from 1")
    todo = launches(parent, group, config, limit, LiveRun, again=again)
    try:
        with FolderLock(parent):
            if stored:
                write(parent, stored)
            return _run(parent, group, todo, limit, root)
    except OSError as error:
        what = f"{error.filename or parent} cannot be written ({error.strerror})"
        raise UsageProblem(f"{what}; {advice(error) or 'check the folder'}, or name another folder") from None


def _run(parent: Path, group: RunGroup, todo: Sequence[Launch], budget: Budget | None, root: Path) -> int:
    """Raises OSError."""

    def lost(error: OSError) -> None:
        print(f"agentgauge: {lost_output(error)}; the runs below {parent} go on", file=sys.stderr)

    output = Output(sys.stdout, lost)
    screen = Screen(cast("TextIO", output))
    width = group.side_by_side or len(group.members)
    names = [one.name for one in group.members]
    kept = f", {count} finished" if (count := len(names) - len(todo)) else ""
    together = f", up to {width} side by side" if width < len(todo) else ""
    screen.write_line(
        f"agentgauge: runs below {parent}: {len(todo)} to do{together}{kept}; what each prints is in {LOGS}/"
    )
    launcher = Launcher(parent, todo, screen, side_by_side=width, budget=budget)
    status = launcher.run()
    words = [word for member in group.members for word in member.words]
    if unknown := import_tasks(tasks_of(parent, names), words, root):
        screen.write_line(
            f"no table, comparison and leaderboard: {unknown}; write agentgauge --tasks FILE sweep ..., or pytest FILE"
            f" --resume={parent}, where FILE announces the task: what is finished does not run again"
        )
        status = max(status, USAGE_ERROR)
    else:
        for line in end_of(parent, names, shutil.get_terminal_size().columns):
            screen.write_line(line)
    for launch in todo:
        if launch.status:
            log = parent / LOGS / f"{launch.name}.log"
            why = _refusal(log) if launch.status == USAGE_ERROR else ""
            screen.write_line(f"{launch.name}: exit status {launch.status}, {why or f'see {log}'}")
        elif launch.status is None:
            screen.write_line(f"{launch.name}: not run")
    why = "interrupted" if launcher.was_interrupted else launcher.stop_reason
    if why and any(launch.status != 0 for launch in todo):
        screen.write_line(f"stopped early: {why}; continue with pytest --resume={parent}")
    return max(status, LOST) if output.error else status


def _refusal(log: Path) -> str:
    """Why pytest refused to run, as it printed at last; empty where it printed no reason."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.startswith("ERROR: ") or ": error: " in line), "")
