"""``agentgauge cite``: BibTeX of AgentGauge and of the benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from agentgauge.core.announcement import own_version
from agentgauge.core.capabilities import presentation_of
from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.processes import CommandParser
from agentgauge.core.task import Task
from agentgauge.core.task_registry import known_tasks

OWN = """\
@software{{agentgauge,
  title = {{{{AgentGauge}}}},
  author = {{{{The AgentGauge developers}}}},
  version = {{{version}}},
}}"""
"""A template for ``str.format``, so BibTeX's braces are doubled."""


def main(argv: Sequence[str]) -> int:
    parser = CommandParser(
        prog="agentgauge cite",
        description="Write BibTeX entries: of AgentGauge, and of the papers of the benchmarks that are named.",
        epilog="example: agentgauge cite wild gta_workflow > benchmarks.bib",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a task, such as gta_atomic.e2e, or a benchmark, such as gta_atomic or 'Apple MMAU' (default: all)",
    )
    entries, without = citations(parser.parse_args(argv).names)
    print("\n\n".join(entries))
    for name in without:
        print(f"agentgauge: {name} announces no citation", file=sys.stderr)
    return 0


def citations(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The entries, AgentGauge's first, without repetitions; and the named benchmarks without a citation. Raises
    UsageProblem for a name that no task or benchmark has."""
    tasks = known_tasks()
    known = _benchmarks(tasks)
    found, without = [OWN.format(version=own_version())], []
    for name in names:
        if name.casefold() not in known:
            raise UsageProblem(
                f"there is no task or benchmark {name!r}{did_you_mean(name, known)}; known are"
                f" {', '.join(sorted({presentation_of(task).benchmark for task in tasks.values()}))} and their tasks"
            )
    for task in [task for name in names for task in known[name.casefold()]] or tasks.values():
        shown = presentation_of(task)
        found += [shown.citation] if shown.citation else []
        without += [shown.benchmark] if names and not shown.citation else []
    return list(dict.fromkeys(found)), list(dict.fromkeys(without))


def _benchmarks(tasks: Mapping[str, Task]) -> dict[str, list[Task]]:
    """Task, benchmark, or what the names of its tasks begin with, in lower case → the tasks."""
    found: dict[str, list[Task]] = {}
    for name, task in tasks.items():
        for called in {each.casefold() for each in (name, name.partition(".")[0], presentation_of(task).benchmark)}:
            found.setdefault(called, []).append(task)
    return found
