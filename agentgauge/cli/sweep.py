"""``agentgauge sweep``: every combination of models and settings that a file lists, as runs that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentgauge_reports.several import REPORTS
from agentgauge_reports.text import aligned

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry
from agentgauge.run.several.matrix import read_sweep
from agentgauge.run.several.members import run_members
from agentgauge.run.several.parent import (
    RunGroup,
    is_begun,
    is_finished,
    is_parent,
    read,
    refuse_taken,
    without_secrets,
)


def sweep(argv: Sequence[str], tasks: Registry) -> int:
    parser = CommandParser(
        prog="agentgauge sweep",
        description="Run every combination of the models, dialects, temperatures, token limits and attempts that a TOML"
        " file lists: one run for each, some side by side, one comparison and one leaderboard at the end. The same"
        " command again goes on: finished runs are kept.",
        epilog="example: agentgauge sweep examples/sweep.toml --dry-run",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="TOML file with a list of models")
    parser.add_argument("--dry-run", action="store_true", help="list the runs and start none")
    options = parser.parse_args(argv)
    found = read_sweep(options.file)
    parent, group = Path(found.folder), found.runs()
    known = RunGroup(())
    if is_parent(parent):
        known = read(parent)
    else:
        refuse_taken(parent)
    earlier = {member.name: member for member in known.members if is_begun(parent / member.name)}
    for member in group.members:
        if earlier.pop(member.name, kept := without_secrets(member)) != kept:
            raise UsageProblem(
                f"{parent} has a run {member.name} with other settings than {options.file}; give the file another"
                " folder, or restore its settings"
            )
    if options.dry_run:
        rows = [(member.name, _state(parent, member.name), " ".join(member.words)) for member in group.members]
        print("\n".join(aligned(rows, left=(0, 1, 2))))
        return 0
    stored = replace(group, members=(*group.members, *earlier.values()), finished=known.finished)
    together, root = found.together, Path.cwd()
    return run_members(parent, group, REPORTS, tasks=tasks, stored=stored, together=together, root=root)


def _state(parent: Path, name: str) -> str:
    return "finished" if is_finished(parent, name) else "goes on" if is_begun(parent / name) else "new"
