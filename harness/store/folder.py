"""A run folder: the only thing that a run leaves behind.

    run.json        settings, versions, fingerprints, start and end
    planned.json    the cases that the run set out to do
    records/        <worker>.jsonl: the records that a worker has written, until they are merged
    records.jsonl   the merged ones, one per case and line, in the order of the plan
    files/          what tools produced, by task and sample
    stages/         of unfinished cases, what they have come to

Workers append whole lines with one ``os.write`` to a file of their own, so a killed worker loses nothing that it had
finished and tears no line of another's.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple
from urllib.parse import quote

from harness.errors import UsageProblem
from harness.store.gathering import Gathering, damaged, parts
from harness.store.lines import Line, encoded_line, outline, outlined
from harness.store.whole import encoded, write_whole
from harness.types import Record, Usage

FORMAT = 1
"""Version of the run folder. A change that makes old folders unreadable raises it."""

CaseId = tuple[str, str, int]
"""Task, sample id, attempt."""

_BLOCK = 65_536


class Outline(NamedTuple):
    """A record without texts, and where its line is in records.jsonl."""

    record: Record
    start: int  # bytes
    size: int


class RunFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    # -- writing

    def refuse_taken(self) -> None:
        """Raises UsageProblem where the folder already holds a run."""
        if (self.path / "run.json").exists():
            raise UsageProblem(f"{self.path} already holds a run; continue it with --resume={self.path}, or name another --run-dir")

    def create(self) -> None:
        """Make the folder. Raises UsageProblem where that cannot be done."""
        try:
            (self.path / "records").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageProblem(f"the run folder {self.path} cannot be made ({error.strerror}); name another with --run-dir") from None

    def write_json(self, name: str, value: Any) -> None:
        """Replace a JSON file as a whole: a reader sees the old one or the new one."""
        write_whole(self.path / name, encoded(value, indent=2) + b"\n")

    def write_plan(self, cases: Mapping[CaseId, str]) -> None:
        """``cases``: case → pytest node id, in order."""
        lines = (encoded([*case, node]) for case, node in cases.items())
        write_whole(self.path / "planned.json", b"[\n" + b",\n".join(lines) + b"\n]\n")

    def discard_plan(self) -> None:
        """Take a plan back that will not be carried out, and the folder with it if it holds nothing else."""
        (self.path / "planned.json").unlink()
        for folder in (self.path / "records", self.path):
            if not any(folder.iterdir()):
                folder.rmdir()

    def gathering(self) -> Gathering:
        """For ``merge_records``: takes what there is to read before the workers' files are complete."""
        return Gathering(self.path, with_outlines=True)

    def merge_records(self, order: Mapping[CaseId, int], gathered: Gathering | None = None) -> list[Outline]:
        """Make records.jsonl of all records, and take the workers' files away once it is wholly on the disk. Returns its outlines.

        Whenever the process is killed, each record is in one of the files that ``lines`` reads, or in several. For when all
        workers have ended; a file that grows nonetheless is left where it is. ``order``: see ``lines``.
        """
        sizes = {file: file.stat().st_size for file in parts(self.path)}
        found = (gathered or self.gathering()).all(order).values()
        lines = [line for line, _ in found]
        if sizes or not self._is_merged(lines):
            self.write_records(lines)
        for file, size in sizes.items():
            if file.stat().st_size == size:
                file.unlink()
        with contextlib.suppress(OSError):  # it holds something, or is not there
            (self.path / "records").rmdir()
        starts = accumulate((line.size for line in lines), initial=0)
        return [Outline(record, start, line.size) for (line, record), start in zip(found, starts, strict=False) if record]

    def _is_merged(self, lines: Iterable[Line]) -> bool:
        """Whether records.jsonl holds these lines and nothing else."""
        merged, end = self.path / "records.jsonl", 0
        for line in lines:
            if line.file != merged or line.start != end:
                return False
            end += line.size
        return merged.exists() and merged.stat().st_size == end

    def write_records(self, lines: Collection[Line]) -> None:
        """Make records.jsonl of these lines, wherever they are. It is on the disk when this returns."""
        target = self.path / "records.jsonl"
        scratch = target.with_name(".records.jsonl.part")
        with ExitStack() as stack, scratch.open("wb") as stream:
            opened = {file: stack.enter_context(file.open("rb")).fileno() for file in {line.file for line in lines}}
            for line in lines:
                stream.write(os.pread(opened[line.file], line.size, line.start))
            stream.flush()
            os.fsync(stream.fileno())
        scratch.replace(target)
        _sync(self.path)

    def appender(self, worker: str) -> Appender:
        return Appender(self.path / "records" / f"{worker}.jsonl")

    def files(self, task: str, sample: str, attempt: int) -> Path:
        """Where a case's produced files go. Only made when a tool first writes there."""
        return self.path.joinpath("files", task, f"{quote(sample, safe='')}-a{attempt}")

    @property
    def stages(self) -> Path:
        """Where unfinished cases keep what they have come to. Only made when one does."""
        return self.path / "stages"

    def stage(self, task: str, sample: str, attempt: int) -> Path:
        """A case's file there."""
        return self.path.joinpath("stages", task, f"{quote(sample, safe='')}-a{attempt}.json")

    # -- reading

    def read_json(self, name: str) -> Any:
        """Raises UsageProblem where the file is missing or damaged."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageProblem(
                f"{self.path} is not a run folder: it has no {name}; name one that an earlier run wrote, such as runs/<time>-<model>"
            ) from None
        except (OSError, ValueError) as error:
            raise UsageProblem(f"{self.path / name} cannot be read: {error}") from None

    def plan(self) -> dict[CaseId, str]:
        """The planned cases and their pytest node ids, in order."""
        return {(intern(task), sample, attempt): node for task, sample, attempt, node in self.read_json("planned.json")}

    def lines(self, order: Mapping[CaseId, int] | None = None) -> dict[CaseId, Line]:
        """Where the record of each case is, in the order of the plan; unplanned ones last.

        Raises UsageProblem for a damaged one. See Gathering.
        """
        return {case: line for case, (line, _) in Gathering(self.path).all(order or {}).items()}

    def outlines(self) -> Iterator[Outline]:
        """The merged records in their order.

        Raises UsageProblem where there is no such file, or a damaged one.
        """
        file, start = self.path / "records.jsonl", 0
        if not file.exists():
            raise UsageProblem(f"{file} does not exist; the run was never finished: go on with --resume={self.path}")
        with file.open("rb") as stream:
            for number, text in enumerate(stream, 1):
                try:
                    yield Outline(outline(outlined(text)), start, len(text))
                except (ValueError, KeyError, TypeError) as error:
                    raise damaged(self.path, file, number, error) from None
                start += len(text)


class Appender:
    """Appends records to one worker's file; one system call a record."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._end = os.fstat(self._file).st_size

    def append(self, record: Record) -> Line:
        """Write it, and say where it is. Raises OSError, with the file as it was, where the disk is full."""
        data = memoryview(encoded_line(record))
        usage = record.transcript.usage if record.transcript else Usage()
        tokens = usage.prompt_tokens + usage.completion_tokens
        line = Line(self._path, self._end, len(data), record.status, record.finished, tokens, usage.usd)
        try:
            while data:  # a regular file takes it all at once, save when the disk fills up
                data = data[os.write(self._file, data) :]
        except OSError:
            os.ftruncate(self._file, self._end)  # half a line would spoil the next one
            raise
        self._end += line.size
        return line

    def close(self) -> None:
        os.close(self._file)


def _drop_torn_line(path: Path) -> None:
    """What a machine that went down left half written would spoil the first record of the resumed run."""
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


def _sync(folder: Path) -> None:
    """Let a new name in a folder outlive the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
