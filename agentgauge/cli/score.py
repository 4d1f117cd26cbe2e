"""``agentgauge score``: scores prediction files of the original benchmark. Options of tasks for any command."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from agentgauge import sandbox
from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry
from agentgauge.core.text import counted, cut, odd_kind, show

# -- The benchmarks' own options, for commands that name a task.


def add_task_options(parser: argparse.ArgumentParser, tasks: Registry, *, models: bool = True) -> None:
    """Add the benchmarks' own options to a command that names a task. ``models``: also those that name a model."""
    for option in tasks.options().values():
        if option.model and not models:
            continue
        if option.default is not None:
            parser.add_argument(option.name, dest=option.name, metavar=option.metavar, help=option.help)
        elif option.accepted:
            parser.add_argument(option.name, dest=option.name, choices=option.accepted, help=option.help)
        else:
            parser.add_argument(option.name, dest=option.name, action="store_true", help=option.help)


def configured(tasks: Registry, options: argparse.Namespace) -> Registry:
    """The tasks with the parsed values of their options."""
    return tasks.configured({name: getattr(options, name, None) for name in tasks.options()})


# -- ``agentgauge score``: scores prediction files of the original benchmarks.


def main(argv: Sequence[str], tasks: Registry) -> int:
    options = _parser(tasks).parse_args(argv)
    task = configured(tasks, options)[options.task]
    if task.files is None:
        raise UsageProblem(f"{task.name} reads no prediction files")
    if options.samples is None and task.files.samples_needed:
        raise UsageProblem(f"{task.name} needs the data set as well: give --samples its folder or its main file")
    given = [path for path in (options.samples, options.predictions) if path]
    for path in given:
        refuse_odd(path)
    sandbox.hide([task.data.bundled, *(path if path.is_dir() else path.parent for path in given)])
    own = task.similarity.default(official=False) if task.similarity else ""
    similarity = options.similarity or own
    result = task.files.score(options.samples, options.predictions, scoring=options.scoring, similarity=similarity)
    if options.json:
        show(json.dumps({"task": task.name, **result}, ensure_ascii=False), is_json=True)
        return 0
    compared = f", texts compared by {similarity}" if task.similarity else ""
    show(f"{task.name}: {counted(len(result['samples']), 'sample')}, {options.scoring} scoring{compared}")
    width = max(map(len, result["metrics"]))
    for name, value in result["metrics"].items():
        show(f"  {name:{width}}  {'not available' if value is None else f'{value:.4f}'}")
    for stop in result.get("stops", ()):
        where = f"session {stop['session']}" if "session" in stop else stop["sample"]
        show(f"  the published evaluator stops at {where}: {stop['reason']}")
    for remark in result.get("remarks", ()):
        show(f"  {remark}")
    if left_out := result.get("left_out"):
        show(f"  left out as invalid: {', '.join(left_out)}")
    if task.similarity and not task.similarity.comparable(similarity):
        show(f"  not comparable with published figures: {similarity} is not the published similarity model")
    return 0


def refuse_odd(path: Path) -> None:
    """Raises UsageProblem for a path that can be neither a file nor a folder."""
    try:
        kind = odd_kind(path)
    except OSError as error:
        raise UsageProblem(f"{cut(str(path))} cannot be read ({error.strerror}); give a file or folder") from None
    if kind:
        raise UsageProblem(f"{path} is {kind}, and files are read more than once; save it as a file")


def _parser(tasks: Registry) -> CommandParser:
    parser = CommandParser(
        prog="agentgauge score",
        description="Score prediction files of the original benchmark as its own evaluator does.",
        epilog="example: agentgauge score gta_atomic.step --samples gta_dataset --predictions my-model/gta_bench.json",
    )
    names = sorted(task.name for task in tasks if task.files)
    parser.add_argument("task", metavar="TASK", help=f"one of {', '.join(names)}")
    parser.add_argument(
        "--samples",
        type=Path,
        metavar="PATH",
        help="the data set: its folder or its main file; not needed if the prediction files contain it",
    )
    parser.add_argument(
        "--predictions", type=Path, required=True, metavar="PATH", help="prediction file, or a folder with its parts"
    )
    parser.add_argument(
        "--similarity",
        metavar="NAME",
        help="backend that compares texts, such as mpnet (default: the task's own, which needs no installation)",
    )
    scoring_help = "parity reproduces the published evaluator (default)"
    parser.add_argument("--scoring", choices=("parity", "strict"), default="parity", help=scoring_help)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    add_task_options(parser, tasks)
    return parser
