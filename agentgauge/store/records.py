"""Files of records: appended by workers, read while they grow, merged at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple, TypeVar

from agentgauge.core import files
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import append_whole, is_disk_full
from agentgauge.core.text import counted
from agentgauge.core.types import Record, Usage
from agentgauge.store.jsonl import CaseId, CaseOutline, Line, encoded_line, outlined

# -- Appends records to a file of one worker.


_BLOCK = 65_536


class Appender:
    """Appends records to the file of one worker, in that worker's process, one system call a record."""

    def __init__(self, path: Path, make_room: Callable[[], bool]) -> None:
        """``make_room`` is called once when the disk is full and returns whether it freed space. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._path = path
        self._make_room = make_room
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._end = os.fstat(self._file).st_size
        self.problem: OSError | None = None  # set when the disk was full: no further case should start

    def append(self, record: Record) -> Line:
        """Write a record and return its location. Raises OSError, with the file unchanged, if the disk is full."""
        data = encoded_line(record)
        transcript = record.transcript
        usage, seconds = (transcript.usage, transcript.seconds) if transcript else (Usage(), 0.0)
        start = self._add(data)
        return Line(self._path, start, len(data), record.status, record.finished, usage.paid_tokens, usage.usd, seconds)

    def append_line(self, line: bytes) -> Line:
        """Append a line that another process has written. Raises one of UNREADABLE if the line is not a record."""
        found = Line.of(outlined(line), self._path, self._end, len(line))
        self._add(line)
        return found

    def _add(self, data: bytes) -> int:
        """Returns where it begins."""
        start = self._end
        try:
            append_whole(self._path, self._file, data)
        except OSError as error:
            self.problem = error
            if not (is_disk_full(error) and self._make_room()):
                raise
            append_whole(self._path, self._file, data)
        self._end += len(data)
        return start

    def close(self) -> None:
        os.close(self._file)


def _drop_torn_line(path: Path) -> None:
    """Cut off a half-written last line, which a crashed machine leaves: it would spoil the next record."""
    if not path.exists():
        return
    with path.open("r+b") as stream:
        size = end = stream.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - _BLOCK)
            stream.seek(begin)
            found = stream.read(end - begin).rfind(b"\n")
            if found >= 0:
                end = begin + found + 1
                break
            end = begin
        if end < size:
            stream.truncate(end)


# -- Reads the records of a run while its workers write them.


class RecordTail:
    """Remembers how far each file has been read. A file that is shorter than before is read from its start."""

    def __init__(self, offsets: Mapping[Path, int] | None = None) -> None:
        """``offsets``: bytes at the start of files that are not to be read."""
        self._offsets = dict(offsets or {})

    def new(self, paths: Iterable[Path]) -> Iterator[tuple[dict[str, Any], Path, int, int]]:
        """Records that have been added since the last call: JSON without events (see ``outlined``), file, start and
        size in bytes. A file that cannot be read and a damaged line are skipped: the end of the run reports them."""
        for file in paths:
            try:
                stream = files.open_plain(file)
            except (FileNotFoundError, UsageProblem):  # the run may just have ended: its records are merged
                self._offsets.pop(file, None)
                continue
            with stream:
                start = self._offsets.get(file, 0)
                if stream.seek(0, 2) < start:
                    start = 0
                for line in files.lines(stream, start):
                    if not line.is_whole and line.kept is not None:
                        break  # still being written
                    self._offsets[file] = line.start + line.size
                    try:
                        found = outlined(line.content)
                    except ValueError:
                        continue
                    yield found, file, line.start, line.size


# -- Selects the record that counts for each case, among all records in a run folder's files.


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
            records = counted(len(foreign), "record")
            why = "of other settings (model, data, options), which are not this run's"
            yield f"{file} has {records} {why}{kept}; run the missing cases with --resume={run}"


def damaged(run: Path, file: Path, number: int, error: Exception) -> UsageProblem:
    """The message about a damaged line. ``number``: of the line, from 1."""
    return UsageProblem(
        f"{file} is damaged in line {number} ({error}); continue with --resume={run}: its case runs again"
    )
