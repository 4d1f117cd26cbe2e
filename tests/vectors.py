"""Counts vectors: cases of a file that a test marks with ``vector``, and whether all tests that read them passed.

A run ends with one line for each file, with pytest-xdist, too: the results travel in the reports' properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

VECTOR = "vector"
"""The mark, and the name of the property: file, place in it; in the property also whether the test held."""


def mark_report(item: pytest.Item, report: pytest.TestReport) -> None:
    """Put the vectors of a test's own marks into its report."""
    if report.when == "call" or report.failed:
        held = [[*mark.args, report.passed] for mark in item.iter_markers(VECTOR) if not report.skipped]
        report.user_properties += [(VECTOR, one) for one in held]


def lines(reports: Iterable[Any]) -> Iterator[str]:
    """One for each file, in their order."""
    files: dict[str, dict[str, bool]] = {}
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == VECTOR:
                file, place, held = value
                places = files.setdefault(file, {})
                places[place] = held and places.get(place, True)
    for file, places in sorted(files.items()):
        held = sum(places.values())
        count = str(held) if held == len(places) else f"{held} of {len(places)}"
        yield f"{count} vector{'s' * (len(places) != 1)} of {file} held"
