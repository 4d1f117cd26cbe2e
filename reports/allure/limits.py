"""How much of a case is shown, so that results and dashboard of 8,000 cases stay below 150 MB together.

Allure holds a text several times: in the result, in the test's page, in the index for searching, and in the history.
What is cut is whole in the run's folder and in its ``report.html``.
"""

from __future__ import annotations

from dataclasses import dataclass

TRANSCRIPTS = 16_000_000
STEPS = 12_000_000
MESSAGES = 4_000_000
"""Bytes of all cases of a run together."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of one case."""

    transcript: int
    steps: int
    message: int


def limits(cases: int) -> Limits:
    """The same for every case of a run, so that they follow from the number of cases alone."""
    return Limits(
        _share(TRANSCRIPTS, cases, 1_000, 200_000),
        _share(STEPS, cases, 1_000, 50_000),
        _share(MESSAGES, cases, 300, 4_000),
    )


def _share(amount: int, cases: int, least: int, most: int) -> int:
    return max(least, min(most, amount // max(1, cases)))
