"""The end of a run on the terminal, without colours of its own: one screen of figures, and with ``-v`` all tables."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.registry import Registry
from agentgauge.core.reply_ends import CUT
from agentgauge.core.task import Task, leading
from agentgauge.core.task_options import SAME
from agentgauge.core.text import clean, counted
from agentgauge.core.tracebacks import HEADING
from agentgauge.data.fetch.dataset import known_data_sets
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.figures import (
    Headline,
    combined_value,
    headlines,
    interval,
    not_selected,
    number,
    task_headline,
)
from agentgauge_reports.grouping import TITLES, kind_below, kind_of, passed_by_keyword
from agentgauge_reports.leaderboard import by_benchmark, not_comparable, task_notes, tasks_of_run
from agentgauge_reports.load import Run
from agentgauge_reports.notices import alarm, columns, group_note, limit_of, mostly_broken, named
from agentgauge_reports.text import WIDTH, aligned, case_time, cost, dollars, fill

Row = Sequence[str]

_INDENT = "    "

SHOWN = 3
"""Wrong and broken cases that are each listed without ``-v``."""

LINES = 3
"""Lines of an explanation that are shown without ``-v``: what is wrong, what was expected, and what came."""

FEWEST = 5
"""Samples that a keyword needs for a line of its own."""


def tables(summary: Mapping[str, Any], known: Registry, width: int = WIDTH, *, brief: bool = False) -> Iterator[str]:
    """The outcomes of each task's cases, and its metrics with their 95 % intervals. ``brief``: of many metrics only the
    headlines have theirs, and what was only counted is left out.

    Lines have at most ``width`` characters; only a longer word overhangs.
    """
    for task in tasks_of_run(summary, known):
        part = summary["tasks"][task.name]
        title = named(task.name, limit_of(summary, [task.name]))
        yield from fill("", f"{title}: {part['planned']} planned · {_statuses(part)}", width, hanging=_INDENT)
        if not mostly_broken(part):
            if brief and len(part["metrics"]) > MANY:
                yield from _brief_metrics(task, part["metrics"], width)
            else:
                yield from _metrics(task, part["metrics"], width, counts=not brief)
            yield from _attempts(part.get("pass", {}))
        broken = [f"broken: {count} × {cause}" for cause, count in part["causes"].items()]
        for note in (*task_notes(task, part), *broken):
            yield from fill(_INDENT, note, width, hanging="  ")
        if not brief:
            yield ""
    if brief:
        yield ""


def reasons(summary: Mapping[str, Any], tasks: Registry, width: int = WIDTH) -> Iterator[str]:
    """Reasons why the run's rows are not comparable with published ones, each with its tasks."""
    found = not_comparable(summary, tasks_of_run(summary, tasks))
    if not found:
        return
    yield "not comparable with published rows:"
    for reason, names in found.items():
        where = "" if len(names) == len(summary["tasks"]) else f" ({', '.join(names)})"
        yield from fill(_INDENT, f"{reason}{where}", width, hanging="  ")
    yield ""


def _statuses(part: Mapping[str, Any]) -> str:
    return " · ".join(f"{part[status]} {status}" for status in ENDS)


MANY = 12
"""Figures of a task from which on only the headlines have their intervals without ``-v``."""

_FIXED = "\xa0"  # a space at which no line is broken

HEADS = ("", "value", "95 %", "without broken", "n")
"""What a figure says of itself: see ``_column``."""


def _metrics(task: Task, metrics: Mapping[str, Any], width: int, *, counts: bool) -> Iterator[str]:
    """Columns of figures side by side where they fit, else a line for each; those without a value are only named.
    ``counts``: also a line of what was only counted."""
    shown = task.shown
    names = columns(task, metrics)
    counted = [name for name in names if name in shown.counts]
    known = [name for name in names if name not in counted and metrics[name]["value"] is not None]
    figures = [_column(name, metrics[name]) for name in known]
    said = [place for place in range(len(HEADS)) if place == 0 or any(figure[place] for figure in figures)]
    rows = [[row[place] for place in said] for row in (HEADS, *figures)]
    beside = list(aligned([*zip(*rows, strict=True)], left=(0,)))
    if figures:
        is_narrow = max(map(len, beside)) + len(_INDENT) <= width
        yield from (_INDENT + line for line in (beside if is_narrow else aligned(rows, left=(0,))))
    if lacking := [name for name in names if name not in counted and name not in known]:
        yield from fill(_INDENT, f"without a value: {', '.join(lacking)}", width, hanging="  ")
    if counted and counts:
        named_counts = " · ".join(f"{name} {number(metrics[name]['value'], count=True)}" for name in counted)
        yield from fill(_INDENT, f"counted: {named_counts}", width, hanging="  ")


def _brief_metrics(task: Task, metrics: Mapping[str, Any], width: int) -> Iterator[str]:
    """The headlines as in ``_metrics``, and the values of the other figures one behind the other."""
    first = [name for name in (task.shown.headline, task.shown.second_headline) if name in metrics]
    figures = [_column(name, metrics[name]) for name in first]
    said = [place for place in range(len(HEADS)) if place == 0 or any(figure[place] for figure in figures)]
    rows = [[row[place] for place in said] for row in (HEADS, *figures)]
    yield from (_INDENT + line for line in aligned(rows, left=(0,)))
    others = [name for name in columns(task, metrics) if name not in (*first, *task.shown.counts)]
    values = (f"{name} {number(metrics[name]['value'])}".replace(" ", _FIXED) for name in others)
    for line in fill(_INDENT, f"{' · '.join(values)}", width):
        yield line.replace(_FIXED, " ")


def _attempts(figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """A line for each number of attempts; none for a run with one attempt."""
    if not figures:
        return
    rows = [("attempts", *(cell for kind in figures for cell in (kind, "95 %")), "n")]
    for k in figures["pass@k"]:
        shown = [_column(k, by_k[k]) for by_k in figures.values()]
        rows.append((k, *(cell for _, value, ends, _, _ in shown for cell in (value, ends)), shown[0][-1]))
    yield from (_INDENT + line for line in aligned(rows, left=()))


def _column(name: str, metric: Mapping[str, Any]) -> Row:
    clean = number(metric["value_clean"]) if "value_clean" in metric else ""
    return name, number(metric["value"]), interval(metric["low"], metric["high"]), clean, str(metric["n"])


def combined(summary: Mapping[str, Any], tasks: Registry) -> Iterator[str]:
    """The combined scores of benchmarks, one line each, and how many are not shown because they need more tasks."""
    benchmarks = by_benchmark(summary, tasks)
    for benchmark, parts in summary["capabilities"].items():
        left_out = 0
        limit = limit_of(summary, [task.name for task in benchmarks.get(benchmark, ())])
        for part, scores in parts.items():
            shown = {name: score for name, score in scores.items() if not not_selected(score)}
            left_out += len(scores) - len(shown)
            if shown:
                yield named(f"{benchmark}, {part}", limit)
            for name, score in shown.items():
                yield from fill(_INDENT, f"{name:34} {combined_value(score)}", hanging=" " * 35)
        if left_out:
            needs = "combined score needs" if left_out == 1 else "combined scores need"
            yield f"{benchmark}: {left_out} {needs} tasks that were not selected"
        yield ""


def by_keyword(run: Run, width: int = WIDTH) -> Iterator[str]:
    """For ``-v``: why cases of each task did not pass, and the share that passed by keyword, with Wilson's 95 %
    interval for the effective number of samples.

    Attempts count by their share. Keywords of all samples or of fewer than FEWEST, and names of groups, have no line.
    """
    for task, cases in run.by_task.items():
        kinds = Counter(kind for case in cases if (kind := kind_of(case, run.tasks)))
        rows = list(_keywords(cases))
        if not kinds and not rows:
            continue
        yield task
        if kinds:
            below = Counter(kind for case in cases if (kind := kind_below(case, run.tasks)))
            inside = {CUT: f" (of these {_titled(below, {})})"} if below else {}
            yield from fill(_INDENT, f"why not passed: {_titled(kinds, inside)}", width, hanging="  ")
        if rows:
            yield from (_INDENT + line for line in aligned([("keyword", "samples", "passed %", "95 %"), *rows]))
        yield ""


def _titled(kinds: Mapping[str, int], inside: Mapping[str, str]) -> str:
    """``inside``: kind → what follows its count."""
    return ", ".join(
        f"{title} {kinds[name]}{inside.get(name, '')}" for name, title in TITLES.items() if kinds.get(name)
    )


def _keywords(cases: Sequence[CaseOutline]) -> Iterator[Row]:
    for one in passed_by_keyword(cases, FEWEST):
        yield one.keyword, str(one.samples), f"{one.value:.1f}", interval(one.low, one.high)


def explanations(status: str, texts: Sequence[tuple[str, str]], width: int = WIDTH, *, full: bool) -> Iterator[str]:
    """Why cases are wrong or broken, from pairs of node id and text: the beginnings of a few, all with ``full``. The
    texts of models and programs do not steer the terminal."""
    for node, text in texts if full else texts[:SHOWN]:
        yield f"{status}  {node}"
        text, heading, trace = text.partition(f"\n{HEADING}")  # a mistake of the benchmark's author, who needs it all
        lines, below = clean(text).splitlines(), clean(heading + trace).splitlines()[1:]
        for line in [*(lines if full else lines[: _beginning(lines)]), *below]:
            shown = f"{_INDENT}{line}"
            is_cut = status == "wrong" and not full and len(shown) > width  # a fault's line ends with what to do
            yield f"{shown[: width - 1]}…" if is_cut else shown
    if not full and len(texts) > SHOWN:
        yield f"    ... and {len(texts) - SHOWN} more {status}; -v shows them all"


def _beginning(lines: Sequence[str]) -> int:
    """How many lines are shown: LINES, and one more where a line on cut replies stands before them."""
    came = next((number for number, line in enumerate(lines, 1) if line.startswith("  got:")), 0)
    return came if came == LINES + 1 else LINES


# -- the screen without ``-v``

FEW = 3
"""Tasks up to which every figure is shown without ``-v``."""

BUILT_IN = {
    "baseline": "baseline follows fixed rules and learns nothing: its figures are a floor that a model should beat",
    "oracle": "oracle answers with the gold: what it gets wrong is a matter of data, tools, dialect or scoring",
}
"""Name of an embedded model → what its figures mean. No other model can have these names."""

ENDS = ("passed", "wrong", "broken", "missing")

ScreenRow = tuple[str, ...]


def of_benchmarks(summary: Mapping[str, Any], tasks: Registry) -> dict[str, Any]:
    """The summary without a project's own tests, whose outcomes pytest itself shows."""
    parts = {name: part for name, part in summary["tasks"].items() if not tasks[name].data.in_run_folder}
    return {**summary, "tasks": parts}


def line_of_own_tests(summary: Mapping[str, Any], tasks: Registry) -> Iterator[str]:
    """How the records of a project's own tests end, and what the tests have asked of the model; nothing without any."""
    own = [part for name, part in summary["tasks"].items() if tasks[name].data.in_run_folder]
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


def meaning(summary: Mapping[str, Any], tasks: Registry) -> str:
    """What the figures of an embedded model mean; empty for other models."""
    model = summary["run"]["model"]
    if model not in BUILT_IN or not summary["tasks"]:
        return ""
    # an agent makes something else of what the model says
    sentences = [] if "agent" in summary["run"] else [BUILT_IN[model]]
    if sentences and model == "oracle" and (others := _other_models(summary, tasks)):
        sentences = [f"oracle answers with the gold: what it misses depends on the model of {', '.join(others)}"]
    if not any(data["official"] for data in summary["run"]["data"].values()):
        sentences.append("bundled samples, not the official data")
    return f"{'; '.join(sentences)}." if sentences else ""


def _other_models(summary: Mapping[str, Any], tasks: Registry) -> list[str]:
    """The options that give models of endpoints a part in the run's cases, such as a judge."""
    chosen = summary["run"].get("options", {})
    options = {option.name: option for task in tasks_of_run(summary, tasks) for option in task.options}
    return [
        name
        for name, option in options.items()
        if option.model and chosen.get(name, SAME) not in (SAME, "oracle", *option.instead)
    ]


def next_steps(
    summary: Mapping[str, Any], tasks: Registry, folder: Path, *, selection: Sequence[str] = ()
) -> Iterator[str]:
    """Commands to try after a run of published benchmarks: to run its broken cases again, and to look at those that are
    not right; another model after an embedded one; official data after bundled samples.

    ``folder``: of the run. ``selection``: the words of the command line that chose its cases.
    """
    published = [task for task in tasks_of_run(summary, tasks) if task.published]
    if not published:
        return
    run, steps = summary["run"], []
    ends = Counter(end for part in summary["tasks"].values() for end in ENDS if part[end])
    if ends["broken"] and not ends["missing"] and not run.get("rescore"):  # a run that was stopped says how it goes on
        steps.append((f"pytest --resume={shlex.quote(str(folder))}", "the broken cases again"))
    if ends["broken"] or ends["wrong"]:
        runs = "" if folder.parent == Path("runs") else f" {shlex.quote(str(folder.parent))}"
        steps.append((f"agentgauge view{runs}", "each case and its conversation"))
    if run["model"] in BUILT_IN and "agent" not in run:
        words = " ".join(map(shlex.quote, ["pytest", *selection, "--model=gpt-4o"]))
        steps.append((words, "another model; docs/models.md lists them"))
    known = {one.folder: one.name for one in known_data_sets().values()}
    bundled = dict.fromkeys(task.data.name for task in published if not run["data"][task.name]["official"])
    if names := [known[name] for name in bundled if name in known]:
        steps.append((f"agentgauge fetch {' '.join(names)}", "official data"))
    for place, (command, what) in enumerate(steps):
        yield f"{'      ' if place else 'next: '}{command}  # {what}"


def end_screen(
    summary: Mapping[str, Any],
    known: Registry,
    width: int = WIDTH,
    *,
    full: bool = False,
    pages: Sequence[str] = (),
) -> Iterator[str]:
    """One line for each benchmark, or for each task if the run has a single benchmark; the figures of every task if it
    has a few. ``full``: all figures with their intervals, and every reason why rows are not comparable.

    Lines have at most ``width`` characters; only a longer word overhangs.
    """
    tasks, benchmarks = tasks_of_run(summary, known), by_benchmark(summary, known)
    if full or len(tasks) <= FEW:
        yield from tables(summary, known, width, brief=not full)
    if full:
        yield from reasons(summary, known, width)
    if len(tasks) > 1 and (full or len(tasks) > FEW):
        yield from aligned(_by_task(summary, tasks) if full else overview(summary, known))
    is_overview = not full and len(benchmarks) > 1
    lacking = list(_without_figure(summary, benchmarks)) if is_overview and not alarm(summary) else []
    named_there = {name for names, _ in lacking for name in names}
    reasons_why = [*(why for _, why in lacking), *uncounted(summary, known, but=named_there)]
    for why in reasons_why:
        yield from fill("", why, width, hanging="  ")
    if reasons_why or (len(tasks) > 1 and (full or len(tasks) > FEW)):
        yield ""
    if not full and len(tasks) > FEW and (rows := list(_leading_attempts(summary, benchmarks.values()))):
        yield from aligned([("attempts", "k", "pass@k", "95 %", "pass^k", "95 %", "n"), *rows])
        yield ""
    if full or len(benchmarks) == 1:
        yield from combined(summary, known)
    yield from _costs(summary, benchmarks, width, full=full)
    if not full:
        found = [reason.partition(" - ")[0] for reason in not_comparable(summary, tasks)]
        count = counted(len(found), "reason")
        what = f": {'; '.join(found)}" if len(tasks) <= FEW else f" for {count}"
        why = f"not comparable with published rows{what}. " if found else ""
        files = ", ".join(["-v", *pages, "leaderboard.md"])
        is_part = len(tasks) > FEW or any(len(part["metrics"]) > MANY for part in summary["tasks"].values())
        more = "Every figure and reason" if is_part else "More"
        yield from fill("", f"{why}{more}: {files}", width, hanging="  ")


def overview(summary: Mapping[str, Any], tasks: Registry) -> list[ScreenRow]:
    """A head and a row for each benchmark, or for each task if the run has a single benchmark."""
    benchmarks = by_benchmark(summary, tasks)
    if len(benchmarks) == 1:
        return _by_task(summary, tasks_of_run(summary, tasks))
    return _by_benchmark(summary, benchmarks)


def _by_task(summary: Mapping[str, Any], tasks: Sequence[Task]) -> list[ScreenRow]:
    parts, ends = summary["tasks"], _ends(summary)
    rows: list[ScreenRow] = [("task", *ends, "", "value", "95 %", "n")]
    for task in tasks:
        name = named(task.name, limit_of(summary, [task.name]))
        rows.append((name, *_counts([parts[task.name]], ends), *_cells(task_headline(summary, [task]))))
    return rows


def _by_benchmark(summary: Mapping[str, Any], benchmarks: Mapping[str, Sequence[Task]]) -> list[ScreenRow]:
    ends = _ends(summary)
    rows: list[ScreenRow] = [("benchmark", "tasks", *ends, "", "value", "95 %", "n")]
    for benchmark, tasks in benchmarks.items():
        parts = [summary["tasks"][task.name] for task in tasks]
        first, *others = headlines(summary, benchmark, tasks)
        name = named(benchmark, limit_of(summary, [task.name for task in tasks]))
        rows.append((name, str(len(tasks)), *_counts(parts, ends), *_cells(first)))
        rows += [(*[""] * (2 + len(ends)), *_cells(other)) for other in others]
    return rows


def uncounted(summary: Mapping[str, Any], tasks: Registry, but: Collection[str] = ()) -> Iterator[str]:
    """Which tasks, without those of ``but``, have no headline figure although cases ended, because the published rule
    counts none of them."""
    names = []
    for name, part in summary["tasks"].items():
        figure = task_headline(summary, [tasks[name]])
        is_empty = figure and figure.value is None and not figure.n and not figure.why
        if is_empty and part["passed"] + part["wrong"] and name not in but:
            names.append(name)
    if names:
        whose = "its" if len(names) == 1 else "their"
        yield f"no value for {', '.join(names)}: by the published rule none of {whose} replies counts"


def _without_figure(
    summary: Mapping[str, Any], benchmarks: Mapping[str, Sequence[Task]]
) -> Iterator[tuple[list[str], str]]:
    """Why a headline over all tasks of a benchmark is incomplete although its tasks ran, or one over groups, and the
    names of the tasks in question."""
    for benchmark, parts in summary["capabilities"].items():
        scores = [score for part in parts.values() for score in part.values()]
        if ran := scores[-1].get("without_figure") if scores else None:
            names = [task.name for task in benchmarks[benchmark] if {task.name, task.name.rpartition(".")[2]} & {*ran}]
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
    if (summary["usage"].get("usd") or summary["usage"].get("saved_usd")) and len(names) > 1:
        rows = []
        for title, of in names.items():
            parts = [summary["tasks"][name] for name in of]
            usd, passed = sum(part["usage"]["usd"] for part in parts), sum(part["passed"] for part in parts)
            first = usd + sum(part["usage"].get("saved_usd", 0.0) for part in parts)
            rows.append((title, dollars(usd), dollars(first / passed) if passed else "–"))
        yield from aligned([("", "cost", "per passed case"), *rows])
        yield ""
    spent = [cost(summary["usage"]), case_time(summary["usage"]) if full else ""]
    for text in filter(None, spent):
        yield from fill("", text, width, hanging="  ")
        yield ""


def _ends(summary: Mapping[str, Any]) -> ScreenRow:
    """The heads of the numbers of cases. ``missing`` only where cases are."""
    missing = any(part["missing"] for part in summary["tasks"].values())
    return "cases", "passed", "broken", *(["missing"] if missing else [])


def _counts(parts: Sequence[Mapping[str, Any]], ends: ScreenRow) -> ScreenRow:
    keys = ("planned" if end == "cases" else end for end in ends)
    return tuple(str(sum(part[key] for part in parts)) for key in keys)


def _cells(figure: Headline | None) -> ScreenRow:
    if figure is None:
        return ("", "", "", "")
    return figure.name, *figure.texts(), "" if figure.n is None else str(figure.n)


def _leading_attempts(summary: Mapping[str, Any], benchmarks: Iterable[Sequence[Task]]) -> Iterator[ScreenRow]:
    """pass@k and pass^k for the most attempts, a row for each benchmark's leading task."""
    for task in map(leading, benchmarks):
        part = summary["tasks"][task.name]
        if "pass" in part and not mostly_broken(part):
            k = list(part["pass"]["pass@k"])[-1]
            both = [part["pass"][kind][k] for kind in ("pass@k", "pass^k")]
            shown = [text for one in both for text in (number(one["value"]), interval(one["low"], one["high"]))]
            yield task.name, k, *shown, str(both[0]["n"])
