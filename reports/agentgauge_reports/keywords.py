"""The share of a task's samples that passed, by keyword."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agentgauge.core.estimate import wilson
from agentgauge_reports.capabilities import effective_number
from agentgauge_reports.load import UNFINISHED, CaseOutline


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
