"""A run folder: the only thing that a run leaves behind.

    run.json        settings, versions, fingerprints, start and end
    planned.json    the cases that the run set out to do
    records/        <worker>.jsonl: the records that a worker has written, until they are merged
    records.jsonl   the merged ones, one per case and line, in the order of the plan
    left-out.jsonl  lines that were found and do not count: damaged ones, and records of other settings
    files/          what tools produced, by task and sample
    stages/         of unfinished cases, what they have come to

Workers append whole lines with one ``os.write`` to a file of their own, so a killed worker loses nothing that it had
finished and tears no line of another's.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from sys import intern
from typing import Any
from urllib.parse import quote

from agentgauge.core.atomic_write import encoded, is_disk_full, write_whole
from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Record, Usage
from agentgauge.store.jsonl import UNREADABLE, Line, encoded_line, outlined
from agentgauge.store.outline import CaseOutline
from agentgauge.store.record_merge import Gathering, LeftOut, damaged, parts, told

FORMAT = 1
"""Version of the run folder. A change that makes old folders unreadable raises it."""

CaseId = tuple[str, str, int]
"""Task, sample id, attempt."""

LEFT_OUT = "left-out.jsonl"
RESERVE = "reserve"
"""Space that is given up when the disk is full, so that answers which are already paid for can still be written."""
RESERVED = 1_048_576  # bytes

_BLOCK = 65_536


class RunFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    # -- writing

    def refuse_taken(self) -> None:
        """Raises UsageProblem where the folder already holds a run, save for one that ended before it had a plan."""
        if (self.path / "run.json").exists():
            if self.has_plan or self.read_json("run.json").get("planned") != 0:
                raise UsageProblem(
                    f"{self.path} already holds a run; continue it with --resume={self.path}, or name another --run-dir"
                )
        elif self.has_records:
            raise UsageProblem(
                f"{self.path} holds records and no run.json, which would tell what they are of; put it back, or name"
                " another --run-dir"
            )

    def create(self) -> None:
        """Make the folder. Raises UsageProblem where that cannot be done."""
        try:
            for folder in (self.path, self.path / "records"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what a run holds is for no other user
        except OSError as error:
            raise UsageProblem(
                f"the run folder {self.path} cannot be made ({error.strerror}); name another with --run-dir"
            ) from None

    def write_json(self, name: str, value: Any) -> None:
        """Replace a JSON file as a whole: a reader sees the old one or the new one."""
        write_whole(self.path / name, encoded(value, indent=2) + b"\n")

    def write_plan(self, cases: Mapping[CaseId, str]) -> None:
        """``cases``: case → pytest node id, in order."""
        lines = (encoded([*case, node]) for case, node in cases.items())
        write_whole(self.path / "planned.json", b"[\n" + b",\n".join(lines) + b"\n]\n")

    def reserve(self) -> None:
        """Set space aside, where there is any."""
        with contextlib.suppress(OSError), (self.path / RESERVE).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVED)

    def free_reserve(self) -> bool:
        """Give it up. False where there is none."""
        try:
            (self.path / RESERVE).unlink()
        except OSError:
            return False
        return True

    def discard(self) -> None:
        """Take back what was written of a run that will not be carried out."""
        for name in ("planned.json", "run.json"):
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it holds something, or is not there
            (self.path / "records").rmdir()

    def gathering(self) -> Gathering[CaseOutline]:
        """For ``merge_records``: takes what there is to read before the workers' files are complete."""
        return Gathering(self.path, CaseOutline.of)

    def merge_records(
        self, order: Iterable[CaseId], gathered: Gathering[CaseOutline] | None = None
    ) -> dict[CaseId, CaseOutline]:
        """Make records.jsonl of all records, and take the workers' files away once it is wholly on the disk. Returns
        its outlines.

        Whenever the process is killed, each record is in one of the files that ``lines`` reads, or in several. For when
        all workers have ended; a file that grows nonetheless is left where it is. ``order``: see ``lines``. What is
        left out goes to left-out.jsonl. Raises OSError where the disk is full: then everything is where it was.
        """
        sizes = {file: file.stat().st_size for file in parts(self.path)}
        gathered = gathered or self.gathering()
        found = gathered.all(order)
        self._set_aside(gathered.left_out)
        if sizes or not self._is_merged(found.values()):
            self.write_records(found.values())
        for file, size in sizes.items():
            if file.stat().st_size == size:
                file.unlink()
        with contextlib.suppress(OSError):  # it holds something, or is not there
            (self.path / "records").rmdir()
        merged, end = self.path / "records.jsonl", 0
        for case in found.values():
            case.file, case.start = merged, end
            end += case.size
        return found

    def _set_aside(self, left_out: Iterable[LeftOut]) -> None:
        for line in left_out:
            with line.file.open("rb") as source, (self.path / LEFT_OUT).open("ab") as target:
                source.seek(line.start)
                target.write(source.read(line.size).rstrip(b"\n") + b"\n")
                target.flush()
                os.fsync(target.fileno())

    def _is_merged(self, lines: Iterable[CaseOutline]) -> bool:
        """Whether records.jsonl holds these lines and nothing else."""
        merged, end = self.path / "records.jsonl", 0
        for line in lines:
            if line.file != merged or line.start != end:
                return False
            end += line.size
        return merged.exists() and merged.stat().st_size == end

    def write_records(self, lines: Collection[Line | CaseOutline]) -> None:
        """Make records.jsonl of these lines, wherever they are. It is on the disk when this returns."""
        target = self.path / "records.jsonl"
        scratch = target.with_name(".records.jsonl.part")
        try:
            with ExitStack() as stack, scratch.open("wb") as stream:
                opened = {file: stack.enter_context(file.open("rb")).fileno() for file in {line.file for line in lines}}
                for line in lines:
                    stream.write(os.pread(opened[line.file], line.size, line.start))
                stream.flush()
                os.fsync(stream.fileno())
            scratch.replace(target)
        except OSError:
            scratch.unlink(missing_ok=True)  # the disk is full
            raise
        _sync(self.path)

    def appender(self, worker: str) -> Appender:
        """Raises OSError."""
        return Appender(self.path / "records" / f"{worker}.jsonl", self.free_reserve)

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

    @property
    def has_plan(self) -> bool:
        return (self.path / "planned.json").exists()

    @property
    def has_records(self) -> bool:
        return any(file.exists() and file.stat().st_size for file in (self.path / "records.jsonl", *parts(self.path)))

    def read_json(self, name: str) -> Any:
        """Raises UsageProblem where the file is missing or damaged."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if name == "run.json" and self.has_records:
                raise UsageProblem(
                    f"{self.path} has records and no run.json, which would tell what they are of; put it back, or start"
                    " a new run"
                ) from None
            raise UsageProblem(
                f"{self.path} is not a run folder: it has no {name}; name one that an earlier run wrote, such as"
                " runs/<time>-<model>"
            ) from None
        except (OSError, ValueError) as error:
            raise UsageProblem(f"{self.path / name} cannot be read: {error}") from None

    def plan(self) -> dict[CaseId, str]:
        """The planned cases and their pytest node ids, in order.

        Raises UsageProblem where the file is missing or damaged.
        """
        try:
            return {(intern(task), sample, attempt): node for task, sample, attempt, node in self._planned()}
        except (TypeError, ValueError) as error:
            file = self.path / "planned.json"
            raise UsageProblem(f"{file} is no plan of cases: {error}; put it back, or start a new run") from None

    def _planned(self) -> Iterator[tuple[str, str, int, str]]:
        """Line by line, as ``write_plan`` has written them, which takes half the memory; another layout is read at
        once."""
        with contextlib.suppress(OSError, ValueError), (self.path / "planned.json").open("rb") as stream:
            if stream.readline() == b"[\n":
                for line in stream:
                    if line != b"]\n":
                        yield json.loads(line.rstrip(b",\n"))
                return
        yield from self.read_json("planned.json")

    def lines(self, order: Iterable[CaseId] = ()) -> dict[CaseId, Line]:
        """Where the record of each case is, in the order of the plan; unplanned ones last. See Gathering."""
        return Gathering(self.path, Line.of).all(order)

    def own_outlines(self) -> dict[CaseId, CaseOutline]:
        """As ``lines``, each in outline. Raises UsageProblem for lines that do not count."""
        gathered = self.gathering()
        found = gathered.all(())
        for problem in told(self.path, gathered.left_out):
            raise UsageProblem(problem)
        return found

    def outlines(self, problems: list[str] | None = None) -> Iterator[CaseOutline]:
        """The merged records in their order.

        Raises UsageProblem where there is no such file, and for a damaged line; with ``problems`` such lines are passed
        over, and a sentence for each is added there.
        """
        file, start = self.path / "records.jsonl", 0
        if not file.exists():
            raise UsageProblem(f"{file} does not exist; the run was never finished: go on with --resume={self.path}")
        with file.open("rb") as stream:
            for number, text in enumerate(stream, 1):
                try:
                    found = CaseOutline.of(outlined(text), file, start, len(text))
                except UNREADABLE as error:
                    problem = damaged(self.path, file, number, error)
                    if problems is None:
                        raise problem from None
                    problems.append(str(problem))
                else:
                    yield found
                start += len(text)


class Appender:
    """Appends records to one worker's file; one system call a record."""

    def __init__(self, path: Path, make_room: Callable[[], bool] = lambda: False) -> None:
        """``make_room``: called once when the disk is full; whether it has made any. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._path = path
        self._make_room = make_room
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._end = os.fstat(self._file).st_size
        self.problem: OSError | None = None  # why nothing more should be begun, though this record may have found room

    def append(self, record: Record) -> Line:
        """Write it, and say where it is. Raises OSError, with the file as it was, where the disk is full."""
        data = encoded_line(record)
        usage = record.transcript.usage if record.transcript else Usage()
        tokens = usage.prompt_tokens + usage.completion_tokens
        line = Line(self._path, self._end, len(data), record.status, record.finished, tokens, usage.usd)
        try:
            self._write(data)
        except OSError as error:
            self.problem = error
            if not (is_disk_full(error) and self._make_room()):
                raise
            self._write(data)
        self._end += line.size
        return line

    def _write(self, line: bytes) -> None:
        data = memoryview(line)
        try:
            while data:  # a regular file takes it all at once, save when the disk fills up
                data = data[os.write(self._file, data) :]
        except OSError as error:
            os.ftruncate(self._file, self._end)  # half a line would spoil the next one
            raise OSError(error.errno, error.strerror, str(self._path)) from None

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
