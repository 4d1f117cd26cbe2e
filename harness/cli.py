"""The ``agentgauge`` command."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.errors import AgentGaugeError, UsageProblem
from harness.task import configure_tasks, find_task, known_options, known_tasks

FORWARDED = {
    "serve-tools": ("tool_impls.serve", "serve the real tools over AgentLego's protocol"),
    "serve-model": ("harness.model.embedded.serve", "serve an embedded model in the OpenAI format"),
    "pack": ("bench_gta.pack.command", "run, pack, score and compare agent apps on GTA-Workflow"),
}
"""Commands that are programs of their own: name → module with ``main(argv)``, and help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 done, 4 for something that the user must fix."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments and arguments[0] in FORWARDED:
            return int(importlib.import_module(FORWARDED[arguments[0]][0]).main(arguments[1:]) or 0)
        options = _parser().parse_args(arguments)
        if "task" in options:
            configure_tasks({name: getattr(options, name, None) for name in known_options()})
        return int(options.run(options))
    except AgentGaugeError as problem:
        print(f"agentgauge: {problem}", file=sys.stderr)
        return 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentgauge",
        description="Companion of the pytest plugin: `pytest --model=NAME` runs the benchmarks, this does the rest.",
        epilog="example: agentgauge score gta_atomic.e2e --samples gta_dataset --predictions predictions/my-model",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    score = commands.add_parser(
        "score",
        help="score prediction files of the original benchmark",
        description="Score prediction files of the original benchmark as its own evaluator does.",
        epilog="example: agentgauge score gta_atomic.step --samples gta_dataset --predictions predictions/my-model/gta_bench.json",
    )
    score.add_argument("task", metavar="TASK", help=f"one of {', '.join(sorted(known_tasks()))}")
    score.add_argument(
        "--samples", type=Path, metavar="PATH", help="the data set: its folder or its main file; not needed where predictions hold it"
    )
    score.add_argument("--predictions", type=Path, required=True, metavar="PATH", help="prediction file, or the folder of a split one")
    score.add_argument(
        "--similarity", metavar="NAME", help="trigram, minilm or mpnet (default: trigram; mpnet is the published one)", default="trigram"
    )
    score.add_argument(
        "--scoring", choices=("parity", "strict"), default="parity", help="parity reproduces the published evaluator (default)"
    )
    score.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _add_task_options(score)
    score.set_defaults(run=_score)
    data = commands.add_parser("data", help="look at data sets").add_subparsers(title="commands", metavar="COMMAND", required=True)
    check = data.add_parser(
        "check",
        help="check a data set",
        description="Check a data set: its format, and whether its evaluator can be satisfied. Exit status 1 where that is not so.",
        epilog="example: agentgauge data check wild --data WildToolBench/data",
    )
    check.add_argument("task", metavar="TASK", help=f"one of {', '.join(sorted(known_tasks()))}")
    check.add_argument("--data", type=Path, metavar="DIR", help="folder of the data set (default: the bundled one)")
    _add_task_options(check)
    check.set_defaults(run=_check)
    report = commands.add_parser(
        "report",
        help="write a run's predictions as the original benchmark's own files",
        description="Write a run's predictions as the original benchmark's own files.",
        epilog="example: agentgauge report runs/mine --format wild --output exchange",
    )
    formats = sorted({task.exported_as for task in known_tasks().values() if task.exported_as})
    report.add_argument("folder", type=Path, metavar="RUN", help="folder of the run")
    report.add_argument("--format", choices=formats, required=True, help="whose layout")
    report.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder to write to")
    report.add_argument("--data", metavar="DIR", help="the data that the run used (default: where it was)")
    report.set_defaults(run=_report)
    compare = commands.add_parser(
        "compare",
        help="put the figures of two runs side by side",
        description="Put the figures of two runs side by side, and warn of everything besides the model that differs.",
        epilog="example: agentgauge compare runs/before runs/after",
    )
    compare.add_argument("first", type=Path, metavar="A", help="folder of a run")
    compare.add_argument("second", type=Path, metavar="B", help="folder of another run")
    compare.set_defaults(run=_compare)
    for name, (_, text) in FORWARDED.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _score(options: argparse.Namespace) -> int:
    task = find_task(options.task)
    if options.samples is None and task.samples_needed:
        raise UsageProblem(f"{task.name} needs the data set as well: give --samples its folder or its main file")
    result = task.score_files(options.samples, options.predictions, scoring=options.scoring, similarity=options.similarity)
    if options.json:
        print(json.dumps({"task": task.name, **result}, ensure_ascii=False))
        return 0
    compared = f", texts compared by {options.similarity}" if task.default_similarity(official=True) else ""
    print(f"{task.name}: {len(result['samples'])} samples, {options.scoring} scoring{compared}")
    width = max(map(len, result["metrics"]))
    for name, value in result["metrics"].items():
        print(f"  {name:{width}}  {'not available' if value is None else f'{value:.4f}'}")
    for stop in result.get("stops", ()):
        print(f"  the published evaluator stops at session {stop['session']}: {stop['reason']}")
    if left_out := result.get("left_out"):
        print(f"  left out as invalid: {', '.join(left_out)}")
    if not task.comparable(options.similarity):
        print(f"  not comparable with published figures: {options.similarity} is not the published similarity model")
    return 0


def _compare(options: argparse.Namespace) -> int:
    from reports.compare import compare

    print(compare(options.first, options.second))
    return 0


def _add_task_options(parser: argparse.ArgumentParser) -> None:
    for option in known_options().values():
        if option.default is not None:
            parser.add_argument(option.name, dest=option.name, metavar=option.metavar, help=option.help)
        elif option.accepted:
            parser.add_argument(option.name, dest=option.name, choices=option.accepted, help=option.help)
        else:
            parser.add_argument(option.name, dest=option.name, action="store_true", help=option.help)


def _check(options: argparse.Namespace) -> int:
    task = find_task(options.task)
    folder = options.data or task.mini
    problems, strange = task.check_data(folder)
    for text in strange:
        print(f"note: {text}")
    for text in problems:
        print(text)
    print(f"{task.name}: {len(problems) or 'no'} {'problem' if len(problems) == 1 else 'problems'} in {folder}")
    return 1 if problems else 0


def _report(options: argparse.Namespace) -> int:
    from reports.export import export

    files, notes = export(options.folder, options.format, options.output, options.data)
    for note in notes:
        print(note)
    print("\n".join(map(str, files)) or f"{options.folder} holds no finished case to write")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
