"""Commands on finished runs besides their report: cases as text, comparisons, merged shards, citations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from agentgauge.core.announcement import own_version
from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.files import advice
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.text import clean_json, counted, show

# -- ``agentgauge cite``: BibTeX of AgentGauge and of the benchmarks.


OWN = """\
@software{{agentgauge,
  title = {{{{AgentGauge}}}},
  author = {{{{The AgentGauge developers}}}},
  version = {{{version}}},
}}"""
"""A template for ``str.format``, so BibTeX's braces are doubled."""


def cite(argv: Sequence[str], tasks: Registry) -> int:
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
    entries, without = citations(parser.parse_args(argv).names, tasks)
    print("\n\n".join(entries))
    for name in without:
        print(f"agentgauge: {name} announces no citation", file=sys.stderr)
    return 0


def citations(names: Sequence[str], tasks: Registry) -> tuple[list[str], list[str]]:
    """The entries, AgentGauge's first, without repetitions; and the named benchmarks without a citation. Raises
    UsageProblem for a name that no task or benchmark has."""
    known = _benchmarks(tasks)
    found, without = [OWN.format(version=own_version())], []
    for name in names:
        if name.casefold() not in known:
            raise UsageProblem(
                f"there is no task or benchmark {name!r}{did_you_mean(name, known)}; known are"
                f" {', '.join(sorted({task.shown.benchmark for task in tasks}))} and their tasks; those of a file need"
                " agentgauge --tasks FILE cite ..."
            )
    for task in [task for name in names for task in known[name.casefold()]] or tasks:
        found += [task.shown.citation] if task.shown.citation else []
        without += [task.shown.benchmark] if names and not task.shown.citation else []
    return list(dict.fromkeys(found)), list(dict.fromkeys(without))


def _benchmarks(tasks: Registry) -> dict[str, list[Task]]:
    """Task, benchmark, or what the names of its tasks begin with, in lower case → the tasks."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        for called in {each.casefold() for each in (task.name, task.name.partition(".")[0], task.shown.benchmark)}:
            found.setdefault(called, []).append(task)
    return found


# -- ``agentgauge show``: cases as text.


def show_cases(argv: Sequence[str]) -> int:
    from agentgauge_reports.case_text import case_line, case_text, cases_of_run

    parser = CommandParser(
        prog="agentgauge show",
        description="Show cases of a finished run as text: what became of each, why, and the whole conversation."
        " Without a CASE, list those that did not pass, a line each.",
        epilog="example: agentgauge show runs/NAME 'bench_gta/test_step.py::test_step_by_step[4]' | less",
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "cases",
        nargs="*",
        metavar="CASE",
        help="TASK/SAMPLE as in the list, a pattern of it such as 'wild/*', or pytest's node id",
    )
    options = parser.parse_args(argv)
    for number, (name, record) in enumerate(cases_of_run(options.folder, options.cases)):
        text = case_text(name, record) if options.cases else case_line(name, record)
        show(f"\n{'=' * 80}\n{text}" if options.cases and number else text)
    return 0


# -- ``agentgauge compare``: what differs between runs, and whether that is noise.


def compare(argv: Sequence[str], tasks: Registry) -> int:
    from agentgauge_reports.comparison import comparison

    parser = CommandParser(
        prog="agentgauge compare",
        description="Compare runs with the first one, on the samples that both finished: differences with intervals,"
        " significance tests corrected for multiple comparisons, the smallest difference that would have been found,"
        " samples whose outcome changed, and what else differs besides the model.",
        epilog="example: agentgauge compare runs/before runs/after --format html --output comparison.html",
    )
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="folders of two runs or more; the others are compared with the first",
    )
    formats = ("text", "json", "markdown", "html")
    parser.add_argument("--format", choices=formats, default="text", help="form of the comparison (default: text)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="file to write to (default: the screen)")
    options = parser.parse_args(argv)
    target: Path | None = options.output
    written = comparison(options.folders, options.format, target.parent if target else Path(), tasks)
    is_json = options.format == "json"
    if target is None:
        show(written, is_json=is_json)
        return 0
    try:
        text = clean_json(written) if is_json else written
        target.write_text(text, encoding="utf-8", errors="replace")  # a model may write lone surrogates
    except OSError as error:
        do = advice(error) or "name a file in a folder that exists"
        raise UsageProblem(f"--output {target} cannot be written ({error.strerror}); {do}") from None
    show(target)
    return 0


# -- ``agentgauge merge``: puts shards of one run together.


def merge_shards(argv: Sequence[str], tasks: Registry) -> int:
    from agentgauge_reports.merge import merge

    parser = CommandParser(
        prog="agentgauge merge",
        description="Merge the shards of one run. The new folder holds the same records as a run without shards.",
        epilog="example: agentgauge merge runs/whole runs/shard-1 runs/shard-2 (after pytest --shard=1/2, --shard=2/2)",
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write, new or empty")
    parser.add_argument("folders", type=Path, nargs="+", metavar="RUN", help="folders of the shards")
    parser.add_argument("--data", metavar="DIR", help="data set that the runs used (default: its recorded folder)")
    options = parser.parse_args(argv)
    summary = merge(options.folders, options.out, options.data, tasks=tasks)
    count = {word: sum(task[word] for task in summary["tasks"].values()) for word in ("planned", "missing", "broken")}
    runs = counted(len(options.folders), "run")
    print(f"{options.out}: {counted(count['planned'], 'case')} of {runs}")
    if lacking := ", ".join(f"{count[word]} {word}" for word in ("missing", "broken") if count[word]):
        print(f"{lacking}: run them with pytest --resume={options.out}")
    return 0
