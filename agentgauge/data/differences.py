"""How a data set's layout differs from the official one, in a few sentences.

A benchmark that understands another layout reads it as the official one, and reports it. Many records differ in the
same way, so each way is counted, and its first record is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from agentgauge.core.types import Json


class Differences:
    """Ways in which records differ, each with its number of records and the first of them, and ways of whole files."""

    def __init__(self, what: str = "sample") -> None:
        self.what = what  # what a record is called
        self._files: dict[str, None] = {}
        self._records: dict[str, list[str]] = {}

    def of_file(self, sentence: str) -> None:
        """Note what holds for a whole file or folder."""
        self._files[sentence] = None

    def of_record(self, record: str, ways: list[str]) -> None:
        """Note the ways in which one record differs; the same way counts once a record."""
        for way in dict.fromkeys(ways):
            self._records.setdefault(way, []).append(record)

    def sentences(self) -> tuple[str, ...]:
        """``12 samples, first '3': 'tools' are names, read as objects``; whole files first, then in the order of
        finding."""
        counted = (
            f"{len(records)} {self.what}{'s' if len(records) > 1 else ''},"
            f" {'first ' if len(records) > 1 else ''}{records[0]!r}: {way}"
            for way, records in self._records.items()
        )
        return (*self._files, *counted)


def mapped(values: list[Json], change: Callable[[Json], Json]) -> list[Json]:
    """The list with every value changed; the same object if nothing changes."""
    changed = [change(value) for value in values]
    return values if all(new is old for new, old in zip(changed, values, strict=True)) else changed


def replaced(record: dict[str, Json], field: str, change: Callable[[Json], Json]) -> dict[str, Json]:
    """The record with one field changed, if it has the field; the same object if nothing changes."""
    if field not in record:
        return record
    value = change(record[field])
    return record if value is record[field] else {**record, field: value}


def from_text(value: Json, kind: type) -> Json:
    """The JSON value of a text, if it is of a kind (``dict``, ``list``); every other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, kind) else value
