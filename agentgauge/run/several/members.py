"""Runs the members of a folder, each in a process of its own, and shows their end: for pytest with several ``--model``,
and for ``agentgauge launch --matrix``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple, TextIO, cast

from agentgauge.core.announcement import import_file
from agentgauge.core.config import load_config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import advice
from agentgauge.core.options import OPTIONS
from agentgauge.core.processes import Output, lost_output
from agentgauge.core.redaction import register_environment
from agentgauge.core.registry import Registry, tasks_of
from agentgauge.run.hooks import ask_installed
from agentgauge.run.launch_settings import LaunchOptions
from agentgauge.run.option_values import checked
from agentgauge.run.settings import register_tool_secrets
from agentgauge.run.several.beside import Beside
from agentgauge.run.several.launcher import USAGE_ERROR, Launch, Launcher
from agentgauge.run.several.on_cluster import on_cluster
from agentgauge.run.several.parent import LOGS, RunGroup, write
from agentgauge.run.several.plan import launches
from agentgauge.run.several.screen import Screen
from agentgauge.store.folder_lock import FolderLock

# -- The tasks that a project's own files announce, for commands that read runs of these tasks without pytest.


def import_tasks(tasks: Registry, wanted: Collection[str], words: Iterable[str], root: Path) -> str:
    """Add the tasks of the files that may announce those that are wanted, as pytest does with the arguments ``words``:
    the ``conftest.py`` of ``root`` and of folders among the words, and Python files among them. Imports nothing where
    all are known.

    Returns an error message if a task stays unknown, else an empty text.
    """
    failed = ""
    for file in dict.fromkeys(_files(words, root.resolve())):
        if all(name in tasks for name in wanted):
            return ""
        if (folder := str(file.parent)) not in sys.path:
            sys.path.insert(0, folder)  # as pytest does by default
        try:
            tasks.add(*tasks_of(import_file(file)))
        except UsageProblem as problem:
            failed = f" ({problem})"
    unknown = sorted(name for name in wanted if name not in tasks)
    return f"the file that announces the task {unknown[0]} was not found{failed}" if unknown else ""


def _files(words: Iterable[str], root: Path) -> Iterator[Path]:
    named = [path for word in words if (path := Path(word.partition("::")[0]).resolve()).exists()]
    around = [[*reversed(path.parents), path] for path in named]
    folders = [root, *(one for chain in around for one in chain if one.is_relative_to(root))]
    for file in (*(folder / "conftest.py" for folder in folders), *named):
        if file.is_file() and file.suffix == ".py":
            yield file


# -- Several runs with one command.


LOST = 1
"""Exit status where not all of the output could be written, and nothing else is amiss."""


class Reports(NamedTuple):
    """What shows several runs: ``agentgauge_reports.several.REPORTS``."""

    tasks_of: Callable[[Path, Sequence[str]], Collection[str]]  # ``(parent, names)``: the tasks of these runs
    end_of: Callable[[Path, Sequence[str], Registry, int], Iterable[str]]
    """``(parent, names, tasks, width)``: writes comparison and leaderboard, and returns the lines of the table."""


def run_members(
    parent: Path,
    group: RunGroup,
    reports: Reports,
    *,
    tasks: Registry,
    stored: RunGroup | None,
    together: Mapping[str, str],
    root: Path,
    again: bool = False,
    on_ray: LaunchOptions | None = None,
) -> int:
    """Run the unfinished members, then write and show the table, comparison and leaderboard. Returns the worst exit
    status.

    ``tasks`` gets those that the project's files announce, too. ``stored``: the new content of the folder's file.
    ``together``: values of the options that all have together, by their names. ``again``: finished members are resumed,
    too. ``on_ray``: where the cases of all members are solved; None: here. Raises UsageProblem.
    """
    register_environment()
    config = load_config(root=root)
    register_tool_secrets(config)  # for the logs of tool servers
    beside: list[Beside] = ask_installed("pytest_agentgauge_several", parent=parent, together=together)
    for name, total in group.totals.items():
        if total is not None:
            checked(OPTIONS[name], total)
    todo = launches(parent, group, config, together, again=again)
    for each in beside:
        each.check([launch.spec for launch in todo])
    most = min(group.side_by_side or len(group.members), max(1, len(todo)))
    width = min(most, on_ray.workers) if on_ray else most
    try:
        with FolderLock(parent):
            if stored:
                write(parent, stored)
            with on_cluster(on_ray, todo, width) if on_ray else nullcontext():
                return _run(parent, group, reports, tasks, todo, beside, root, width)
    except OSError as error:
        what = f"{error.filename or parent} cannot be written ({error.strerror})"
        raise UsageProblem(f"{what}; {advice(error) or 'check the folder'}, or name another folder") from None


def _run(
    parent: Path,
    group: RunGroup,
    reports: Reports,
    tasks: Registry,
    todo: Sequence[Launch],
    beside: Sequence[Beside],
    root: Path,
    width: int,
) -> int:
    """``width``: runs side by side. Raises OSError."""

    def lost(error: OSError) -> None:
        print(f"agentgauge: {lost_output(error)}; the runs below {parent} go on", file=sys.stderr)

    output = Output(sys.stdout, lost)
    screen = Screen(cast("TextIO", output))
    names = [one.name for one in group.members]
    kept = f", {count} finished" if (count := len(names) - len(todo)) else ""
    together = f", up to {width} side by side" if width < len(todo) else ""
    screen.write_line(
        f"agentgauge: runs below {parent}: {len(todo)} to do{together}{kept}; what each prints is in {LOGS}/"
    )
    launcher = Launcher(parent, todo, screen, side_by_side=width, beside=beside)
    status = launcher.run()
    words = [word for member in group.members for word in member.words]
    if unknown := import_tasks(tasks, reports.tasks_of(parent, names), words, root):
        screen.write_line(
            f"no table, comparison and leaderboard: {unknown}; write agentgauge --tasks FILE launch ..., or pytest FILE"
            f" --resume={parent}, where FILE announces the task: what is finished does not run again"
        )
        status = max(status, USAGE_ERROR)
    else:
        for line in reports.end_of(parent, names, tasks, shutil.get_terminal_size().columns):
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
