"""The end of several runs: one table for the terminal, one leaderboard, one comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.text import counted
from agentgauge.run.progress import short_count
from agentgauge.run.several.members import Reports
from agentgauge.store import RunFolder
from agentgauge_reports.comparison import LETTERS, comparison
from agentgauge_reports.figures import Headline, headline
from agentgauge_reports.leaderboard import (
    boards_of,
    by_benchmark,
    figures,
    in_no_table,
    not_comparable,
    our_row,
    published_sections,
    table,
    task_notes,
)
from agentgauge_reports.notices import cut_replies, endpoint_doubts, estimated_tokens, limit_of, named
from agentgauge_reports.terminal import uncounted
from agentgauge_reports.text import WIDTH, aligned, dollars, fill, markdown

Summaries = Mapping[str, Mapping[str, Any]]
"""Name of a run → its summary."""

Headlines = Mapping[str, Mapping[str, Headline | None]]
"""Benchmark → name of a run → headline figure."""


def headlines_of_runs(summaries: Summaries, known: Registry) -> dict[str, dict[str, Headline | None]]:
    found: dict[str, dict[str, Headline | None]] = {}
    for name, summary in summaries.items():
        for benchmark, tasks in by_benchmark(summary, known).items():
            found.setdefault(benchmark, {})[name] = headline(summary, benchmark, tasks)
    return found


def ranked(figures: Mapping[str, Headline | None]) -> list[str]:
    """The names of runs, the highest figure first; those without one last, in their order."""
    values = {name: one.value for name, one in figures.items() if one and one.value is not None}
    return [*sorted(values, key=lambda name: -values[name]), *(name for name in figures if name not in values)]


def overview_of_runs(summaries: Summaries, tasks: Registry, width: int = WIDTH) -> list[str]:
    """A row for each run: the headline figure of each benchmark with its interval, broken cases, missing ones if
    there are any, tokens, US dollars. Runs are in the order of the first benchmark; intervals are left out where they
    do not fit."""
    found = headlines_of_runs(summaries, tasks)
    names = list(dict.fromkeys(name for figures in found.values() for name in ranked(figures)))
    for with_intervals in (True, False):
        lines = list(aligned(_rows(summaries, found, names, with_intervals=with_intervals)))
        if max(map(len, lines)) <= width:
            break
    return lines


def _rows(summaries: Summaries, found: Headlines, names: Sequence[str], *, with_intervals: bool) -> list[list[str]]:
    head, *rows = [["run"], *([named(_answered(name, summaries[name]), limit_of(summaries[name]))] for name in names)]
    for benchmark, of_runs in found.items():
        head += [benchmark, *(["95 %"] if with_intervals else [])]
        for row, name in zip(rows, names, strict=True):
            figure = of_runs.get(name)
            texts = figure.texts() if figure else ("–", "")
            row += texts if with_intervals else texts[:1]
    costs = any(_cost(summary["usage"]) for summary in summaries.values())
    lacks = any(part["missing"] for summary in summaries.values() for part in summary["tasks"].values())
    head += ["broken", *(["missing"] if lacks else []), "tokens", *(["cost"] if costs else [])]
    for row, name in zip(rows, names, strict=True):
        usage, tasks = summaries[name]["usage"], summaries[name]["tasks"].values()
        row += [str(sum(part[key] for part in tasks)) for key in ("broken", *(["missing"] if lacks else []))]
        row += [short_count(usage["prompt_tokens"] + usage["completion_tokens"])]
        row += [_cost(usage) or dollars(0)] if costs else []
    return [head, *rows]


def _cost(usage: Mapping[str, Any]) -> str:
    """What a run has paid, and what its replies from a cache first cost; empty for nothing."""
    saved = f" (first {dollars(usage['usd'] + usage['saved_usd'])})" if usage.get("saved_usd") else ""
    return f"{dollars(usage['usd'])}{saved}" if usage["usd"] or saved else ""


def joint_leaderboard(summaries: Summaries, known: Registry) -> str:
    """A Markdown page with the rows of all runs beside the published ones, a section for each benchmark."""
    parts = [f"# {', '.join(summaries)}", ""]
    if notes := list(_notes_of_runs(summaries)):
        parts += [*notes, ""]
    for benchmark, of_runs in headlines_of_runs(summaries, known).items():
        tasks = {name: by_benchmark(summaries[name], known)[benchmark] for name in ranked(of_runs)}
        boards = {
            board.title: board for name, own in tasks.items() for board in boards_of(summaries[name], benchmark, own)
        }
        comparable = [name for name, own in tasks.items() if not not_comparable(summaries[name], own)]
        apart = [name for name in tasks if name not in comparable]
        parts += [f"## {benchmark}", "", *_notes(summaries, tasks), ""]
        sections = []
        for board in boards.values():
            rows = [
                our_row(_row_name(name, summaries[name], tasks[name]), board, benchmark, summaries[name])
                for name in comparable
            ]
            sections.append((board, rows, ""))
        parts += published_sections(sections)
        if not boards or any(in_no_table(summaries[name], tasks[name], [*boards.values()]) for name in comparable):
            parts += [*(["### All runs", ""] if boards else []), *_figures_of(summaries, tasks, [*tasks]), ""]
        elif apart:
            parts += ["### Runs that are not comparable with the published rows", ""]
            parts += [*_figures_of(summaries, tasks, apart), ""]
    return markdown(parts)


def _row_name(name: str, summary: Mapping[str, Any], tasks: Sequence[Task]) -> str:
    return named(f"**{_answered(name, summary)}**", limit_of(summary, [task.name for task in tasks]))


def _answered(name: str, summary: Mapping[str, Any]) -> str:
    """The name of a run, with the models that have answered instead of its own."""
    others = summary["run"].get("answered_by")
    if not others:
        return name
    return f"{name} ({'' if others['all'] else 'partly '}answered by {', '.join(others['models'])})"


def _figures_of(summaries: Summaries, tasks: Mapping[str, Sequence[Task]], names: Sequence[str]) -> list[str]:
    rows = [
        {
            "model": _row_name(name, summaries[name], tasks[name]),
            "values": figures(summaries[name], tasks[name]),
        }
        for name in names
    ]
    return table(list(dict.fromkeys(column for row in rows for column in row["values"])), rows)


def _notes_of_runs(summaries: Summaries) -> Iterator[str]:
    """What a reader must know of all figures of a run, one item for each run that has such notes."""
    for name, summary in summaries.items():
        if notes := [*endpoint_doubts(summary), *estimated_tokens(summary)]:
            yield f"- `{name}`: {'; '.join(notes)}."


def _notes(summaries: Summaries, tasks: Mapping[str, Sequence[Task]]) -> list[str]:
    """What a reader must know before comparing the rows, one item for each run."""
    found = []
    for name, own in tasks.items():
        parts = [summaries[name]["tasks"][task.name] for task in own]
        counts = {key: sum(part[key] for part in parts) for key in ("planned", "broken", "missing")}
        notes = [f"{counted(counts['planned'], 'case')}, {counts['broken']} broken, {counts['missing']} missing"]
        notes += [note for task, part in zip(own, parts, strict=True) for note in task_notes(task, part)]
        notes += cut_replies(summaries[name], [task.name for task in own])
        if reasons := list(not_comparable(summaries[name], own)):
            notes.append(f"**not comparable:** {', '.join(reasons)}")
        found.append(f"- `{name}`: {'; '.join(notes)}.")
    return found


# -- the files

COMPARISON, LEADERBOARD = "comparison.html", "leaderboard.md"
"""Files in the folder of the runs."""


def end_of(parent: Path, names: Sequence[str], tasks: Registry, width: int = WIDTH) -> Iterator[str]:
    """Write one comparison and one leaderboard of the runs ``names`` below ``parent``. Yields lines for the terminal.

    Runs without a summary are in neither. Raises OSError.
    """
    summaries = _summaries(parent, names)
    ended = list(summaries)
    if not summaries:
        return
    yield ""
    yield from overview_of_runs(summaries, tasks, width)
    for name, summary in summaries.items():
        for why in uncounted(summary, tasks):
            yield from fill("", f"{name}: {why}", width, hanging="  ")
    gates = [
        (name, "fails" if gate["problem"] else "holds", gate["problem"] or gate["text"])
        for name in ended
        for gate in _gates(parent / name)
    ]
    if gates:
        yield ""
        yield from aligned([("run", "gate", ""), *gates], left=(0, 1, 2))
    (parent / LEADERBOARD).write_text(joint_leaderboard(summaries, tasks), encoding="utf-8", errors="replace")
    written = [LEADERBOARD]
    yield ""
    try:
        if len(ended) == 1:
            raise UsageProblem(f"only {ended[0]} has results to compare")
        shown = [parent / name for name in ended[: len(LETTERS)]]
        page = comparison(shown, "html", parent, tasks)
        (parent / COMPARISON).write_text(page, encoding="utf-8", errors="replace")
        written.insert(0, COMPARISON)
    except UsageProblem as problem:
        yield f"no {COMPARISON}: {problem}"
    else:
        if ended[len(LETTERS) :]:
            yield f"{COMPARISON} has the first {len(LETTERS)} of {len(ended)} runs"
    pages = sorted({file.name for name in ended for file in (parent / name).glob("*.html")})
    own = ", ".join([*pages, "summary.json", "records.jsonl"])
    files = f"{parent}/{', '.join(written)}, and in each run's folder {own}"
    yield from fill("", f"results: {files}", width, hanging="  ")
    yield f"next: agentgauge view {parent}"


def tasks_of(parent: Path, names: Sequence[str]) -> set[str]:
    """The tasks that the runs have."""
    return {task for summary in _summaries(parent, names).values() for task in summary["tasks"]}


def _summaries(parent: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    ended = [name for name in names if (parent / name / "summary.json").exists()]
    return {name: RunFolder(parent / name).read_json("summary.json") for name in ended}


def _gates(run: Path) -> list[dict[str, Any]]:
    return list(RunFolder(run).read_json("run.json").get("gates", ()))


REPORTS = Reports(tasks_of, end_of)
