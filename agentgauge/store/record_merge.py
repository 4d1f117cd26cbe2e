"""Which record counts for each case, among all that a run folder's files hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import Any, Generic, NamedTuple, TypeVar

from agentgauge.core.errors import UsageProblem
from agentgauge.store.jsonl import UNREADABLE, CaseId, Line, outlined
from agentgauge.store.outline import CaseOutline

Found = TypeVar("Found", Line, CaseOutline)


class LeftOut(NamedTuple):
    """A line that does not count."""

    file: Path
    number: int  # of the line, from 1
    start: int  # bytes
    size: int
    why: str | None  # what is wrong with a damaged one; None: a record of other settings


class RecordMerge(Generic[Found]):
    """Of several records of a case a finished one beats a broken one, and the latest beats the rest.

    A torn last line (the disk was full, the machine went down) is ignored, and its case runs again. ``left_out`` lists
    damaged lines, whose cases run again too, and records of other settings (model, data) than the run's.
    """

    def __init__(self, run: Path, kind: Callable[[Mapping[str, Any], Path, int, int], Found]) -> None:
        """``kind``: what to keep of each record, ``Line.of`` or the slower ``CaseOutline.of``."""
        self._run = run
        self._kind: Callable[[Mapping[str, Any], Path, int, int], Found] = kind
        self._best: dict[CaseId, Found] = {}
        self._read: dict[Path, tuple[int, int]] = {}  # file → bytes and lines of it that have been read
        self._configs: Mapping[str, str] | None = None  # task → fingerprint of the run's settings
        self.left_out: list[LeftOut] = []

    def take(self, file: Path, count: int | None = None) -> None:
        """Read the next lines of a file, at most ``count``, as far as they are whole."""
        start, number = self._read.get(file, (0, 0))
        last = None if count is None else number + count
        with file.open("rb") as stream:
            stream.seek(start)
            while number != last and (text := stream.readline()).endswith(b"\n"):
                number += 1
                self._add(file, number, start, text)
                start += len(text)
        self._read[file] = start, number

    def all(self, order: Iterable[CaseId]) -> dict[CaseId, Found]:
        """Read the rest of all files. Returns the best record of each case: those of ``order`` in that order, then the
        others. Afterwards only ``left_out`` is kept."""
        merged = self._run / "records.jsonl"
        for file in ([merged] if merged.exists() else []) + worker_files(self._run):
            self.take(file)
        best, self._best = self._best, {}
        found = {case: best.pop(case) for case in order if case in best}
        found.update((case, best[case]) for case in sorted(best))
        return found

    def _add(self, file: Path, number: int, start: int, text: bytes) -> None:
        try:
            data = outlined(text)
            found = self._kind(data, file, start, len(text))
            case = (intern(data["task"]), data["sample"], data["attempt"])
            config = data["config"]
        except UNREADABLE as error:
            self.left_out.append(LeftOut(file, number, start, len(text), repr(error)))
            return
        if self._configs is None:
            self._configs = _configs(self._run)
        if self._configs and self._configs.get(case[0]) != config:
            self.left_out.append(LeftOut(file, number, start, len(text), None))
            return
        if case not in self._best or found.rank >= self._best[case].rank:
            self._best[case] = found


def _configs(run: Path) -> Mapping[str, str]:
    """Fingerprint of the settings by planned task, out of run.json. Empty where it has none."""
    try:
        configs = json.loads((run / "run.json").read_bytes()).get("configs")
    except (OSError, ValueError, AttributeError):
        return {}
    return configs if isinstance(configs, dict) else {}


def worker_files(run: Path) -> list[Path]:
    """The records that workers have written."""
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
            yield f"{what}; run what is missing now with --resume={run}"
        if foreign:
            records = "1 record" if len(foreign) == 1 else f"{len(foreign)} records"
            why = "of other settings (model, data, options), which are not this run's"
            yield f"{file} has {records} {why}{kept}; run what is missing now with --resume={run}"


def damaged(run: Path, file: Path, number: int, error: Exception) -> UsageProblem:
    """``number``: of the line, from 1."""
    return UsageProblem(
        f"{file} is damaged in line {number} ({error!r}); go on with --resume={run}: its case runs again"
    )
