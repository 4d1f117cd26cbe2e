"""Whether a run's gates hold."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.run.run import Run
from agentgauge.store import RunFolder
from agentgauge_reports.comparison import common_tasks, incomparable, pairs_of
from agentgauge_reports.comparison.paired import ALPHA, Effect, holm
from agentgauge_reports.comparison.shown import chance, span, too_few
from agentgauge_reports.gates.gates import Gate, Regression, Threshold
from agentgauge_reports.load import load_run
from agentgauge_reports.notices import limit_of


def judge(run: Run, gates: Sequence[Gate]) -> None:
    """Hold a run that is summed up against its gates."""
    assert run.summary_json is not None
    if text := warning(gates, run.summary_json):
        run.notes.append(text)
    verdicts = run.about["gates"] = []
    for gate in gates:
        problem, seen = check_gate(gate, run.summary_json, run.folder, run.settings.tasks)
        verdicts.append({"text": gate.text, "problem": problem})
        run.problems += [problem] if problem else []
        run.held += [f"gate {gate.text} holds: {seen}"] if seen else []


class GateFinding(NamedTuple):
    """The result of a gate that compares two runs."""

    problem: str | None  # why the gate fails; None where it holds
    seen: str = ""  # of a gate that holds: which fall would have been found


def check_gate(gate: Gate, summary: Mapping[str, Any], folder: Path, tasks: Registry) -> tuple[str | None, str]:
    """A sentence about the failure, or None if the gate holds; and the fall that a gate that holds would have found.

    ``summary``: of the run in ``folder``. ``tasks``: all that are known.
    """
    if isinstance(gate, Threshold):
        return gate.check(summary), ""
    try:
        problem, seen = regression(gate.run, folder, gate.task, gate.metric, known=tasks)
    except UsageProblem as gone:  # the other run's folder has changed since the gate was read
        problem, seen = str(gone), ""
    return problem and f"gate {gate.text}: {problem}", seen


def warning(gates: Sequence[Gate], summary: Mapping[str, Any]) -> str | None:
    """The warning about gates if this run, or one that it is compared with, is a part of the samples. ``summary``: of
    this run."""
    summaries = [summary]
    for gate in gates:
        if isinstance(gate, Regression):
            with contextlib.suppress(UsageProblem):  # the gate itself fails
                summaries.append(RunFolder(gate.run).read_json("summary.json"))
    if not (limits := ", ".join(dict.fromkeys(filter(None, map(limit_of, summaries))))):
        return None
    return f"warning: the gates judge a part of the samples ({limits}); on all of them they may end otherwise"


def regression(before: Path, after: Path, task: str, metric: str, *, known: Registry) -> GateFinding:
    """The metric that fell, by how much, and how sure that is. If none fell significantly, the fall that would have
    been found.

    ``task`` empty: every task that both runs have. ``metric`` empty: every published one; more is better in all of
    them. Tests are one-sided at 5 % after Holm's correction over the metrics. Runs that measure different things are a
    reason, too.
    """
    first, other = load_run(before, tasks=known), load_run(after, tasks=known)
    tasks = [name for name in common_tasks(first, other) if task in ("", name)]
    if not tasks:
        return GateFinding(f"{task or 'no task'} is {'not ' if task else ''}in both runs, so they cannot be compared")
    if reason := next(incomparable(first, other, tasks), None):
        return GateFinding(f"the runs cannot be compared: {reason}")
    if other.summary["usage"].get("cached_requests"):
        return GateFinding("replies from --cache are those of an earlier run, so a fall would not be noticed")
    found: dict[tuple[str, str], Effect] = {}
    for pairs in pairs_of(first, other, tasks):
        if not pairs.common:
            return GateFinding(f"the runs share no finished sample of {pairs.task}, so they cannot be compared")
        names = (metric,) if metric else first.tasks[pairs.task].shown.published
        found |= {(pairs.task, name): pairs.effects[name] for name in names if name in pairs.effects}
    if all(effect.difference is None for effect in found.values()):
        what = f"{task}.{metric}" if metric else "none of the published figures"
        return GateFinding(f"{what} has {'no' if metric else 'a'} value on the samples that both runs finished")
    tests = {
        key: effect for key, effect in found.items() if effect.p_worse is not None and effect.attainable_worse <= ALPHA
    }
    # metrics of a task with the same contributions are one test
    shared = {(task, effect.test, effect.p_worse): effect.p_worse or 0.0 for (task, _), effect in tests.items()}
    adjusted = holm(shared)
    worse = {key: adjusted[key[0], effect.test, effect.p_worse] for key, effect in tests.items()}
    fallen = [key for key, p in worse.items() if p <= ALPHA]
    if not fallen:
        return GateFinding(None, _visible_fall([one.detectable for one in found.values() if one.p_worse is not None]))
    least = min(fallen, key=lambda key: worse[key])
    more = f", and {len(fallen) - 1} more" if len(fallen) > 1 else ""
    effect = tests[least]
    return GateFinding(
        f"{'.'.join(least)} fell from {effect.a:.2f} to {effect.b:.2f} ({effect.difference:+.2f}, 95 % interval"
        f" {effect.low:+.1f} to {effect.high:+.1f}; p {chance(worse[least])} one-sided, Holm-corrected; {effect.n}"
        f" pairs){more}"
    )


def _visible_fall(detectable: Sequence[float | None]) -> str:
    if not span(detectable):
        return "these runs are too small to show any fall"
    count = sum(value is not None for value in detectable)
    figures = f"{count} figures, each tested alone," if count > 1 else "a figure tested alone"
    return (
        f"a fall of {span(detectable)} points in {figures} would have been found in about four of five cases; a smaller"
        f" one could have gone unseen{too_few(detectable)}"
    )
