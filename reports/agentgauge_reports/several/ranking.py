"""Finished runs in the order of a leaderboard, as a table for the terminal and as a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgauge.core.task import Task
from agentgauge.run.progress import short_count
from agentgauge_reports.headlines import Headline, headline
from agentgauge_reports.leaderboard import (
    boards_of,
    by_benchmark,
    figures,
    in_no_table,
    not_comparable,
    our_row,
    published_section,
    table,
    task_notes,
)
from agentgauge_reports.notices import cut_replies, endpoint_doubts, estimated_tokens, limit_of, named
from agentgauge_reports.safe_text import markdown
from agentgauge_reports.text import WIDTH, aligned, dollars

Summaries = Mapping[str, Mapping[str, Any]]
"""Name of a run → its summary."""

Headlines = Mapping[str, Mapping[str, Headline | None]]
"""Benchmark → name of a run → headline figure."""


def headlines(summaries: Summaries) -> dict[str, dict[str, Headline | None]]:
    found: dict[str, dict[str, Headline | None]] = {}
    for name, summary in summaries.items():
        for benchmark, tasks in by_benchmark(summary).items():
            found.setdefault(benchmark, {})[name] = headline(summary, benchmark, tasks)
    return found


def ranked(figures: Mapping[str, Headline | None]) -> list[str]:
    """The names of runs, the highest figure first; those without one last, in their order."""
    values = {name: one.value for name, one in figures.items() if one and one.value is not None}
    return [*sorted(values, key=lambda name: -values[name]), *(name for name in figures if name not in values)]


def overview(summaries: Summaries, width: int = WIDTH) -> list[str]:
    """A row for each run: the headline figure of each benchmark with its interval, broken cases, missing ones if
    there are any, tokens, US dollars. Runs are in the order of the first benchmark; intervals are left out where they
    do not fit."""
    found = headlines(summaries)
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
    costs = any(summary["usage"]["usd"] for summary in summaries.values())
    lacks = any(part["missing"] for summary in summaries.values() for part in summary["tasks"].values())
    head += ["broken", *(["missing"] if lacks else []), "tokens", *(["cost"] if costs else [])]
    for row, name in zip(rows, names, strict=True):
        usage, tasks = summaries[name]["usage"], summaries[name]["tasks"].values()
        row += [str(sum(part[key] for part in tasks)) for key in ("broken", *(["missing"] if lacks else []))]
        row += [short_count(usage["prompt_tokens"] + usage["completion_tokens"])]
        row += [dollars(usage["usd"])] if costs else []
    return [head, *rows]


def joint_leaderboard(summaries: Summaries) -> str:
    """A Markdown page with the rows of all runs beside the published ones, a section for each benchmark."""
    parts = [f"# {', '.join(summaries)}", ""]
    if notes := list(_notes_of_runs(summaries)):
        parts += [*notes, ""]
    for benchmark, of_runs in headlines(summaries).items():
        tasks = {name: by_benchmark(summaries[name])[benchmark] for name in ranked(of_runs)}
        boards = {
            board.title: board for name, own in tasks.items() for board in boards_of(summaries[name], benchmark, own)
        }
        comparable = [name for name, own in tasks.items() if not not_comparable(summaries[name], own)]
        apart = [name for name in tasks if name not in comparable]
        parts += [f"## {benchmark}", "", *_notes(summaries, tasks), ""]
        for board in boards.values():
            rows = [
                our_row(_row_name(name, summaries[name], tasks[name]), board, benchmark, summaries[name])
                for name in comparable
            ]
            parts += published_section(board, rows)
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
        notes = [f"{counts['planned']} cases, {counts['broken']} broken, {counts['missing']} missing"]
        notes += [note for task, part in zip(own, parts, strict=True) for note in task_notes(task, part)]
        notes += cut_replies(summaries[name], [task.name for task in own])
        if reasons := list(not_comparable(summaries[name], own)):
            notes.append(f"**not comparable:** {', '.join(reasons)}")
        found.append(f"- `{name}`: {'; '.join(notes)}.")
    return found
