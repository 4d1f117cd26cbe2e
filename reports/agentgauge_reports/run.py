"""Sums up a run: ``summary.json`` and ``leaderboard.md``. With several attempts it has pass@k and pass^k."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgauge.core.estimate import MetricFormula, Values, by_sample, estimate, kinds, part_in
from agentgauge.core.index import Row
from agentgauge.core.presentation import CombinedScores
from agentgauge.core.registry import Registry
from agentgauge.core.reply_ends import TESTED, add_counts, add_observed
from agentgauge.core.task import DataSource, Task
from agentgauge.core.types import Metric, Score, Scoring, Usage
from agentgauge.run.added_figures import AddedFigures
from agentgauge.run.scoring import broken_score
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import TIMES, CaseId, CaseOutline
from agentgauge_reports.leaderboard import is_comparable, leaderboard
from agentgauge_reports.load import computing
from agentgauge_reports.notices import doubts, group_note, mostly_broken

NONE: Mapping[str, Any] = {"value": None, "low": None, "high": None}
"""A figure without a value."""

_ENDS = {f"{name}{of}" for name in NONE for of in ("", "_clean")}


def sum_up(
    folder: RunFolder,
    plan: Sequence[CaseId],
    outlines: Mapping[CaseId, CaseOutline],
    *,
    tasks: Registry,
    about: Mapping[str, Any],
    index_of: Callable[[Task], Any],
    scoring: Scoring,
    similarity: Mapping[str, str],
    why_missing: str = "",
    more: Callable[[AddedFigures], None] = lambda figures: None,
) -> dict[str, Any]:
    """Write the files of a run besides its records. Returns the summary.

    ``tasks``: all that are known, with the run's options. ``why_missing``: why planned cases were not attempted, if any
    were not; empty where that is not known. ``about`` describes the run and holds nothing that differs between two
    equal runs, so that their summaries are the same to the byte, apart from ``usage.seconds`` and ``usage.times``.
    ``more`` may add figures to those of the benchmarks.
    """
    planned = {name for name, _, _ in plan}
    parts = {}
    for task in tasks:  # in the order of the tables
        if (name := task.name) in planned:
            cases = [case for case in plan if case[0] == name]
            with computing(name, folder.path):
                part = summarise(task, cases, outlines, index_of(task), scoring, similarity[name])
            parts[name] = _without_pictures(task, part, about.get("not_applicable", {}).get(name))
    own = {name: part["metrics"] for name, part in parts.items()}
    more(added := AddedFigures(own, _groups_of(outlines)))
    for name, figures in added.of.items():
        parts[name]["metrics"] = {**own[name], **figures}
    summary: dict[str, Any] = {
        "run": dict(about),
        "tasks": parts,
        "capabilities": _combined(parts, tasks),
        "usage": _usage(outlines.values(), folder.outside_usage()),
    }
    if observed := add_observed(outline.observed for outline in outlines.values()):
        summary["observed"] = dict(sorted(observed.items()))
        if others := observed.get(TESTED, {}).get("denied"):
            summary["run"]["answered_by"] = _answered_by(others, parts.values())
    if found := doubts(summary, tasks):
        summary = {"doubts": found, **summary}
    if why_missing and any(part["missing"] for part in parts.values()):
        summary["why_missing"] = why_missing
    for name, part in parts.items():
        part["comparable"] = is_comparable(summary, tasks[name])
    folder.write_json("summary.json", summary)
    if not all(tasks[name].data.in_run_folder for name in parts):  # own tests are compared with no others
        (folder.path / "leaderboard.md").write_text(leaderboard(summary, tasks), encoding="utf-8", errors="replace")
    return summary


def _groups_of(outlines: Mapping[CaseId, CaseOutline]) -> dict[str, dict[str, str]]:
    """Task → sample → its group."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for outline in outlines.values():
        if outline.score and outline.score.group:
            found[outline.task][outline.sample] = outline.score.group
    return found


def _answered_by(others: Mapping[str, int], parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """``models``: the names of other models that have answered in the tested one's place, the most frequent first;
    ``all``: whether none of the replies is the tested model's own."""
    replies = add_counts([part.get("replies", {}) for part in parts])[TESTED]["replies"]
    names = sorted(others, key=lambda name: (-others[name], name))
    return {"models": names, "all": sum(others.values()) >= replies}


def _without_pictures(task: Task, part: dict[str, Any], left_out: Mapping[str, Any] | None) -> dict[str, Any]:
    """A task's part of the summary. Where cases with pictures are not applicable (``left_out``), figures that need them
    have no value."""
    if left_out is None or not task.pictures:
        return part
    without = task.pictures.without
    metrics = {
        name: figure if name in without else {**figure, **{end: None for end in figure if end in _ENDS}}
        for name, figure in part["metrics"].items()
    }
    return {**part, "metrics": metrics, "not_applicable": left_out}


def _combined(parts: Mapping[str, Mapping[str, Any]], tasks: Registry) -> dict[str, dict[str, dict[str, Any]]]:
    """What benchmarks make of several tasks' headlines, by benchmark; those that make nothing are left out."""
    by_benchmark: dict[str, dict[str, Mapping[str, Any]]] = {}
    blind = {name for name, part in parts.items() if "not_applicable" in part}
    ran = {name for name, part in parts.items() if part["missing"] < part["planned"]} - blind
    for name, part in parts.items():
        shown = tasks[name].shown
        figure = NONE if mostly_broken(part) else part["metrics"][shown.headline]
        by_benchmark.setdefault(shown.benchmark, {})[name] = figure
    return {
        benchmark: _combine(scores, headlines, ran, blind)
        for benchmark, headlines in by_benchmark.items()
        if (scores := tasks[next(iter(headlines))].combined)
    }


def _combine(
    scores: CombinedScores, headlines: Mapping[str, Mapping[str, Any]], ran: Collection[str], blind: Collection[str]
) -> dict[str, dict[str, dict[str, Any]]]:
    """``CombinedScores.combine`` with 95 % intervals. A combined score is a weighted mean of disjoint tasks. ``ran``:
    the tasks of which a case was attempted and all are applicable; ``blind``: those with cases that are not.

    An end of the interval is as far from the value as the tasks' own ends are together: the root of their squares (Zou
    and Donner 2008).
    """
    values = {name: metric["value"] for name, metric in headlines.items()}
    combined = scores.combine(values)
    for key, tasks in (("without_figure", ran), ("not_applicable", blind)):
        found = {name for name, value in values.items() if value is None and name in tasks}
        found |= {name.rpartition(".")[2] for name in found}
        for score in (score for made in combined.values() for score in made.values()):
            if without := [name for name in score["missing"] if name in found]:
                score[key] = without
    for end in ("low", "high"):
        ends = {name: metric[end] for name, metric in headlines.items() if metric["value"] is not None}
        moved = {name: scores.combine({**values, name: at}) for name, at in ends.items() if at is not None}
        unknown = [scores.combine({**values, name: values[name] + 1}) for name, at in ends.items() if at is None]
        for part, made in combined.items():
            for name, score in made.items():
                score[end] = None
                value = score["value"]
                if value is None or any(other[part][name]["value"] != value for other in unknown):
                    continue
                distance = math.hypot(*(other[part][name]["value"] - value for other in moved.values()))
                score[end] = max(0.0, value - distance) if end == "low" else min(100.0, value + distance)
    return combined


def summarise(
    task: Task,
    cases: Sequence[CaseId],
    records: Mapping[CaseId, CaseOutline],
    index: Any,
    scoring: Scoring,
    similarity: str,
) -> dict[str, Any]:
    """One task's part of the summary. Broken cases count as in the original; ``value_clean`` leaves them out."""
    counts = Counter(records[case].status if case in records else "missing" for case in cases)
    found = {case: records[case] for case in cases if case in records}
    scored = {case: record.score for case, record in found.items() if record.score and record.status != "broken"}
    broken = [case for case, record in found.items() if record.status == "broken"]
    rows = {row.id: row for row in index.rows} if broken else {}
    of_broken = {case: rows[case[1]] for case in broken if case[1] in rows}
    from_broken, uncounted = _broken_contributions(task, index, of_broken, scoring, similarity)
    counted = scored | from_broken
    formula = task.metrics(scoring)
    over_groups = formula.of_groups(_one_per_sample(counted))
    incomplete, without_broken = (
        _incomplete_groups(task.data, index.rows, {sample for _, sample, _ in scores}) if over_groups else set[str]()
        for scores in (counted, scored)
    )
    metrics = estimate(_one_per_sample(counted), formula, incomplete)
    clean = estimate(_one_per_sample(scored), formula, without_broken) if broken else metrics
    known = {value for score in counted.values() for value in score.values}
    distinct, which = kinds(score.values for score in from_broken.values())
    faults = {name: part_in(name, distinct, which, formula, known) for name in metrics}
    faulty = {name: len(from_broken) if count is None else count for name, count in faults.items()}
    most = max((attempt for _, _, attempt in cases), default=1)
    whole = len({score.group for score in counted.values()} - incomplete)
    groups = _groups_part(task.data.group, over_groups, whole, incomplete)
    tables = task.breakdowns(_one_per_sample(counted), scoring) if task.breakdowns else ()
    return {
        "planned": len(cases),
        **{status: counts[status] for status in ("passed", "wrong", "broken", "missing")},
        "similarity": similarity,
        "comparable": False,  # known once the whole summary is
        "metrics": {
            name: _metric(metric, faulty[name], clean[name] if broken else None)
            | ({"why": group_note(groups)} if metric.value is None and name in over_groups else {})
            for name, metric in metrics.items()
        },
        **({"groups": groups} if over_groups else {}),
        **({"pass": _pass_at_k(counted, scored, most)} if most > 1 else {}),
        **({"breakdowns": [table.to_json() for table in tables]} if tables else {}),
        "stops": sum(bool(score.stops) for score in scored.values()),
        "usage": _spent(found.values()),
        **({"replies": replies} if (replies := add_counts([one.replies for one in found.values()])) else {}),
        "causes": dict(sorted(Counter(records[case].cause or "unknown" for case in broken).items())),
        **({"uncounted": {"cases": len(uncounted), "why": uncounted[0]}} if uncounted else {}),
        **({"from_hooks": from_hooks} if (from_hooks := _from_hooks(found.values())) else {}),
        **({"given": given} if (given := sum(bool(one.given) for one in found.values())) else {}),
        "labels": dict(sorted(Counter(label for score in scored.values() for label in score.labels).items())),
    }


def _from_hooks(outlines: Iterable[CaseOutline]) -> dict[str, int]:
    """Plugin → the cases in which its hooks answered in the place of a model or a tool."""
    return dict(sorted(Counter(plugin for one in outlines for plugin in one.from_hooks).items()))


def _broken_contributions(
    task: Task, index: Any, rows: Mapping[CaseId, Any], scoring: Scoring, similarity: str
) -> tuple[dict[CaseId, Score], list[str]]:
    """What broken cases contribute as the original counts them, and why some contribute nothing: that failed."""
    scores: dict[CaseId, Score] = {}
    failed: list[str] = []
    for case, row in rows.items():
        try:
            scores[case] = broken_score(task, index, row, scoring, similarity)
        except Exception as error:  # whatever it is, the other cases have figures
            failed.append(f"{type(error).__name__}: {error}"[:200])
    return scores, failed


def _one_per_sample(scores: Mapping[CaseId, Score]) -> list[Score]:
    return list(by_sample((sample, score) for (_, sample, _), score in scores.items()).values())


def _pass_at_k(
    counted: Mapping[CaseId, Score], scored: Mapping[CaseId, Score], most: int
) -> dict[str, dict[str, dict[str, Any]]]:
    """pass@k and pass^k up to ``most`` attempts. A broken attempt is one that failed; ``value_clean`` leaves it out."""
    tries = [
        (sample, score if (task, sample, attempt) in scored else replace(score, passed=False))
        for (task, sample, attempt), score in counted.items()
    ]
    found = pass_at_k(tries, most)
    clean = pass_at_k(((sample, score) for (_, sample, _), score in scored.items()), most)
    broken = len(counted) - len(scored)
    return {
        kind: {
            k: {**one, "broken": broken, **(_clean(clean[kind][k]) if broken else {})}
            | ({"why": f"no sample was tried {'once' if k == '1' else f'{k} times'}"} if one["value"] is None else {})
            for k, one in by_k.items()
        }
        for kind, by_k in found.items()
    }


def _metric(metric: Metric, broken: int, clean: Metric | None) -> dict[str, Any]:
    return {**ends(metric), "broken": broken, **metric.extra, **(_clean(ends(clean)) if clean else {})}


def _clean(figure: Mapping[str, Any]) -> dict[str, Any]:
    """Without clean samples there is no value, whatever the formula makes of none."""
    return {f"{name}_clean": figure[name] if figure["n"] else None for name in ("value", "low", "high")} | {
        "n_clean": figure["n"]
    }


def _usage(outlines: Collection[CaseOutline], outside: Usage) -> dict[str, Any]:
    """``outside``: the usage of requests outside any test, which counts, too."""
    seconds = round(sum(outline.seconds for outline in outlines), 3)
    apart = {"outside_tests": outside.to_json()} if outside.requests else {}
    return {**_spent(outlines, outside), "seconds": seconds, **_times(outlines), **apart}


def _times(outlines: Collection[CaseOutline]) -> dict[str, Any]:
    """The seconds of all cases by what was waited for, and those without waiting for slots; and those that cached
    answers did take at first, where there are any. Nothing where a case was recorded by an earlier version, which does
    not tell them apart."""
    sums = dict.fromkeys(("working", *TIMES), 0.0)
    for outline in outlines:
        if outline.seconds:
            if not (times := outline.times):
                return {}
            sums["working"] += outline.working
            for kind, seconds in zip(TIMES, times, strict=True):
                sums[kind] += seconds
    if not sums["cached"]:
        del sums["cached"]
    return {"times": {kind: {"seconds": round(seconds, 3)} for kind, seconds in sums.items()}}


def _spent(outlines: Collection[CaseOutline], more: Usage = Usage()) -> dict[str, Any]:  # noqa: B008 - frozen
    """Requests, tokens and dollars of cases, and the dollars for each that passed. The last counts what cached requests
    did cost at first: a model does not become cheaper by a cache."""
    total = sum((outline.usage for outline in outlines), more)
    passed = sum(outline.status == "passed" for outline in outlines)
    return {**total.to_json(), "usd_per_passed": (total.usd + total.saved_usd) / passed if passed else None}


def _incomplete_groups(data: DataSource, rows: Iterable[Row], there: Container[str]) -> set[str]:
    """The groups of which some samples are ``there`` and others are not. ``rows``: all samples of the data set."""
    begun, lacking = set[str](), set[str]()
    for row in rows:
        (begun if row.id in there else lacking).add(data.group_of(row))
    return begun & lacking


def _groups_part(name: str, figures: Sequence[str], whole: int, incomplete: Iterable[str]) -> dict[str, Any]:
    """``groups`` of a task in ``summary.json``. ``name``: what a group is called; ``whole``: their number."""
    return {"name": name, "figures": list(figures), "whole": whole, "incomplete": sorted(incomplete)}


# -- pass@k and pass^k of a task that was tried several times

Try = tuple[str, Score]
"""A sample, and how one attempt at it ended."""


def by_name(part: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """``pass@1`` and so on → figure, of a task's part of ``summary.json``; empty for one attempt."""
    return {f"{kind[:-1]}{k}": one for kind, by_k in part.get("pass", {}).items() for k, one in by_k.items()}


def pass_at(k: int, tried: int, right: int) -> float:
    """pass@k: the chance, 0 to 1, that ``k`` of the attempts, drawn without replacement, include a right one. 1 <= k <=
    tried.

    The unbiased estimate 1 - C(n-c, k) / C(n, k) of Chen et al. 2021, equation 1. Raises ValueError for another k.
    """
    return 1 - pass_all(k, tried, tried - right)


def pass_all(k: int, tried: int, right: int) -> float:
    """pass^k: the chance, 0 to 1, that ``k`` of the attempts, drawn without replacement, are all right. 1 <= k <=
    tried.

    The unbiased estimate C(c, k) / C(n, k) of Yao et al. 2024. Raises ValueError for another k.
    """
    if not 1 <= k <= tried:
        raise ValueError(f"k must be 1 to the {tried} attempts, not {k}")
    return math.comb(right, k) / math.comb(tried, k)


def pass_at_k(tries: Iterable[Try], most: int) -> dict[str, dict[str, dict[str, Any]]]:
    """``{"pass@k": {"1": {"value", "low", "high", "n"}, ...}, "pass^k": ...}``, in percent, for every k up to ``most``.

    A sample counts for a k if it was tried at least k times; ``n`` is the number of these samples.
    """
    by_sample: dict[str, list[Score]] = {}
    for sample, score in tries:
        by_sample.setdefault(sample, []).append(score)
    scores = [
        Score(False, _values(len(tried), sum(one.passed for one in tried)), group=tried[0].group)
        for tried in by_sample.values()
    ]
    found = estimate(scores, _formula(most))
    return {kind: {str(k): ends(found[f"{kind} {k}"]) for k in range(1, most + 1)} for kind in ("pass@k", "pass^k")}


def ends(metric: Metric) -> dict[str, Any]:
    return {"value": metric.value, "low": metric.low, "high": metric.high, "n": metric.n}


def _values(tried: int, right: int) -> Values:
    values: dict[str, float] = {}
    for k in range(1, tried + 1):
        values |= {f"of {k}": 1.0, f"pass@k {k}": pass_at(k, tried, right), f"pass^k {k}": pass_all(k, tried, right)}
    return values


def _formula(most: int) -> MetricFormula:
    rests_on = {f"{kind} {k}": (f"of {k}",) for kind in ("pass@k", "pass^k") for k in range(1, most + 1)}

    def rates(sums: Values) -> dict[str, float | None]:
        return {name: 100 * sums[name] / sums[of] if sums.get(of) else None for name, (of,) in rests_on.items()}

    return MetricFormula(rates, rests_on)
