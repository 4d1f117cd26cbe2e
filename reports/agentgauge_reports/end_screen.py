"""The end of a run on the terminal without ``-v``: figures that fit one screen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities import SAME, PublishedRows, options_of
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task
from agentgauge_reports.headlines import Headline, headlines, leading, task_headline
from agentgauge_reports.leaderboard import by_benchmark, interval, not_comparable, number
from agentgauge_reports.leaderboards import mostly_broken
from agentgauge_reports.notices import alarm, group_note, limit_of, named
from agentgauge_reports.terminal import combined, reasons, tables
from agentgauge_reports.text import WIDTH, aligned, case_time, cost, dollars, fill

FEW = 3
"""Tasks up to which every figure is shown without ``-v``."""

BUILT_IN = {
    "baseline": "baseline follows fixed rules and learns nothing: its figures are a floor that a model should beat",
    "oracle": "oracle answers with the gold: what it gets wrong is a matter of data, tools, dialect or scoring",
}
"""Name of an embedded model → what its figures mean. No other model can have these names."""

NEXT = (
    ("pytest --model=gpt-4o -k perception", "another model on some tasks; docs/models.md lists the models"),
    ("agentgauge fetch wild mmau", "official data, whose figures compare with published ones"),
    ("agentgauge view", "all runs in a browser, running ones live"),
)
"""Commands that a newcomer may want after a run of an embedded model, and what they are for."""

Row = tuple[str, ...]


def of_benchmarks(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary without a project's own tests, whose outcomes pytest itself shows."""
    tasks = {name: part for name, part in summary["tasks"].items() if not find_task(name).data.in_run_folder}
    return {**summary, "tasks": tasks}


def line_of_own_tests(summary: Mapping[str, Any]) -> Iterator[str]:
    """How the records of a project's own tests end, and what the tests have asked of the model; nothing without any."""
    own = [part for name, part in summary["tasks"].items() if find_task(name).data.in_run_folder]
    outside = summary["usage"].get("outside_tests")
    used = [*(part["usage"] for part in own), *([outside] if outside else [])]
    ends = {status: sum(part[status] for part in own) for status in ("passed", "wrong", "broken")}
    parts = [", ".join(f"{count} {status}" for status, count in ends.items() if count)]
    if requests := sum(usage["requests"] for usage in used):
        what = "request" if requests == 1 else "requests"
        apart = f", {outside['requests']:,} of them outside any test" if outside else ""
        tokens = sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in used)
        price = f", {dollars(usd)}" if (usd := sum(usage["usd"] for usage in used)) else ""
        parts += [f"{requests:,} {what} to the model{apart}", f"{tokens:,} tokens{price}"]
    if any(parts):
        yield f"own tests: {'; '.join(filter(None, parts))}"


def meaning(summary: Mapping[str, Any]) -> str:
    """What the figures of an embedded model mean; empty for other models."""
    model = summary["run"]["model"]
    if model not in BUILT_IN or not summary["tasks"]:
        return ""
    # an agent makes something else of what the model says
    sentences = [] if "agent" in summary["run"] else [BUILT_IN[model]]
    if sentences and model == "oracle" and (others := _other_models(summary)):
        sentences = [f"oracle answers with the gold: what it misses depends on the model of {', '.join(others)}"]
    if not any(data["official"] for data in summary["run"]["data"].values()):
        sentences.append("bundled samples, not the official data")
    return f"{'; '.join(sentences)}." if sentences else ""


def _other_models(summary: Mapping[str, Any]) -> list[str]:
    """The options that give models of endpoints a part in the run's cases, such as a judge."""
    chosen = summary["run"].get("options", {})
    options = {option.name: option for name in summary["tasks"] for option in options_of(find_task(name))}
    return [
        name
        for name, option in options.items()
        if option.model and chosen.get(name, SAME) not in (SAME, "oracle", *option.instead)
    ]


def next_steps(summary: Mapping[str, Any]) -> Iterator[str]:
    """Commands to try after a run of an embedded model on a published benchmark."""
    if summary["run"]["model"] in BUILT_IN and any(
        isinstance(find_task(name), PublishedRows) for name in summary["tasks"]
    ):
        yield "next:"
        yield from (f"    {line}" for line in aligned(NEXT, left=(0, 1)))


def end_screen(summary: Mapping[str, Any], width: int = WIDTH, *, full: bool = False) -> Iterator[str]:
    """One line for each benchmark, or for each task if the run has a single benchmark. ``full``, and runs of a few
    tasks: all figures of every task, and every reason why rows are not comparable.

    Lines have at most ``width`` characters; only a longer word overhangs.
    """
    tasks = [find_task(name) for name in summary["tasks"]]
    benchmarks = by_benchmark(summary)
    if full or len(tasks) <= FEW:
        yield from tables(summary, width)
        yield from reasons(summary, width)
    if len(tasks) > 1:
        yield from aligned(_by_task(summary, tasks) if full else overview(summary))
    is_overview = not full and len(benchmarks) > 1
    lacking = list(_without_figure(summary)) if is_overview and not alarm(summary) else []
    named_there = {name for names, _ in lacking for name in names}
    reasons_why = [*(why for _, why in lacking), *uncounted(summary, but=named_there)]
    for why in reasons_why:
        yield from fill("", why, width, hanging="  ")
    if len(tasks) > 1 or reasons_why:
        yield ""
    if not full and len(tasks) > FEW and (rows := list(_reliability(summary, benchmarks.values()))):
        yield from aligned([("attempts", "k", "pass@k", "95 %", "pass^k", "95 %", "n"), *rows])
        yield ""
    if full or len(benchmarks) == 1:
        yield from combined(summary)
    yield from _costs(summary, benchmarks, width, full=full)
    if not full and len(tasks) > FEW:
        count = len(not_comparable(summary, tasks))
        why = (
            f"not comparable with published rows for {count} {'reason' if count == 1 else 'reasons'}; " if count else ""
        )
        yield from fill("", f"{why}every figure and reason: -v, report.html, leaderboard.md", width, hanging="  ")


def overview(summary: Mapping[str, Any]) -> list[Row]:
    """A head and a row for each benchmark, or for each task if the run has a single benchmark."""
    tasks = [find_task(name) for name in summary["tasks"]]
    return _by_task(summary, tasks) if len(by_benchmark(summary)) == 1 else _by_benchmark(summary)


def _by_task(summary: Mapping[str, Any], tasks: Sequence[Task]) -> list[Row]:
    parts, ends = summary["tasks"], _ends(summary)
    rows: list[Row] = [("task", *ends, "", "value", "95 %", "n")]
    for task in tasks:
        name = named(task.name, limit_of(summary, [task.name]))
        rows.append((name, *_counts([parts[task.name]], ends), *_cells(task_headline(summary, [task]))))
    return rows


def _by_benchmark(summary: Mapping[str, Any]) -> list[Row]:
    ends = _ends(summary)
    rows: list[Row] = [("benchmark", "tasks", *ends, "", "value", "95 %", "n")]
    for benchmark, tasks in by_benchmark(summary).items():
        parts = [summary["tasks"][task.name] for task in tasks]
        first, *others = headlines(summary, benchmark, tasks)
        name = named(benchmark, limit_of(summary, [task.name for task in tasks]))
        rows.append((name, str(len(tasks)), *_counts(parts, ends), *_cells(first)))
        rows += [(*[""] * (2 + len(ends)), *_cells(other)) for other in others]
    return rows


def uncounted(summary: Mapping[str, Any], but: Collection[str] = ()) -> Iterator[str]:
    """Which tasks, without those of ``but``, have no headline figure although cases ended, because the published rule
    counts none of them."""
    names = []
    for name, part in summary["tasks"].items():
        figure = task_headline(summary, [find_task(name)])
        is_empty = figure and figure.value is None and not figure.n and not figure.why
        if is_empty and part["passed"] + part["wrong"] and name not in but:
            names.append(name)
    if names:
        whose = "its" if len(names) == 1 else "their"
        yield f"no value for {', '.join(names)}: by the published rule none of {whose} replies counts"


def _without_figure(summary: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
    """Why a headline over all tasks of a benchmark is incomplete although its tasks ran, or one over groups, and the
    names of the tasks in question."""
    tasks = by_benchmark(summary)
    for benchmark, parts in summary["capabilities"].items():
        scores = [score for part in parts.values() for score in part.values()]
        if ran := scores[-1].get("without_figure") if scores else None:
            names = [task.name for task in tasks[benchmark] if {task.name, task.name.rpartition(".")[2]} & {*ran}]
            yield names, f"{benchmark} is incomplete: no reply of {', '.join(ran)} has an answer that counts"
    if len(summary["tasks"]) > FEW:  # else each task's own figures say it
        for name, part in summary["tasks"].items():
            if note := group_note(part.get("groups")):
                yield [name], f"{name}: {note}"


def _costs(
    summary: Mapping[str, Any], benchmarks: Mapping[str, Sequence[Task]], width: int, *, full: bool
) -> Iterator[str]:
    """What each benchmark did cost, or each task as in ``overview``, and the whole run; nothing where it is unknown."""
    names = {title: [task.name for task in tasks] for title, tasks in benchmarks.items()}
    if full or len(names) == 1:
        names = {name: [name] for name in summary["tasks"]}
    if summary["usage"].get("usd") and len(names) > 1:
        rows = []
        for title, of in names.items():
            parts = [summary["tasks"][name] for name in of]
            usd, passed = sum(part["usage"]["usd"] for part in parts), sum(part["passed"] for part in parts)
            rows.append((title, dollars(usd), dollars(usd / passed) if passed else "–"))
        yield from aligned([("", "cost", "per passed case"), *rows])
        yield ""
    spent = [cost(summary["usage"]), case_time(summary["usage"]) if full else ""]
    for text in filter(None, spent):
        yield from fill("", text, width, hanging="  ")
        yield ""


def _ends(summary: Mapping[str, Any]) -> Row:
    """The heads of the numbers of cases. ``missing`` only where cases are."""
    missing = any(part["missing"] for part in summary["tasks"].values())
    return "cases", "passed", "broken", *(["missing"] if missing else [])


def _counts(parts: Sequence[Mapping[str, Any]], ends: Row) -> Row:
    keys = ("planned" if end == "cases" else end for end in ends)
    return tuple(str(sum(part[key] for part in parts)) for key in keys)


def _cells(figure: Headline | None) -> Row:
    if figure is None:
        return ("", "", "", "")
    return figure.name, *figure.texts(), "" if figure.n is None else str(figure.n)


def _reliability(summary: Mapping[str, Any], benchmarks: Iterable[Sequence[Task]]) -> Iterator[Row]:
    """Of several attempts pass@k and pass^k for the most attempts, of each benchmark's leading task."""
    for task in map(leading, benchmarks):
        part = summary["tasks"][task.name]
        if "pass" in part and not mostly_broken(part):
            k = list(part["pass"]["pass@k"])[-1]
            both = [part["pass"][kind][k] for kind in ("pass@k", "pass^k")]
            shown = [text for one in both for text in (number(one["value"]), interval(one["low"], one["high"]))]
            yield task.name, k, *shown, str(both[0]["n"])
