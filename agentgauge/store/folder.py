"""A run folder, which holds everything that a run writes.

    run.json        settings, versions, fingerprints, start and end
    planned.json    the cases that the run set out to do
    shard.json      of which plan they are a part, with --shard
    records/        <worker>.jsonl: the records that a worker has written, until they are merged
    records.jsonl   the merged ones, one per case and line, in the order of the plan
    left-out.jsonl  lines that were found and do not count: damaged ones, and records of other settings
    outside/        <worker>.jsonl: what a project's own tests asked while none of them was running
    own-allure/     what a project's own code says to Allure about cases
    files/          what tools produced, by task and sample
    stages.jsonl    checkpoints of unfinished cases

Workers append whole lines with one ``os.write`` to a file of their own, so a killed worker loses nothing that it had
finished and tears no line of another's.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from sys import intern
from typing import Any, BinaryIO
from urllib.parse import quote

from agentgauge.core import files
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import encoded, remove_left, write_whole
from agentgauge.core.types import Usage
from agentgauge.store.jsonl import CaseId, CaseOutline, Line, outlined, usage_of
from agentgauge.store.records import Appender, LeftOut, RecordTail, best_records, damaged, left_out_notes, worker_files

# -- Names of run folders, and of what lies in them.


LONGEST = 200
"""Characters of an id that a file's name holds; file systems take names of 255 bytes."""


def new_folder(name: str) -> Path:
    """A folder below ``runs`` for what begins now, which does not exist yet."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    path, count = Path("runs") / stem, 1
    while path.exists():  # two runs within a second
        count += 1
        path = Path("runs") / f"{stem}-{count}"
    return path


def sample_name(sample: str) -> str:
    """A sample's id as part of a file's name, which no other id has: of a long one the beginning, and a digest."""
    name = quote(sample, safe="", errors="surrogatepass")  # the id of an own test may hold any byte of a file's name
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def file_name(model: str) -> str:
    """A model's name as part of a file's name; of a long one the beginning."""
    name = model.removeprefix("scripted:").rsplit(os.sep, 1)[-1]
    name = Path(name).stem if model.startswith("scripted:") else name  # a folder is no .json
    plain = "".join(c if c.isalnum() or c in "-._" else "-" for c in name)
    return plain.encode()[:LONGEST].decode(errors="ignore")


FORMAT = 1
"""Version of the run folder. A change that makes old folders unreadable raises it."""

LEFT_OUT = "left-out.jsonl"
RESERVE = "reserve"
"""A file that is removed when the disk is full, so that paid answers can still be written."""
RESERVED = 1_048_576  # bytes

_BLOCK = 1 << 20


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
                f"{self.path} holds records but no run.json, which describes them; restore run.json, or name"
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
        """Replace a JSON file atomically."""
        write_whole(self.path / name, encoded(value, indent=2) + b"\n")

    def write_plan(self, cases: Mapping[CaseId, str]) -> None:
        """``cases``: case → pytest node id, in order."""
        lines = (encoded([*case, node]) for case, node in cases.items())
        write_whole(self.path / "planned.json", b"[\n" + b",\n".join(lines) + b"\n]\n")

    def reserve(self) -> None:
        """Reserve space on the disk, if there is any."""
        with contextlib.suppress(OSError), (self.path / RESERVE).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVED)

    def free_reserve(self) -> bool:
        """Release the reserved space. False if there was none."""
        try:
            (self.path / RESERVE).unlink()
        except OSError:
            return False
        return True

    def discard(self) -> None:
        """Remove the files of a run that was not started."""
        for name in ("planned.json", "shard.json", "vision.json", "run.json"):
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it holds something, or is not there
            (self.path / "records").rmdir()

    def merge_records(
        self, order: Iterable[CaseId], left_out: list[LeftOut] | None = None
    ) -> dict[CaseId, CaseOutline]:
        """Write all records to records.jsonl, and remove the workers' files once it is on the disk. Returns its
        outlines. Call it when all workers have ended; a file that still grows is not removed.

        If the process is killed at any moment, each record is in at least one of the files that ``lines`` reads.
        ``order``, ``left_out``: see ``best_records``. Lines that do not count go to left-out.jsonl. Raises OSError
        where the disk is full; nothing has changed then.
        """
        remove_left(self.path)
        sizes = {file: file.stat().st_size for file in worker_files(self.path)}
        left_out = [] if left_out is None else left_out
        found = best_records(self.path, CaseOutline.of, order, left_out)
        self._keep_left_out(left_out)
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

    def _keep_left_out(self, left_out: Iterable[LeftOut]) -> None:
        for line in left_out:
            with line.file.open("rb") as source, (self.path / LEFT_OUT).open("ab") as target:
                source.seek(line.start)
                rest = line.size
                while rest and (block := source.read(min(rest, _BLOCK))):
                    target.write(block)
                    rest -= len(block)
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
        """Write records.jsonl from lines of any files. It is on the disk when this returns."""
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
        """Open the file for a worker's records. Raises OSError."""
        return Appender(self.path / "records" / f"{worker}.jsonl", self.free_reserve)

    @property
    def outside(self) -> Path:
        """The folder of requests outside any test. Made with the first one."""
        return self.path / "outside"

    @property
    def own_allure(self) -> Path:
        """The folder of what a project's own code says to Allure about cases. Made with the first word."""
        return self.path / "own-allure"

    def outside_appender(self, worker: str) -> Appender:
        """Open the file for a worker's requests outside any test. Raises OSError."""
        return Appender(self.outside / f"{worker}.jsonl", self.free_reserve)

    def files(self, task: str, sample: str, attempt: int) -> Path:
        """The folder of files that a case's tools produce. Made when a tool first writes there."""
        return self.path.joinpath("files", task, f"{sample_name(sample)}-a{attempt}")

    # -- reading

    @property
    def has_plan(self) -> bool:
        return (self.path / "planned.json").exists()

    @property
    def has_records(self) -> bool:
        return any(
            file.exists() and file.stat().st_size for file in (self.path / "records.jsonl", *worker_files(self.path))
        )

    def refuse_odd_records(self) -> None:
        """Raises UsageProblem where one of the files of records is no file, or cannot be read."""
        for file in (self.path / "records.jsonl", *worker_files(self.path)):
            with contextlib.suppress(FileNotFoundError):
                files.open_plain(file).close()

    def read_json(self, name: str) -> Any:
        """What a JSON file holds, checked: see agentgauge.store.checked. Raises UsageProblem where the file is
        missing or damaged."""
        from agentgauge.store import checked

        with self._open(name) as stream:
            try:
                return checked.json_file(name, files.whole(stream))
            except ValueError as error:
                raise UsageProblem(
                    f"{self.path / name} cannot be read: {error}; restore what the run wrote, or start a new run"
                ) from None

    def _open(self, name: str) -> BinaryIO:
        """Raises UsageProblem."""
        try:
            return files.open_plain(self.path / name)
        except FileNotFoundError:
            if name == "run.json" and self.has_records:
                raise UsageProblem(
                    f"{self.path} has records but no run.json, which describes them; restore run.json, or start"
                    " a new run"
                ) from None
            raise UsageProblem(
                f"{self.path} is not a run folder: it has no {name}; name one that an earlier run wrote, such as"
                " runs/<time>-<model>"
            ) from None

    def plan(self) -> dict[CaseId, str]:
        """The planned cases and their pytest node ids, in order.

        Raises UsageProblem where the file is missing or damaged.
        """
        with self._open("planned.json") as stream:
            try:
                return {(intern(task), sample, attempt): node for task, sample, attempt, node in _planned(stream)}
            except ValueError as error:
                file = self.path / "planned.json"
                raise UsageProblem(f"{file} is not a plan of cases: {error}; restore it, or start a new run") from None

    def lines(self, order: Iterable[CaseId] = (), left_out: list[LeftOut] | None = None) -> dict[CaseId, Line]:
        """The location of each case's record. See ``best_records``."""
        return best_records(self.path, Line.of, order, left_out)

    def outside_usage(self) -> Usage:
        """The usage of requests outside any test."""
        found = RecordTail().new(sorted(self.outside.glob("*.jsonl")))
        return sum((usage_of(record) for record, *_ in found), Usage())

    def own_outlines(self) -> dict[CaseId, CaseOutline]:
        """As ``lines``, each in outline. Raises UsageProblem for lines that do not count."""
        left_out: list[LeftOut] = []
        found = best_records(self.path, CaseOutline.of, left_out=left_out)
        for problem in left_out_notes(self.path, left_out):
            raise UsageProblem(problem)
        return found

    def outlines(self, problems: list[str] | None = None) -> Iterator[CaseOutline]:
        """The merged records in their order.

        Raises UsageProblem where there is no such file, and for a damaged line; with ``problems`` a sentence is added
        there instead, and the line is skipped.
        """
        file = self.path / "records.jsonl"
        try:
            stream = files.open_plain(file)
        except FileNotFoundError:
            raise UsageProblem(
                f"{file} does not exist; the run was never finished: continue with --resume={self.path}"
            ) from None
        with stream:
            for line in files.lines(stream):
                try:
                    data = outlined(line.content)
                except ValueError as error:
                    problem = damaged(self.path, file, line.number, error)
                    if problems is None:
                        raise problem from None
                    problems.append(str(problem))
                else:
                    yield CaseOutline.of(data, file, line.start, line.size)


def _planned(stream: BinaryIO) -> Iterator[tuple[str, str, int, str]]:
    """Line by line, as ``write_plan`` writes them, which takes half the memory; another layout is read at once."""
    from agentgauge.store import checked

    if stream.readline(3) == b"[\n":
        with contextlib.suppress(ValueError):
            for line in files.lines(stream, 2):
                if line.kept != b"]\n":
                    yield checked.planned(checked.decoded(line.content.rstrip(b",\n")))
            return
    stream.seek(0)
    rows = checked.decoded(files.whole(stream))
    if not isinstance(rows, list):
        raise ValueError("it holds no list")
    yield from map(checked.planned, rows)


def _sync(folder: Path) -> None:
    """Make a new name in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
