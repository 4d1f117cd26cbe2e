"""Which run to take: the headline figure of each benchmark beside what a case cost and how long it took."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentgauge.core.estimate import student
from agentgauge.core.task import Task
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.figures import headline, leading
from agentgauge_reports.leaderboard import by_benchmark
from agentgauge_reports.load import Run
from agentgauge_reports.notices import mostly_broken, presentable
from agentgauge_reports.text import dollars

MEASURES = {
    "usd": "US dollars a case",
    "tokens": "tokens a case",
    "p50": "seconds in which half of the cases end",
    "p90": "seconds in which 90 % of the cases end",
}
"""What a run is chosen by beside its figure, less is better. Seconds are without waiting for a slot, and of the cases
that nothing came from a cache for."""

Spread = dict[str, float | None]
"""``value`` and the ends of its 95 % interval, ``low`` and ``high``; these are None where there are too few cases."""


def choices(runs: Mapping[str, Run]) -> list[dict[str, Any]]:
    """The headline figure of each benchmark that at least two of the runs have, and the measures of its cases.

    ``runs``: by letter. Returns for each benchmark::

        {"benchmark", "figure", "sentence", "alike": whether all runs have the same cases and scoring,
         "rows": [{"run", "value", "low", "high", "n", "cases", "broken", "pass": {"pass@3": figure, "pass^3": figure},
                   and of MEASURES a Spread, or None where it is not known}],
         "fronts": {measure: letters of the runs that no other run is better than in both figure and measure}}
    """
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    cases: dict[tuple[str, str], set[str]] = {}
    for letter, run in runs.items():
        known = {name: part for name, part in run.summary["tasks"].items() if name in run.tasks}
        for benchmark, tasks in by_benchmark({"tasks": known}, run.tasks).items():
            if (figure := headline(run.summary, benchmark, tasks)) and figure.value is not None:
                key = benchmark, figure.name
                about = run.summary["run"]
                data = {task.name: about["data"].get(task.name, {}).get("fingerprint") for task in tasks}
                planned = {task.name: run.summary["tasks"][task.name]["planned"] for task in tasks}
                cases.setdefault(key, set()).add(repr((data, planned, about["scoring"])))
                row = {"run": letter, **{name: getattr(figure, name) for name in ("value", "low", "high", "n")}}
                found.setdefault(key, []).append(row | _measured(run, tasks))
    return [_choice(*key, rows, len(cases[key]) == 1) for key, rows in found.items() if len(rows) > 1]


def _choice(benchmark: str, figure: str, rows: list[dict[str, Any]], alike: bool) -> dict[str, Any]:
    measures = [name for name in MEASURES if sum(row[name] is not None for row in rows) > 1]
    fronts = {name: front(rows, name) for name in measures}
    title = figure if figure.startswith(benchmark) else f"{benchmark} {figure}"
    return {
        "benchmark": benchmark,
        "figure": title,
        "sentence": " ".join(_sentences(title, rows, alike)),
        "alike": alike,
        "rows": rows,
        "fronts": fronts,
    }


# -- the measures


def _measured(run: Run, tasks: Sequence[Task]) -> dict[str, Any]:
    cases = [case for task in tasks for case in run.by_task.get(task.name, ()) if case.start >= 0]
    timed = [case.working for case in cases if case.status != "broken" and not case.is_cached]
    return {
        "cases": len(cases),
        "broken": sum(case.status == "broken" for case in cases),
        "pass": _passes(run.summary["tasks"][leading(tasks).name]),
        "usd": _mean(cases, lambda case: case.usage.usd + case.usage.saved_usd),
        "tokens": _mean(cases, lambda case: float(case.usage.prompt_tokens + case.usage.completion_tokens)),
        "p50": percentile(timed, 50),
        "p90": percentile(timed, 90),
    }


def _passes(part: Mapping[str, Any]) -> dict[str, Any]:
    """pass@k and pass^k for the most attempts; empty for one attempt."""
    passes = presentable(part).get("pass")
    if mostly_broken(part) or not passes:
        return {}
    k = list(passes["pass@k"])[-1]
    return {kind.replace("k", k): passes[kind][k] for kind in ("pass@k", "pass^k")} if k != "1" else {}


def _mean(cases: Sequence[CaseOutline], measure: Callable[[CaseOutline], float]) -> Spread | None:
    """None where all are 0: the prices or the tokens are not known."""
    values = [measure(case) for case in cases]
    if not any(values):
        return None
    n = len(values)
    mean = math.fsum(values) / n
    if n < 3:
        return {"value": mean, "low": None, "high": None}
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    reach = student(n - 1) * error
    return {"value": mean, "low": max(0.0, mean - reach), "high": mean + reach}


def percentile(values: Sequence[float], share: int) -> Spread | None:
    """The smallest value that ``share`` per cent of the values do not exceed, with the interval of its ranks (the
    normal approximation of the binomial distribution). An end beyond the values is None."""
    if not values:
        return None
    ordered, n = sorted(values), len(values)
    reach = 1.96 * math.sqrt(n * share * (100 - share)) / 100
    low, high = math.floor(n * share / 100 - reach), math.ceil(n * share / 100 + reach) + 1
    bounded = low >= 1 and high <= n
    return {
        "value": ordered[-(-n * share // 100) - 1],
        "low": ordered[low - 1] if bounded else None,
        "high": ordered[high - 1] if bounded else None,
    }


def front(rows: Sequence[Mapping[str, Any]], measure: str) -> list[str]:
    """The Pareto front: the letters of the runs for which no other run has at least the figure for at most the measure,
    and one of both better. The least measure first."""
    known = [(row["value"], row[measure]["value"], row["run"]) for row in rows if row[measure] is not None]

    def beaten(value: float, cost: float) -> bool:
        return any(v >= value and c <= cost and (v > value or c < cost) for v, c, _ in known)

    on = [one for one in known if not beaten(*one[:2])]
    return [letter for _, _, letter in sorted(on, key=lambda one: (one[1], one[2]))]


# -- what it comes to, in words


def _sentences(title: str, rows: Sequence[Mapping[str, Any]], alike: bool) -> Iterator[str]:
    """Who is highest, who costs least, who is quickest, and who is behind another run in everything."""
    best = max(rows, key=lambda row: row["value"])
    level = [row for row in rows if row["value"] == best["value"]]
    highest = [row["run"] for row in level]
    if len(level) == len(rows):
        yield f"{title}: {_listed(highest)} are equal with {best['value']:.1f}."
    elif level[1:]:
        yield f"{title}: {_listed(highest)} are highest with {best['value']:.1f}."
    else:
        yield f"{title}: {best['run']} is highest with {_with_interval(best)}."
    ahead: dict[str, list[str]] = {}  # letter → in what it is best
    has_usd = sum(row["usd"] is not None for row in rows) > 1  # then tokens say nothing more
    for measure, says in (("usd", "costs least"), ("tokens", "takes the fewest tokens"), ("p50", "is quickest")):
        known = [row for row in rows if row[measure] is not None]
        if len(known) < 2 or (measure == "tokens" and has_usd):
            continue
        least = min(known, key=lambda row: (row[measure]["value"], row["run"]))
        other = next((row for row in known if row["run"] in highest and row is not least), None)
        instead = f" instead of {written(measure, other[measure]['value'])}" if other else ""
        ahead.setdefault(least["run"], []).append(
            f"{says}, {written(measure, least[measure]['value'])} a case{instead}"
        )
    for row in rows:
        if best_in := ahead.get(row["run"]):
            with_it = "" if row["run"] in highest else f", with {_with_interval(row)}"
            yield f"{row['run']} {' and '.join(best_in)}{with_it}."
    for row in rows:
        if better := _in_everything(row, rows):
            yield f"{row['run']} is behind {better}, and ahead of it in no measure."
    if not alike:
        yield "The runs do not have the same cases or scoring, so these figures do not say which is better."


def _in_everything(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The first run that has a higher figure, and no measure above this run's; ``p50`` stands for the seconds."""
    for other in rows:
        shared = [name for name in ("usd", "tokens", "p50") if row[name] is not None and other[name] is not None]
        no_worse = all(other[name]["value"] <= row[name]["value"] for name in shared)
        if shared and no_worse and other["value"] > row["value"]:
            return str(other["run"])
    return ""


def _listed(letters: Sequence[str]) -> str:
    return ", ".join(letters[:-1]) + (" and " if letters[:-1] else "") + letters[-1]


def _with_interval(row: Mapping[str, Any]) -> str:
    ends = "" if None in (row["low"], row["high"]) else f" ({row['low']:.1f} to {row['high']:.1f})"
    return f"{row['value']:.1f}{ends}"


def written(measure: str, value: float) -> str:
    """``$0.0042``, ``1,830``, ``2.4 s``."""
    if measure == "usd":
        return dollars(value)
    if measure == "tokens":
        return f"{value:,.0f} tokens"
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 1 else f"{value * 1000:.0f} ms"
