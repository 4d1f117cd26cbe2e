"""``agentgauge data``: lists the data sets and weights on this machine; ``check`` checks a data set."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from agentgauge.cli import weights
from agentgauge.cli.fetch import DIR_HELP, data_folder, shown
from agentgauge.cli.score import add_task_options, configured
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry
from agentgauge.core.text import counted
from agentgauge.data.fetch.dataset import (
    FIRST_USE,
    PUBLISHED,
    DataSet,
    FetchNote,
    known_data_sets,
    read_note,
    served,
    shortened,
)


def main(argv: Sequence[str], tasks: Registry) -> int:
    options = _parser(tasks).parse_args(argv)
    if "task" in options:
        return _check(options, configured(tasks, options))
    base = data_folder(options.dir)
    print("\n".join(shown(line) for line in [*overview(base, tasks), *weights.overview(base)]))
    return 0


def _parser(tasks: Registry) -> CommandParser:
    parser = CommandParser(
        prog="agentgauge data",
        description=(
            "List the official data on this machine: version, source, verification, and the tasks that use it; and the"
            " weights of tools."
        ),
        epilog="example: agentgauge data",
    )
    parser.add_argument("--dir", type=Path, metavar="DIR", help=DIR_HELP)
    check = parser.add_subparsers(title="commands", metavar="COMMAND").add_parser(
        "check",
        help="check a data set",
        description="Check the format of a data set, and whether its evaluator can score it. Exit status 1 if not.",
        epilog="example: agentgauge data check wild --data WildToolBench/data",
    )
    check.add_argument("task", metavar="TASK", help=f"one of {', '.join(sorted(_with_data(tasks)))}")
    check.add_argument("--data", type=Path, metavar="DIR", help="folder of the data set (default: the bundled one)")
    add_task_options(check, tasks, models=False)
    return parser


def _check(options: argparse.Namespace, tasks: Registry) -> int:
    task = tasks[options.task]
    if task.data.in_run_folder:
        raise UsageProblem(f"{task.name} has no data set; name one of {', '.join(sorted(_with_data(tasks)))}")
    folder = options.data or task.data.bundled
    problems, strange = task.data.check(folder)
    for text in strange:
        print(f"note: {text}")
    for text in problems:
        print(text)
    print(f"{task.name}: {len(problems) or 'no'} {'problem' if len(problems) == 1 else 'problems'} in {folder}")
    return 1 if problems else 0


def _with_data(tasks: Registry) -> set[str]:
    """The tasks that have a data set; those of a project's own tests have none."""
    return {task.name for task in tasks if not task.data.in_run_folder}


def overview(base: Path, tasks: Registry) -> list[str]:
    """One block of lines per data set, then the tasks for which only bundled samples are here."""
    lines, all_served = [f"data folder: {base}" + ("" if base.is_dir() else " (not there yet)")], set[str]()
    for data_set in known_data_sets().values():
        found = served(tasks, data_set, base)
        all_served |= set(found)
        lines += [
            "",
            f"{data_set.name}: {data_set.title}",
            *(f"  {line}" for line in _block(data_set, base, found, tasks)),
        ]
    bundled = ", ".join(shortened(tasks, _with_data(tasks) - all_served)) or "no task"
    return [
        *lines,
        "",
        *textwrap.wrap(f"bundled samples only: {bundled}", 100, subsequent_indent="  ", break_on_hyphens=False),
    ]


def _block(data_set: DataSet, base: Path, found: dict[str, Path], tasks: Registry) -> list[str]:
    root = base / data_set.folder
    note = read_note(root)
    if note is None and not found:
        return [f"not here; get it with: agentgauge fetch {data_set.name}"]
    lines = _fetched(root, note) if note else _own(found, tasks)
    missing = [name for name in data_set.tasks_among(tasks) if name not in found]
    lines += _wrapped("serves", found, tasks)
    return [*lines, *_wrapped("lacks", missing, tasks)] if missing and found else lines


def _wrapped(title: str, names: Collection[str], tasks: Registry) -> list[str]:
    return textwrap.wrap(
        f"{title:10}{', '.join(shortened(tasks, names)) or 'no task'}",
        98,
        subsequent_indent=" " * 10,
        break_on_hyphens=False,
    )


def _own(found: Mapping[str, Path], tasks: Registry) -> list[str]:
    """Count the records of a copy that the user brought, and no more: a look at it must not take long."""
    lines = [
        *(f"folder    {place}" for place in dict.fromkeys(found.values())),
        "source    your own copy, not fetched by this command",
    ]
    try:
        indices = [tasks[name].data.index(root) for name, root in found.items()]
    except DataProblem as problem:
        return [*lines, f"damaged   {problem}"]
    task, root = next(iter(found.items()))
    return [
        *lines,
        f"samples   {sum({index.file: len(index.rows) for index in indices}.values())}",
        *(f"          {text}" for text in dict.fromkeys(text for index in indices for text in index.differences)),
        f"verified  its records can be read; full check: agentgauge data check {task} --data {root}",
    ]


def _fetched(root: Path, note: FetchNote) -> list[str]:
    published = sum(one.checksum == PUBLISHED for one in note.files.values())
    count = len(note.files)
    if published == count:
        sums = PUBLISHED
    elif not published:
        sums = FIRST_USE
    else:
        sums = f"{published} of {count} published, the others {FIRST_USE}"
    lines = [
        f"folder    {root}",
        f"source    {note.source}",
        f"version   {note.revision}" + ("" if note.complete else ", in part"),
        f"files     {count} downloaded, checksums {sums}",
    ]
    if not note.verified:
        return [*lines, f"verified  only in part; run: agentgauge fetch {note.data_set}"]
    many = len(note.problems)
    state = counted(many, "problem") if many else "no problem"
    details = (*note.found, *(f"problem: {text}" for text in note.problems[:3]))
    return [
        *lines,
        f"samples   {note.samples}",
        f"verified  {note.verified}: {state}",
        *(f"          {text}" for text in details),
    ]
