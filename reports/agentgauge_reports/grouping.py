"""Cases over all benchmarks, grouped: by capability, by keyword, and by the kind of failure.

Tasks say which of their cases show a capability (``Presentation.skills``). No benchmark publishes these figures; those
that publish capabilities of their own have them in ``leaderboard.md``. A figure is the share of passed cases: of every
task by itself, and then the mean over the tasks, so that a large task does not outweigh a small one. The interval is
that of the mean of such shares, each with its own variance.

Labels of wrong and broken cases differ between benchmarks; each task says which shared kind a label is
(``Presentation.kinds``). A label with the name of a kind is of that kind. A case has one kind: that of its first label,
because benchmarks put the label that decided first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.causes import owner_of
from agentgauge.core.estimate import Z, student, wilson
from agentgauge.core.presentation import BREAKS, FAULTS
from agentgauge.core.registry import Registry
from agentgauge.core.reply_ends import CUT
from agentgauge.core.task import Task
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.load import UNFINISHED, Run


@dataclass(frozen=True, slots=True)
class CapabilityPart:
    """Cases of a task; with ``keywords`` only the cases that have one of them."""

    task: str
    keywords: frozenset[str] = frozenset()

    def holds(self, case: CaseOutline) -> bool:
        return case.task == self.task and (not self.keywords or not self.keywords.isdisjoint(case.tags))

    def __str__(self) -> str:
        return f"{self.task} ({', '.join(sorted(self.keywords))})" if self.keywords else self.task


CAPABILITIES = (
    "tool use",
    "understanding",
    "reasoning",
    "planning",
    "problem solving",
    "self-correction",
    "perception",
    "long dialogue",
    "delivery",
)
"""The order in tables; other capabilities of tasks follow."""


def known_capabilities(tasks: Registry) -> dict[str, tuple[CapabilityPart, ...]]:
    """Capability → what it is made of: the skills of all known tasks (``Presentation.skills``)."""
    found: dict[str, list[CapabilityPart]] = {name: [] for name in CAPABILITIES}
    for task in tasks:
        for name, keywords in task.shown.skills.items():
            found.setdefault(name, []).append(CapabilityPart(task.name, frozenset(keywords)))
    return {name: tuple(parts) for name, parts in found.items()}


def capabilities(run: Run) -> dict[str, dict[str, Any]]:
    """Capability → ``{"value", "low", "high", "n", "made_of"}``, for the capabilities that the run has cases of.

    ``value``, ``low`` and ``high`` are 0 to 100, or None without a finished case; ``n`` counts finished samples;
    ``made_of`` names the parts that the run has. Attempts are averaged per sample first; broken and missing cases do
    not count.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, parts in known_capabilities(run.tasks).items():
        cases = {part: list(filter(part.holds, run.by_task.get(part.task, ()))) for part in parts}
        if any(cases.values()):
            found[name] = _averaged({part: shares for part, own in cases.items() if (shares := _shares(own))})
    return found


def capabilities_of(case: CaseOutline, tasks: Registry) -> list[str]:
    """The capabilities that a case is a part of."""
    return [name for name, parts in known_capabilities(tasks).items() if any(part.holds(case) for part in parts)]


def _shares(cases: Iterable[CaseOutline]) -> list[tuple[str, float]]:
    """The group of every sample with a finished case, and the share of its attempts that passed."""
    passed: dict[str, list[bool]] = defaultdict(list)
    groups: dict[str, str] = {}
    for case in cases:
        if case.status not in UNFINISHED:
            passed[case.sample].append(case.status == "passed")
            groups[case.sample] = (case.score.group if case.score else "") or case.sample
    return [(groups[sample], sum(attempts) / len(attempts)) for sample, attempts in passed.items()]


def _averaged(samples: Mapping[CapabilityPart, list[tuple[str, float]]]) -> dict[str, Any]:
    made_of, n = [str(part) for part in samples], sum(map(len, samples.values()))
    if not samples:
        return {"value": None, "low": None, "high": None, "n": 0, "made_of": made_of}
    means = [math.fsum(share for _, share in shares) / len(shares) for shares in samples.values()]
    value = math.fsum(means) / len(means)
    half = _half_width(list(samples.values()))
    low, high = max(0.0, value - half), min(1.0, value + half)
    return {"value": 100 * value, "low": 100 * low, "high": 100 * high, "n": n, "made_of": made_of}


def _half_width(tasks: Sequence[list[tuple[str, float]]]) -> float:
    """Half the width of the interval of the mean of tasks.

    With groups it is by Student's quantile with Welch and Satterthwaite's degrees of freedom.
    """
    variances = [_variance(shares) for shares in tasks]
    error = math.sqrt(math.fsum(variances)) / len(tasks)
    groups = [len({group for group, _ in shares}) for shares in tasks]
    if all(count == len(shares) for count, shares in zip(groups, tasks, strict=True)):
        return Z * error
    freedom = math.fsum(variances) ** 2 / math.fsum(
        variance**2 / max(1, count - 1) for variance, count in zip(variances, groups, strict=True)
    )
    return student(max(1, int(freedom))) * error


def _variance(shares: list[tuple[str, float]]) -> float:
    """The variance of a task's share: Agresti and Coull's (1998), which is not 0 where all samples agree."""
    n = effective_number(shares)
    mean = math.fsum(share for _, share in shares) / len(shares)
    near = (n * mean + Z * Z / 2) / (n + Z * Z)
    return near * (1 - near) / (n + Z * Z)


def effective_number(shares: Sequence[tuple[str, float]]) -> float:
    """The number of independent samples with the same information as these pairs of group and share: more than 0, and
    at most the number of pairs.

    Their number over Kish's design effect, which is estimated by the ratio of the cluster-robust to the plain variance.
    """
    mean = math.fsum(share for _, share in shares) / len(shares)
    by_group: dict[str, float] = defaultdict(float)
    for group, share in shares:
        by_group[group] += share - mean
    plain = math.fsum((share - mean) ** 2 for _, share in shares)
    effect = math.fsum(total**2 for total in by_group.values()) / plain if plain > 0 else 1.0
    return len(shares) / max(1.0, effect)


# -- the share of samples that passed, by keyword


@dataclass(frozen=True, slots=True)
class KeywordShare:
    """The share of passed samples of a keyword, in per cent, with Wilson's 95 % interval for the effective number of
    samples.
    """

    keyword: str
    samples: int  # finished ones
    value: float
    low: float
    high: float


def passed_by_keyword(cases: Iterable[CaseOutline], fewest: int = 1) -> Iterator[KeywordShare]:
    """The shares of a task's keywords, in the order in which the keywords first occur. Attempts count by their share.

    Left out are keywords of all samples or of less than ``fewest``, and names of groups; broken and missing cases do
    not count.
    """
    finished = [case for case in cases if case.status not in UNFINISHED and case.score]
    groups = {case.sample: case.score.group or case.sample for case in finished if case.score}
    passed: dict[str, dict[str, list[bool]]] = {}
    for case in finished:
        for tag in case.tags:
            passed.setdefault(tag, {}).setdefault(case.sample, []).append(case.status == "passed")
    for tag, found in passed.items():
        if tag not in groups.values() and fewest <= len(found) < len(groups):
            shares = [(groups[sample], sum(attempts) / len(attempts)) for sample, attempts in found.items()]
            share = sum(share for _, share in shares) / len(shares)
            low, high = wilson(share, effective_number(shares))
            yield KeywordShare(tag, len(shares), 100 * share, 100 * low, 100 * high)


# -- the kinds of wrong and broken cases

TITLES: Mapping[str, str] = {**FAULTS, **BREAKS}
"""Name → words for a person, in the order of tables."""


def kind_of(case: CaseOutline, tasks: Registry) -> str:
    """The name of the kind of a wrong or broken case; empty for one that passed or is missing."""
    task = tasks.get(case.task)
    if case.status == "broken":
        return kind_of_cause(task, case.cause or "", case.error or "")
    return kind_of_labels(task, case.score.labels if case.score else ()) if case.status == "wrong" else ""


def kind_below(case: CaseOutline, tasks: Registry) -> str:
    """The kind of a case with a cut reply besides that; empty for other cases, and without another label."""
    if kind_of(case, tasks) != CUT or case.score is None:
        return ""
    labels = tuple(label for label in case.score.labels if label != CUT)
    return kind_of_labels(tasks.get(case.task), labels) if labels else ""


def kind_of_labels(task: Task | None, labels: tuple[str, ...]) -> str:
    """The kind of the first known label; ``other`` without one. ``task``: None where it is not known."""
    known = task.shown.kinds if task else {}
    found = (known.get(label, label) for label in labels)
    return next((kind for kind in found if kind in TITLES), "other")


def kind_of_cause(task: Task | None, cause: str, error: str) -> str:
    """The kind of a broken case, as its task or else the table of causes has it. ``task``: None where it is not
    known."""
    kind = task.shown.kinds.get(cause, "") if task else ""
    return kind if kind in BREAKS else owner_of(cause, error)  # that of a label may have the same name
