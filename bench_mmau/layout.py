"""Layouts of Apple MMAU's records that differ from the official one and can be understood (MMAU spec 2).

A record in the official layout is returned unchanged. A record in a known other layout is converted to the official
one, with a sentence for each difference. The checks refuse a record that cannot be understood. ``data`` has the
accepted names of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agentgauge.core.index import Entry, first_line, line_entries, list_entries
from agentgauge.data.differences import Differences, from_text, replaced

_NESTED: Mapping[str, type] = {
    "messages": list,
    "tools": list,
    "target_message": dict,
    "target_message_match_rules": list,
    "notebook": dict,
    "questions": list,
    "gt_answers": list,
    "oracle_response": list,
    "last_cell": dict,
    "public_tests": dict,
    "private_tests": dict,
    "generated_tests": dict,
}
"""Fields that hold objects and lists."""


def records(file: Path, differences: Differences | None = None) -> Iterator[Entry]:
    """The records of a file in the official layout, one a line; the differences are added to ``differences``. Raises
    DataProblem.

    A file may hold one list instead. The keys are line numbers, or positions in the list, from 0.
    """
    is_list = first_line(file).startswith("[") if file.is_file() else False
    if is_list and differences:
        differences.of_file(f"{file.name} holds a list instead of JSON Lines; its entries count as lines")
    lines = 0
    for entry in list_entries(file) if is_list else line_entries(file):
        value, ways = official(entry.value)
        if int(entry.key) > lines:
            ways.append(
                "blank lines stand before the record, which the published evaluator cannot read; they are passed over"
            )
        lines = int(entry.key) + 1
        if differences and ways:
            differences.of_record(_name(value, lines), ways)
        yield replace(entry, value=value)


def official(record: Any) -> tuple[Any, list[str]]:
    """A record in the official layout, and the ways in which it differed."""
    ways: list[str] = []
    if not isinstance(record, dict):
        return record, ways
    changed: dict[str, Any] = record
    for field, kind in _NESTED.items():
        if isinstance(changed.get(field), str):
            changed = replaced(changed, field, partial(from_text, kind=kind))
            if changed[field] is not record[field]:
                ways.append(f"{field!r} is a JSON text, read as {'an object' if kind is dict else 'a list'}")
    if type(record.get("id")) is int:
        ways.append("'id' is a number, read as a text")
        changed = {**changed, "id": str(record["id"])}
    if type(record.get("deliverable_id")) is int:
        ways.append("'deliverable_id' is a number; the record goes by its digits")
    return changed, ways


def _name(record: Any, line: int) -> str:
    number = record.get("id", record.get("deliverable_id")) if isinstance(record, dict) else None
    return f"line {line}" if number is None else str(number)
