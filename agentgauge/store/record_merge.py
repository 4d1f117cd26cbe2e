"""Selects the record that counts for each case, among all records in a run folder's files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple, TypeVar

from agentgauge.core.errors import UsageProblem
from agentgauge.store.jsonl import UNREADABLE, CaseId, Line, outlined
from agentgauge.store.outline import CaseOutline

Found = TypeVar("Found", Line, CaseOutline)


class LeftOut(NamedTuple):
    file: Path
    number: int  # of the line, from 1
    start: int  # bytes
    size: int
    why: str | None  # what is wrong with a damaged one; None: a record of other settings


def best_records(
    run: Path,
    kind: Callable[[Mapping[str, Any], Path, int, int], Found],
    order: Iterable[CaseId] = (),
    left_out: list[LeftOut] | None = None,
) -> dict[CaseId, Found]:
    """The record that counts for each case: the cases of ``order`` in that order, then the others.

    A finished record beats a broken one, and the latest beats the rest. A torn last line (the disk was full, the
    machine crashed) is ignored, and its case runs again. To ``left_out`` are added damaged lines, whose cases run again
    too, and records of other settings (model, data) than the run's. ``kind``: what to keep of each record, ``Line.of``
    or the slower ``CaseOutline.of``.
    """
    configs = _configs(run)
    left_out = [] if left_out is None else left_out
    best: dict[CaseId, Found] = {}
    for file, number, start, text in _whole_lines(run):
        try:
            data = outlined(text)
            found = kind(data, file, start, len(text))
            case = (intern(data["task"]), data["sample"], data["attempt"])
            config = data["config"]
        except UNREADABLE as error:
            left_out.append(LeftOut(file, number, start, len(text), repr(error)))
            continue
        if configs and configs.get(case[0]) != config:
            left_out.append(LeftOut(file, number, start, len(text), None))
        elif case not in best or found.rank >= best[case].rank:
            best[case] = found
    ordered = {case: best.pop(case) for case in order if case in best}
    return ordered | {case: best[case] for case in sorted(best)}


def _whole_lines(run: Path) -> Iterator[tuple[Path, int, int, bytes]]:
    """File, number from 1, offset and content. The order of files matters only between copies of one record."""
    merged = run / "records.jsonl"
    for file in ([merged] if merged.exists() else []) + worker_files(run):
        start = 0
        with file.open("rb") as stream:
            for number, text in enumerate(stream, 1):
                if text.endswith(b"\n"):
                    yield file, number, start, text
                start += len(text)


def _configs(run: Path) -> Mapping[str, str]:
    """Fingerprint of the settings by planned task, out of run.json. Empty where it has none."""
    try:
        configs = json.loads((run / "run.json").read_bytes()).get("configs")
    except (OSError, ValueError, AttributeError):
        return {}
    return configs if isinstance(configs, dict) else {}


def worker_files(run: Path) -> list[Path]:
    return sorted((run / "records").glob("*.jsonl"))


def left_out_notes(run: Path, left_out: list[LeftOut], kept_in: str = "") -> Iterator[str]:
    """A sentence for each file and reason of lines that do not count. ``kept_in``: where the lines are now."""
    kept = f"; kept in {kept_in}" if kept_in else ""
    for file in dict.fromkeys(line.file for line in left_out):
        damaged = [line for line in left_out if line.file == file and line.why is not None]
        foreign = [line for line in left_out if line.file == file and line.why is None]
        if damaged:
            first, more = damaged[0], f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
            what = f"{file} is damaged in line {first.number}{more} ({first.why}){kept}"
            yield f"{what}; run the missing cases with --resume={run}"
        if foreign:
            records = "1 record" if len(foreign) == 1 else f"{len(foreign)} records"
            why = "of other settings (model, data, options), which are not this run's"
            yield f"{file} has {records} {why}{kept}; run the missing cases with --resume={run}"


def damaged(run: Path, file: Path, number: int, error: Exception) -> UsageProblem:
    """The message about a damaged line. ``number``: of the line, from 1."""
    return UsageProblem(
        f"{file} is damaged in line {number} ({error!r}); continue with --resume={run}: its case runs again"
    )
