"""``leaderboard.md``: this run's row between the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agentgauge.core.published import Leaderboard
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.text import counted
from agentgauge.core.tools import by_state
from agentgauge_reports.figures import (
    headline,
    is_part_of,
    leaderboards_of,
    neighbours,
    number,
    our_figures,
    published_table,
)
from agentgauge_reports.notices import (
    cut_replies,
    endpoint_doubts,
    estimated_tokens,
    given_notes,
    group_note,
    limit_of,
    model_title,
    mostly_broken,
    not_attempted,
)
from agentgauge_reports.text import END_OF_FOLD, FOLD, cost, markdown

GROUPS = {
    "api": "models behind an API",
    "open": "open models",
    "closed": "closed models",
    "proprietary": "proprietary general models",
    "open_source": "open-source general models",
    "open_source_specialised": "open-source specialised models",
}
"""What published tables call their groups of models."""


def leaderboard(summary: Mapping[str, Any], known: Registry) -> str:
    """A Markdown page: for each benchmark the run's figures, and the published tables that have figures of its tasks,
    with the run's row if it is comparable."""
    model = model_title(summary["run"])
    parts = [f"# {model}", ""]
    if lacking := not_attempted(summary):
        parts += [f"{lacking}.", ""]
    parts += [line for doubt in endpoint_doubts(summary) for line in (f"**{doubt}.**", "")]
    parts += [line for note in estimated_tokens(summary) for line in (f"{note}.", "")]
    for benchmark, tasks in by_benchmark(summary, known).items():
        parts += [f"## {benchmark}", "", *dict.fromkeys(_notes(summary, tasks)), ""]
        if combined := summary["capabilities"].get(benchmark, {}):
            parts += [*_combined(combined), ""]
        ours_is = ", ".join(filter(None, ["this run", limit_of(summary, [task.name for task in tasks])]))
        name = f"**{model} ({ours_is})**"
        apart = bool(not_comparable(summary, tasks))
        boards = boards_of(summary, benchmark, tasks)
        if apart or not boards or in_no_table(summary, tasks, boards):
            title = "This run (not comparable with the published rows)" if apart else "This run"
            parts += [f"### {title}", ""] if boards else []
            ours = figures(summary, tasks)
            parts += [*table(list(ours), [{"model": name, "values": ours}]), ""]
        for task in tasks:
            if added := {name: one for name, one in summary["tasks"][task.name]["metrics"].items() if one.get("added")}:
                values = {name: one["value"] for name, one in added.items()}
                parts += [f"### Figures that this project adds to {task.name}", ""]
                parts += [*table(list(values), [{"model": model, "values": values}]), ""]
        figure = headline(summary, benchmark, tasks)
        sections = []
        for board in boards:
            where = neighbours(figure, board) if figure and not apart else ""
            ours_there = [] if apart else [our_row(name, board, benchmark, summary)]
            sections.append((board, ours_there, where))
        parts += published_sections(sections)
    return markdown(parts)


def boards_of(summary: Mapping[str, Any], benchmark: str, tasks: Sequence[Task]) -> list[Leaderboard]:
    """The published tables of a benchmark that have figures of the run's tasks."""
    return [board for board in leaderboards_of(tasks) if is_part_of(board, benchmark, summary)]


def in_no_table(summary: Mapping[str, Any], tasks: Sequence[Task], boards: Sequence[Leaderboard]) -> list[str]:
    """The run's columns that no published table has."""
    shown = {(column.part, column.name) for board in boards for column in board.columns}
    return [title for title, (task, name) in our_columns(summary, tasks).items() if (task.name, name) not in shown]


def our_row(name: str, board: Leaderboard, benchmark: str, summary: Mapping[str, Any]) -> dict[str, Any]:
    """The run's row in a published table, in the shape of a published one."""
    ours = our_figures(board, benchmark, summary)
    return {"model": name, "values": {title: figure["value"] for title, figure in ours.items()}}


def published_sections(sections: Sequence[tuple[Leaderboard, Sequence[Mapping[str, Any]], str]]) -> list[str]:
    """Published tables, each with our rows and where ours lies: those of the newest edition, and the others folded.
    ``sections``: the newest first."""
    newest = sections[0][0].date if sections else ""
    shown = [line for section in sections if section[0].date == newest for line in _published_section(*section)]
    others = [line for section in sections if section[0].date != newest for line in _published_section(*section)]
    return [*shown, *(["### Other editions", "", FOLD, "", *others, END_OF_FOLD, ""] if others else [])]


def _published_section(board: Leaderboard, ours: Sequence[Mapping[str, Any]], where: str) -> list[str]:
    """A published table in Markdown, below our rows, with its groups, source and footnotes. ``where``: among its rows
    ours lies."""
    printed = published_table(board)
    caption = board.source if board.date in board.source else f"{board.source}, {board.date}"
    return [
        *(f"### {board.title}", ""),
        *([f"Published rows: {caption}.", ""] if board.source else []),
        *([f"{where}.", ""] if where else []),
        *table(printed["columns"], [*ours, *_grouped(board, printed["rows"])], printed["marks"]),
        "",
        *footnotes(printed),
    ]


def _grouped(board: Leaderboard, rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Published rows with a row above each group of models, where the publication has groups."""
    group = ""
    for known, row in zip(board.rows, rows, strict=True):
        if (found := known.get("group", "")) != group:
            group = found
            yield {"model": f"*{GROUPS.get(group, group)}*", "values": {}, "is_head": True}
        yield row


def footnotes(printed: Mapping[str, Any]) -> list[str]:
    """The footnotes of a published table as a list in Markdown, where a star would begin a list of its own."""
    signed = [(sign.replace("*", "\\*"), text) for sign, text in printed["footnotes"]]
    lines = [f"- {sign} {text}" if sign else f"- {text}" for sign, text in signed]
    return [*lines, ""] if lines else []


def tasks_of_run(summary: Mapping[str, Any], tasks: Registry) -> list[Task]:
    """The run's own among all that are known. Raises UsageProblem for one that is not."""
    return [tasks[name] for name in summary["tasks"]]


def by_benchmark(summary: Mapping[str, Any], tasks: Registry) -> dict[str, list[Task]]:
    """The run's tasks by the title of their benchmark. Raises UsageProblem for a task that is not known."""
    found: dict[str, list[Task]] = {}
    for task in tasks_of_run(summary, tasks):
        found.setdefault(task.shown.benchmark, []).append(task)
    return found


def figures(summary: Mapping[str, Any], tasks: Sequence[Task]) -> dict[str, float | None]:
    """The run's figures for the leaderboard's columns; None where most cases of a task are broken."""
    return {
        column: None if mostly_broken(part) else part["metrics"][name]["value"]
        for column, (task, name) in our_columns(summary, tasks).items()
        for part in [summary["tasks"][task.name]]
    }


def our_columns(summary: Mapping[str, Any], tasks: Sequence[Task]) -> dict[str, tuple[Task, str]]:
    """The leaderboard's columns for which the run has figures, each with its task and metric."""
    return {
        task.shown.leaderboard_columns.get(name, name): (task, name)
        for task in tasks
        for name in task.shown.published
        if name in summary["tasks"][task.name]["metrics"]
    }


def _combined(parts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = ["| combined from several tasks | value | missing |", "|---|---|---|"]
    for part, scores in parts.items():
        for name, score in scores.items():
            lines.append(f"| {part}: {name} | {number(score['value'])} | {', '.join(score['missing'])} |")
    return lines


def _notes(summary: Mapping[str, Any], tasks: Sequence[Task]) -> Iterator[str]:
    """What a reader must know before comparing the rows."""
    yield from (f"- {note}." for note in cut_replies(summary, [task.name for task in tasks]))
    for task in tasks:
        part = summary["tasks"][task.name]
        done = part["passed"] + part["wrong"]
        counts = (
            f"{done} of {counted(part['planned'], 'case')} scored, {part['broken']} broken, {part['missing']} missing"
        )
        yield from (f"- **{doubt}.**" for doubt in task.shown.doubts(part))
        yield f"- `{task.name}`: {counts}."
        yield from (f"- {note}" for note in task_notes(task, part))
        yield from (f"- {note}" for note in wording_notes(task, summary["run"]))
        if spent := cost(part.get("usage", {})):  # runs of earlier versions do not have it by task
            yield f"- `{task.name}`: {spent}."
    if reasons := not_comparable(summary, tasks):
        of_all = len(tasks)
        told = (
            reason if len(names) == of_all else f"{reason} ({', '.join(f'`{name}`' for name in names)})"
            for reason, names in reasons.items()
        )
        yield f"- **Not comparable**: {'; '.join(told)}."


def task_notes(task: Task, part: Mapping[str, Any]) -> list[str]:
    """Notes for a reader of a task's row, one sentence each."""
    found = list(task.shown.notes(part["metrics"]))
    if note := group_note(part.get("groups")):  # runs of earlier versions do not know which groups are whole
        found.append(f"{task.name}: {note}")
    for k, figure in part.get("pass", {}).get("pass@k", {}).items():
        if why := figure.get("why"):
            found.append(f"{task.name}: pass@{k} and pass^{k} have no value: {why}")
    if count := part.get("stops"):  # runs of earlier versions do not count them
        cases = counted(count, "case")
        found.append(
            f"{task.name}: the published evaluator stops on replies of {cases} (`stops`); they count as invalid here"
        )
    if left_out := part.get("not_applicable"):
        found.append(
            f"{task.name}: {not_applicable(left_out)}: {left_out['model']} sees no pictures; figures that need them"
            " are –"
        )
    if uncounted := part.get("uncounted"):
        cases = "1 broken case is" if uncounted["cases"] == 1 else f"{uncounted['cases']} broken cases are"
        found.append(
            f"{task.name}: {cases} in no figure: counting them as the original does failed ({uncounted['why']})"
        )
    return found


def wording_notes(task: Task, run: Mapping[str, Any]) -> list[str]:
    """What a reader of the task's published table must know of the run's prompts."""
    version = run.get("prompts", {}).get(task.name)  # a run that was put together from others may lack it
    note = task.prompts.note(version, _options(run, task)) if task.prompts and version else ""
    return [f"{task.name}: {note}"] if note else []


def not_applicable(left_out: Mapping[str, Any]) -> str:
    """``left_out``: ``not_applicable`` of a task's part of the summary."""
    return f"{left_out['cases']} {'case is' if left_out['cases'] == 1 else 'cases are'} not applicable"


def not_comparable(summary: Mapping[str, Any], tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Reasons why this run's rows are not comparable with published ones: reason → names of the tasks."""
    found: dict[str, list[str]] = {}
    for task in tasks:
        for reason in _reasons(summary["run"], task, summary["tasks"][task.name]):
            found.setdefault(reason, []).append(task.name)
    return found


def _options(run: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """The values of the task's options. A run of an earlier version may lack some."""
    return {**{option.name: option.usual for option in task.options}, **run["options"]}


def _reasons(run: Mapping[str, Any], task: Task, part: Mapping[str, Any]) -> Iterator[str]:
    if not (published := task.published):
        return
    if "agent" in run:
        yield "an agent program in the model's place"
    data = run["data"][task.name]
    if not data["official"]:
        yield "bundled samples instead of the official data"
    if broken := mostly_broken(part):
        yield broken
    if task.similarity and not task.similarity.comparable(part["similarity"]):
        yield f"similarity {part['similarity']} instead of the published model"
    if run["dialect"] in task.dialects and run["dialect"] not in published.dialects:  # others do not use it
        yield f"dialect {run['dialect']} instead of {published.dialects[0]}"
    if run["scoring"] != "parity":
        yield "strict scoring"
    if task.tools:
        yield from by_state(run["tools"], reasons=False)
    yield from published.not_comparable(_options(run, task))
    yield from published.not_official(data.get("differences", ()))
    yield from given_notes(part)
    if data["left_out"]:
        yield f"{len(data['left_out'])} left out as invalid"
    left_out = part.get("not_applicable")
    if left_out:
        yield not_applicable(left_out)
    if part["planned"] + (left_out["cases"] if left_out else 0) < data["samples"] or part["missing"]:
        yield "not every sample was run"


def is_comparable(summary: Mapping[str, Any], task: Task) -> bool:
    """Whether there are published rows, and this run's row is comparable with them."""
    return task.published is not None and not not_comparable(summary, [task])


def table(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], marks: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """A table of Markdown. ``rows``: ``{"model", "values": {column: figure}}``, and ``marks`` with the signs of
    footnotes at its figures, or ``is_head`` for the name of a group; ``marks``: those at the titles."""
    head = "| model | " + " | ".join(column + marks.get(column, "") for column in columns) + " |"
    return [head, "|---" * (len(columns) + 1) + "|", *(_line(columns, row) for row in rows)]


def _line(columns: Sequence[str], row: Mapping[str, Any]) -> str:
    marks = row.get("marks", {})
    cells = [row["model"].replace("|", "\\|") + marks.get("model", "")]
    cells += [
        "" if row.get("is_head") else number(row["values"].get(column)) + marks.get(column, "") for column in columns
    ]
    return f"| {' | '.join(cells)} |"
