"""Selects the record that counts for each case, among all records in a run folder's files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple, TypeVar

from agentgauge.core import files
from agentgauge.core.errors import UsageProblem
from agentgauge.store.jsonl import CaseId, Line, outlined
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
    for file, line in _whole_lines(run):
        try:
            data = outlined(line.content)
        except ValueError as error:
            left_out.append(LeftOut(file, line.number, line.start, line.size, str(error)))
            continue
        found = kind(data, file, line.start, line.size)
        case = (intern(data["task"]), data["sample"], data["attempt"])
        if configs and configs.get(case[0]) != data["config"]:
            left_out.append(LeftOut(file, line.number, line.start, line.size, None))
        elif case not in best or found.rank >= best[case].rank:
            best[case] = found
    ordered = {case: best.pop(case) for case in order if case in best}
    return ordered | {case: best[case] for case in sorted(best)}


def _whole_lines(run: Path) -> Iterator[tuple[Path, files.TextLine]]:
    """The order of files matters only between copies of one record. Raises UsageProblem for what is no file."""
    for file in (run / "records.jsonl", *worker_files(run)):
        try:
            stream = files.open_plain(file)
        except FileNotFoundError:  # none is merged yet
            continue
        with stream:
            yield from ((file, line) for line in files.lines(stream) if line.is_whole)


def _configs(run: Path) -> Mapping[str, str]:
    """Fingerprint of the settings by planned task, out of run.json. Empty where that cannot be read."""
    from agentgauge.store import checked

    try:
        with files.open_plain(run / "run.json") as stream:
            configs: Mapping[str, str] = checked.json_file("run.json", files.whole(stream))["configs"]
    except (FileNotFoundError, UsageProblem, ValueError):
        return {}
    return configs


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
        f"{file} is damaged in line {number} ({error}); continue with --resume={run}: its case runs again"
    )
