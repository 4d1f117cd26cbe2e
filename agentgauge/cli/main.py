"""The ``agentgauge`` command."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO, cast

from agentgauge.core.errors import AgentGaugeError, UsageProblem
from agentgauge.core.redaction import Printed, redact_logs, register_environment
from agentgauge.core.task_registry import configure_tasks, find_task, known_options, known_tasks

FORWARDED = {
    "serve-tools": ("tool_impls.server.command", "serve the real tools over AgentLego's protocol"),
    "serve-model": ("agentgauge.model.embedded.serve", "serve an embedded model in the OpenAI format"),
    "pack": ("bench_gta.pack.command", "run, pack, score and compare agent apps on GTA-Workflow"),
    "fetch": ("agentgauge.data.fetch.command", "download official data sets and verify them"),
    "generate": ("bench_wild.generate.command", "make new WildToolBench dialogues and evaluation records"),
}
"""Commands that are programs of their own: name → module with ``main(argv)``, and help."""


PIPE_CLOSED = 141
"""Exit status where standard output was closed, as a shell has it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 done, 4 for something that the user must fix."""
    register_environment()
    try:
        with _clean_output():
            status = _run(argv)
            sys.stdout.flush()
    except BrokenPipeError:
        # whoever read this has gone; the interpreter must not fail on it again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return status


@contextlib.contextmanager
def _clean_output() -> Iterator[None]:
    """Nothing that is printed holds a secret, be it a refused option or a message of a library."""
    undo = redact_logs()
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast("TextIO", Printed(out)), cast("TextIO", Printed(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
        undo()


def _run(argv: Sequence[str] | None) -> int:
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
        epilog=(
            "example: agentgauge score gta_atomic.step --samples gta_dataset --predictions"
            " predictions/my-model/gta_bench.json"
        ),
    )
    score.add_argument("task", metavar="TASK", help=f"one of {', '.join(sorted(known_tasks()))}")
    score.add_argument(
        "--samples",
        type=Path,
        metavar="PATH",
        help="the data set: its folder or its main file; not needed where predictions hold it",
    )
    score.add_argument(
        "--predictions", type=Path, required=True, metavar="PATH", help="prediction file, or the folder of a split one"
    )
    score.add_argument(
        "--similarity",
        metavar="NAME",
        help="trigram, minilm or mpnet (default: trigram; mpnet is the published one)",
        default="trigram",
    )
    score.add_argument(
        "--scoring",
        choices=("parity", "strict"),
        default="parity",
        help="parity reproduces the published evaluator (default)",
    )
    score.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    _add_task_options(score)
    score.set_defaults(run=_score)
    data = commands.add_parser(
        "data",
        help="which data sets are here; check one",
        description="Tell which official data is here: version, source, how it was verified, the tasks it serves.",
        epilog="example: agentgauge data",
    )
    data.add_argument(
        "--dir", type=Path, metavar="DIR", help="data folder (default: $AGENTGAUGE_DATA or agentgauge-data)"
    )
    data.set_defaults(run=_here)
    check = data.add_subparsers(title="commands", metavar="COMMAND").add_parser(
        "check",
        help="check a data set",
        description=(
            "Check a data set: its format, and whether its evaluator can be satisfied. Exit status 1 where that is"
            " not so."
        ),
        epilog="example: agentgauge data check wild --data WildToolBench/data",
    )
    check.add_argument("task", metavar="TASK", help=f"one of {', '.join(sorted(known_tasks()))}")
    check.add_argument("--data", type=Path, metavar="DIR", help="folder of the data set (default: the bundled one)")
    _add_task_options(check)
    check.set_defaults(run=_check)
    _add_report(
        commands.add_parser(
            "report", help="write a run's page, tables, dashboard, or the original benchmark's own files"
        )
    )
    _add_compare(
        commands.add_parser("compare", help="what got better or worse between runs, and whether that is noise")
    )
    _add_merge(commands.add_parser("merge", help="put shards of one run together"))
    for name, (_, text) in FORWARDED.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _add_report(report: argparse.ArgumentParser) -> None:
    report.description = (
        "Write about a finished run what one of the first six options asks for; the others go with one of these."
    )
    report.epilog = "example: agentgauge report runs/mine --html mine.html --embed"
    formats = sorted({name for task in known_tasks().values() for name in task.exporters()})
    report.add_argument("folders", type=Path, nargs="*", metavar="RUN", help="folder of the run; several with --items")
    what = report.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--html", type=Path, nargs="?", const=Path(), metavar="FILE", help="the page (default: report.html in the run)"
    )
    what.add_argument(
        "--allure",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="DIR",
        help="an Allure dashboard (default: allure in the run)",
    )
    what.add_argument(
        "--items", action="store_true", help="how samples do over several runs: unsolved, flipping, unreachable gold"
    )
    what.add_argument("--table", choices=("md", "csv", "json"), help="published tables with our row, and breakdowns")
    what.add_argument("--eval", type=Path, metavar="FILE", help="the run as a log of inspect_ai")
    what.add_argument(
        "--format", choices=formats, help="predictions as the original benchmark's own files; with --output"
    )
    report.add_argument("--json", action="store_true", help="with --items: as JSON")
    report.add_argument("--embed", action="store_true", help="with --html: transcripts and pictures inside the page")
    report.add_argument("--output", type=Path, metavar="DIR", help="with --format: folder to write to")
    report.add_argument(
        "--data", metavar="DIR", help="with --format: the data that the run used (default: where it was)"
    )
    report.set_defaults(run=_report)


def _add_compare(compare: argparse.ArgumentParser) -> None:
    compare.description = (
        "Compare runs with the first of them on the samples that both finished: differences with intervals, tests"
        " corrected for their number, the smallest difference that would have been found, samples that flipped, and all"
        " that differs besides the model."
    )
    compare.epilog = "example: agentgauge compare runs/before runs/after --format html --output comparison.html"
    compare.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="folders of two runs or more; the first is the one compared with",
    )
    compare.add_argument(
        "--format",
        choices=("text", "json", "markdown", "html"),
        default="text",
        help="how it is written (default: text)",
    )
    compare.add_argument("--output", type=Path, metavar="FILE", help="file to write to (default: the screen)")
    compare.set_defaults(run=_compare)


def _add_merge(merge: argparse.ArgumentParser) -> None:
    merge.description = "Put shards of one run together: the new folder holds what the undisturbed run would have held."
    merge.epilog = "example: agentgauge merge runs/whole runs/shard-1 runs/shard-2"
    merge.add_argument("out", type=Path, metavar="OUT", help="folder to write, new or empty")
    merge.add_argument("folders", type=Path, nargs="+", metavar="RUN", help="folders of the shards")
    merge.add_argument("--data", metavar="DIR", help="the data that the runs used (default: where it was)")
    merge.set_defaults(run=_merge)


def _score(options: argparse.Namespace) -> int:
    task = find_task(options.task)
    if options.samples is None and task.samples_needed:
        raise UsageProblem(f"{task.name} needs the data set as well: give --samples its folder or its main file")
    from agentgauge import sandbox

    given = [path for path in (options.samples, options.predictions) if path]
    sandbox.hide([task.mini, *(path if path.is_dir() else path.parent for path in given)])
    result = task.score_files(
        options.samples, options.predictions, scoring=options.scoring, similarity=options.similarity
    )
    if options.json:
        print(json.dumps({"task": task.name, **result}, ensure_ascii=False))
        return 0
    compared = f", texts compared by {options.similarity}" if task.default_similarity(official=True) else ""
    print(f"{task.name}: {len(result['samples'])} samples, {options.scoring} scoring{compared}")
    width = max(map(len, result["metrics"]))
    for name, value in result["metrics"].items():
        print(f"  {name:{width}}  {'not available' if value is None else f'{value:.4f}'}")
    for stop in result.get("stops", ()):
        where = f"session {stop['session']}" if "session" in stop else stop["sample"]
        print(f"  the published evaluator stops at {where}: {stop['reason']}")
    for remark in result.get("remarks", ()):
        print(f"  {remark}")
    if left_out := result.get("left_out"):
        print(f"  left out as invalid: {', '.join(left_out)}")
    if not task.comparable(options.similarity):
        print(f"  not comparable with published figures: {options.similarity} is not the published similarity model")
    return 0


def _compare(options: argparse.Namespace) -> int:
    from reports.comparison.formats import comparison

    target: Path | None = options.output
    written = comparison(options.folders, options.format, target.parent if target else Path())
    if target is None:
        print(written)
        return 0
    try:
        target.write_text(written, encoding="utf-8")
    except OSError as error:
        raise UsageProblem(
            f"--output {target} cannot be written ({error.strerror}); name a file in a folder that exists"
        ) from None
    print(target)
    return 0


def _add_task_options(parser: argparse.ArgumentParser) -> None:
    for option in known_options().values():
        if option.default is not None:
            parser.add_argument(option.name, dest=option.name, metavar=option.metavar, help=option.help)
        elif option.accepted:
            parser.add_argument(option.name, dest=option.name, choices=option.accepted, help=option.help)
        else:
            parser.add_argument(option.name, dest=option.name, action="store_true", help=option.help)


def _here(options: argparse.Namespace) -> int:
    from agentgauge.data.fetch.command import data_folder
    from agentgauge.data.fetch.here import here

    print("\n".join(here(data_folder(options.dir))))
    return 0


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
    from reports.unshown import Unshown

    _check_report(options)
    run: Path = options.folders[0]
    unshown = Unshown()
    if options.html is not None:
        from reports.page import write_page

        print(
            write_page(
                run,
                run / "report.html" if options.html == Path() else options.html,
                embed=options.embed,
                unshown=unshown,
            )
        )
    elif options.allure is not None:
        from reports.allure import write_results

        print(write_results(run, run / "allure" if options.allure == Path() else options.allure, unshown=unshown))
    elif options.items:
        from reports.items import items

        print(items(options.folders, "json" if options.json else "text"))
    elif options.table:
        from reports.tables import rows

        print(rows(run, options.table))
    elif options.eval is not None:
        from reports.evallog import write_eval

        print(write_eval(run, options.eval, unshown=unshown))
    else:
        from reports.export import export

        files, notes = export(run, options.format, options.output, options.data)
        for note in notes:
            print(note)
        print("\n".join(map(str, files)) or f"{run} holds no finished case to write")
    for sentence in unshown.told("this report"):
        print(f"agentgauge: {sentence}", file=sys.stderr)
    return 1 if unshown.problems else 0


def _check_report(options: argparse.Namespace) -> None:
    """Find the run. Raises UsageProblem for options of ``report`` that do not go together."""
    for name in ("html", "allure"):  # report --allure RUN: the optional value has taken the run
        if not options.folders and getattr(options, name) not in (None, Path()):
            options.folders = [getattr(options, name)]
            setattr(options, name, Path())
    if not options.folders:
        raise UsageProblem("report names no run; give its folder, such as runs/mine")
    if len(options.folders) > 1 and not options.items:
        raise UsageProblem(f"report takes one run and got {len(options.folders)}; only --items takes several")
    if options.format and options.output is None:
        raise UsageProblem(f"--format {options.format} needs a folder to write to; give --output DIR")
    for name, wants, with_it in (
        ("--json", "--items", options.items or not options.json),
        ("--embed", "--html", options.html is not None or not options.embed),
        ("--output", "--format", options.format or options.output is None),
        ("--data", "--format", options.format or options.data is None),
    ):
        if not with_it:
            raise UsageProblem(f"{name} goes with {wants} only; give both, or neither")


def _merge(options: argparse.Namespace) -> int:
    from reports.merge import merge

    summary = merge(options.folders, options.out, options.data)
    cases = sum(task["planned"] for task in summary["tasks"].values())
    print(f"{options.out}: {cases} {'case' if cases == 1 else 'cases'} of {len(options.folders)} runs")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
