"""``agentgauge report``: writes a run's tables, files for other programs, or what plugins make of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentgauge_reports.load import Omitted

from agentgauge.core.announcement import announced
from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry
from agentgauge.core.text import show
from agentgauge.run.report_form import ReportForm, key


def main(argv: Sequence[str], tasks: Registry) -> int:
    options = _parser(tasks).parse_args(argv)
    _check_report(options)
    run: Path = options.folders[0]
    omitted = Omitted()
    if chosen := _chosen(options):
        form, place = chosen
        given = {key(name): getattr(options, key(name)) for name in form.switches}
        show(form.write(run, place, tasks=tasks, omitted=omitted, **given))
    elif options.items:
        from agentgauge_reports.items import items

        show(items(options.folders, tasks=tasks, as_json=options.json), is_json=options.json)
    elif options.table:
        from agentgauge_reports.tables import rows

        show(rows(run, options.table, tasks=tasks, omitted=omitted), is_json=options.table == "json")
    else:
        from agentgauge_reports.export import export

        files, notes = export(run, options.format, options.output, options.data, tasks=tasks)
        for note in notes:
            show(note)
        show("\n".join(map(str, files)) or f"{run} holds no finished case to write")
    for sentence in omitted.sentences("this report"):
        show(f"agentgauge: {sentence}", file=sys.stderr)
    return 1 if omitted.problems else 0


def _forms() -> list[ReportForm]:
    """Those of plugins. Raises UsageProblem."""
    return [form for _, form in announced("reports")]


def _formats() -> Mapping[str, ReportForm]:
    """Those of plugins that ``--format`` takes."""
    return {form.name: form for form in _forms() if not form.is_option}


def _chosen(options: argparse.Namespace) -> tuple[ReportForm, Path] | None:
    """The form of a plugin that is asked for, and the place to write to."""
    if form := _formats().get(options.format):
        return form, options.output
    for form in _forms():
        if form.is_option and (place := getattr(options, form.key)) is not None:
            return form, options.folders[0] / form.usual if form.usual and place == Path() else place
    return None


def _check_report(options: argparse.Namespace) -> None:
    """Find the run. Raises UsageProblem for options of ``report`` that do not go together."""
    forms = [form for form in _forms() if form.is_option]
    for name in (form.key for form in forms if form.usual):  # report --allure RUN: the optional value has taken the run
        if not options.folders and getattr(options, name) not in (None, Path()):
            options.folders = [getattr(options, name)]
            setattr(options, name, Path())
    if not options.folders:
        raise UsageProblem("report names no run; give its folder, such as runs/mine")
    if len(options.folders) > 1 and not options.items:
        raise UsageProblem(f"report takes one run and got {len(options.folders)}; only --items takes several")
    form = _formats().get(options.format)
    if options.format and options.output is None:
        place = form.metavar if form else "DIR"
        what = "folder" if place == "DIR" else "file"
        raise UsageProblem(f"--format {options.format} needs a {what} to write to; give --output {place}")
    if options.data and form:
        raise UsageProblem(f"--data goes with formats of the original benchmarks, not with {options.format}")
    for name, wants, with_it in (
        ("--json", "--items", options.items or not options.json),
        *(
            (name, form.name, getattr(options, form.key) is not None or not getattr(options, key(name)))
            for form in forms
            for name in form.switches
        ),
        ("--output", "--format", options.format or options.output is None),
        ("--data", "--format", options.format or options.data is None),
    ):
        if not with_it:
            raise UsageProblem(f"{name} goes with {wants} only; give both, or neither")


def _prediction_formats(tasks: Registry) -> list[str]:
    """What the tasks write. Raises UsageProblem where one has the name of a format that every run has."""
    found = [(task.name, name) for task in tasks if task.files for name in task.files.exporters]
    formats = _formats()
    if taken := [one for one in found if one[1] in formats]:
        raise UsageProblem(
            f"the task {taken[0][0]} has prediction files named {taken[0][1]}, which is a format of every run; rename"
            " them in its exporters"
        )
    return sorted({name for _, name in found})


def _parser(tasks: Registry) -> CommandParser:
    forms, formats = [form for form in _forms() if form.is_option], _formats()
    names = ", ".join((*(form.name for form in forms), "--items", "--table"))
    for_others = "".join(f"{form.name}: {form.help}; " for form in formats.values())
    parser = CommandParser(
        prog="agentgauge report",
        description=f"Write one report of a finished run: {names} or --format.",
        epilog="example: agentgauge report runs/mine --table md",
    )
    parser.add_argument("folders", type=Path, nargs="*", metavar="RUN", help="folder of the run; several with --items")
    what = parser.add_mutually_exclusive_group(required=True)
    for form in forms:
        nargs, const = ("?", Path()) if form.usual else (None, None)
        what.add_argument(form.name, type=Path, nargs=nargs, const=const, metavar=form.metavar, help=form.help)
    what.add_argument(
        "--items",
        action="store_true",
        help="samples over several runs: solved by no model, unstable between attempts, missed by the oracle",
    )
    what.add_argument(
        "--table",
        choices=("md", "csv", "json"),
        help="published tables with this run's row; figures by task, by keyword and by breakdown",
    )
    what.add_argument(
        "--format",
        choices=(*formats, *_prediction_formats(tasks)),
        help=f"{for_others}others: prediction files of the original benchmark; needs --output",
    )
    parser.add_argument("--json", action="store_true", help="with --items: print JSON")
    for form in forms:
        for name, text in form.switches.items():
            parser.add_argument(name, action="store_true", help=f"with {form.name}: {text}")
    parser.add_argument("--output", type=Path, metavar="PATH", help="with --format: folder or file to write to")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="with --format of an original: the data that the run used (default: its recorded folder)",
    )
    return parser
